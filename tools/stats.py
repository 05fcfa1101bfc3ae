"""Writes the tables of what is there into the READMEs, between their stats marks; with --check says whether they are fresh.

Both ways it says which rule has no misuse in tests/checks, through Python and through C, and whether a face that is said to
lack what a misuse takes (tests/checks/lacking.py) does lack it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHECKS = ROOT / "tests" / "checks"
FACES = ("python", "c")
sys.path.insert(0, str(ROOT / "src"))

from hostacl.checks.rule import rules  # noqa: E402
from hostacl.ops import registry, schema  # noqa: E402

MARKS = re.compile(r"(<!-- stats -->\n).*?(<!-- /stats -->)", re.DOTALL)
TEXTS: Mapping[str, tuple[str, ...]] = {
    "README.md": (
        "operators that are computed, of {known} known prototypes",
        "Python names (`acl.*`), each with its argument and return form; what is not done answers 200001",
        "C functions that work, of {exported} exported; the others refuse by name ([list](docs/c-functions.md))",
        "rules, each with a page (`hostacl explain`)",
    ),
    "README.zh-CN.md": (
        "个算子可以计算（已知原型共 {known} 个）",
        "个 Python 接口（`acl.*`），参数和返回形式齐全；未实现的返回 200001",
        "个 C 函数可用，共导出 {exported} 个；其余的会按名称拒绝（[列表](docs/c-functions.md)）",
        "条规则，各有说明页（`hostacl explain`）",
    ),
}


def counts() -> tuple[tuple[int, ...], dict[str, int]]:
    """The numbers of each line, and those inside of the lines."""
    names = json.loads((ROOT / "tools" / "facts" / "pyacl.json").read_text())["functions"]
    functions = (ROOT / "docs" / "c-functions.md").read_text()
    works, refuses, exists = map(int, re.findall(r"(\d+) (?:works?|refuses?|exists? only)", functions)[:3])
    inside = {"known": len(schema.known_operators()), "exported": works + refuses + exists}
    return (len(registry.implemented()), len(names), works, len(rules())), inside


def fresh(text: str, lines: tuple[str, ...]) -> str:
    """A README's text with the table of now."""
    numbers, inside = counts()
    rows = (f"| {number:,} | {line.format(**inside)} |\n" for number, line in zip(numbers, lines, strict=True))
    return MARKS.sub(lambda found: f"{found[1]}\n| | |\n|---:|---|\n{''.join(rows)}\n{found[2]}", text)


def calls(path: Path, name: str) -> Iterator[ast.Call]:
    """The calls of a function by its plain name in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def literal(node: ast.expr, constants: Mapping[str, object] | None = None) -> Any:
    """The value of an expression that is written out, or of a constant of the file."""
    return constants[node.id] if constants and isinstance(node, ast.Name) else ast.literal_eval(node)


def table(name: str) -> dict[tuple[str, str], tuple[str, str]]:
    """The annotated table of a file in tests/checks."""
    tree = ast.parse((CHECKS / name).read_text())
    return dict(ast.literal_eval(next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.value)))


def broken() -> Iterator[tuple[str, str]]:
    """Code and face of each misuse: those of misuse_*.py, those of programs.py."""
    for path in sorted(CHECKS.glob("misuse_*.py")):
        assigned = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
        constants = {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in assigned}
        for call in calls(path, "misuse"):
            faces = [literal(one.value, constants) for one in call.keywords if one.arg == "faces"]
            yield from ((literal(call.args[0]), face) for face in (faces[0] if faces else FACES))
    for call in calls(CHECKS / "programs.py", "program"):
        yield literal(call.args[0]), literal(call.args[1])


def names_of(face: str) -> str:
    """The functions of a face with their arguments, as its facts have them, in small letters."""
    further = {"python": "tools/facts/further.json", "c": "docs/c-functions.md"}  # names whose arguments are not known
    file, arguments = {"python": ("pyacl.json", "args"), "c": ("functions.json", "params")}[face]
    listed = json.loads((ROOT / "tools" / "facts" / file).read_text())["functions"]
    names = [name for one in listed for name in (one["name"], *(each["name"] for each in one[arguments]))]
    return "\n".join([*filter(None, names), (ROOT / further[face]).read_text()]).lower()


def tested_by_name() -> set[str]:
    """The codes in the names of test functions such as test_ha613_unknown_type."""
    texts = [path.read_text() for path in CHECKS.glob("test_*.py")]
    return {code.upper() for text in texts for code in re.findall(r"^def test_(ha\d{3})_", text, re.MULTILINE)}


def untested() -> Iterator[str]:
    """What is wrong with the tests of the rules."""
    done, lacking, known = set(broken()), table("lacking.py"), set(rules())
    for code, face in ((code, face) for code in rules() for face in FACES):
        if (code, face) in done and (code, face) in lacking:
            yield f"{code} is broken through {face}, and tests/checks/lacking.py says that it cannot be"
        if (code, face) not in done and (code, face) not in lacking:
            yield f"{code} has no misuse through {face} in tests/checks"
    for code in sorted({code for code, _ in (*done, *lacking)} - known):
        yield f"{code} is tested, but has no page in hostacl.checks"
    for (code, face), (why, name) in lacking.items():
        if not why or name.lower() in names_of(face):
            yield f"{code}: tests/checks/lacking.py says that {face} has no {name}, and it has"
    for code in sorted(code for code in known if all((code, face) in lacking for face in FACES)):
        if code not in tested_by_name():
            yield f"{code} is of no face, and tests/checks has no test_{code.lower()}_…"


def main() -> int:
    """Writes the tables, or checks them."""
    stale = 0
    for problem in untested():
        print(problem)
        stale = 1
    for name, lines in TEXTS.items():
        path = ROOT / name
        text = path.read_text()
        new = fresh(text, lines)
        if new != text and "--check" in sys.argv[1:]:
            print(f"{name} is stale: run python tools/stats.py")
            stale = 1
        elif new != text:
            path.write_text(new)
    return stale


if __name__ == "__main__":
    sys.exit(main())
