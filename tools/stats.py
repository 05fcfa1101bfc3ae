"""Writes the tables of what is there into the READMEs, between their stats marks; with --check says whether they are fresh.

Both ways it says which rule has no misuse in tests/checks: one through Python and one through C, or a reason and another test.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


def misuses() -> dict[str, dict[str, object]]:
    """The rules that tests/checks/misuse_*.py break, with what is said of each: ``faces`` and ``why``."""
    found: dict[str, dict[str, object]] = {}
    for path in sorted((ROOT / "tests" / "checks").glob("misuse_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "misuse"):
                continue
            code = ast.literal_eval(node.args[0])
            found[code] = {one.arg or "": ast.unparse(one.value) for one in node.keywords}
    return found


def elsewhere() -> dict[str, tuple[str, str]]:
    """The rules that are broken in other tests: why, and where."""
    tree = ast.parse((ROOT / "tests" / "checks" / "elsewhere.py").read_text())
    table = next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.value)
    return dict(ast.literal_eval(table))


def untested() -> Iterator[str]:
    """What is wrong with the tests of the rules."""
    broken, others = misuses(), elsewhere()
    for code in rules():
        if code not in broken and code not in others:
            yield f"{code} has no misuse in tests/checks, and no reason in tests/checks/elsewhere.py"
    for code in {*broken, *others} - set(rules()):
        yield f"{code} is tested, but has no page in hostacl.checks"
    for code, said in broken.items():
        if "faces" in said and len(str(said.get("why", "''"))) < 5:
            yield f"{code} is broken through one face only, without a reason"
    for code, (why, test) in others.items():
        path, _, name = test.partition("::")
        there = not test or f"def {name}(" in (ROOT / path).read_text() if not test or (ROOT / path).exists() else False
        if not why or not there:
            yield f"{code}: tests/checks/elsewhere.py names {test or 'nothing'}, which is not there"


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
