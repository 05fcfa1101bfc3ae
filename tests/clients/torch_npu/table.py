"""The wide table: torch's own samples on both devices; ``hostacl run python -m tests.clients.torch_npu.table`` writes it.

With names of operators it prints what came of each of their samples.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

os.environ.update({"ASCEND_LAUNCH_BLOCKING": "1", "TASK_QUEUE_ENABLE": "0"})  # an operator fails where it is called

from tests.clients.torch_npu.pool import outcomes
from tests.clients.torch_npu.samples import KINDS, OPERATORS, OTHERWISE, SAMPLES, Outcome, name_of

PAGE = Path(__file__).parents[3] / "docs" / "clients" / "torch-npu.md"
BEGIN, END = "<!-- table: written by python -m tests.clients.torch_npu.table -->\n", "<!-- /table -->"
SAYS = {
    "crashed": "the process ended or hung",
    "wrong": "another result than CPU torch's",
    "refused by hostacl": "a text that names operator and argument",
    "refused by torch-npu": "an exception of its own",
    "otherwise": "another result, of torch-npu's own making",
    "right": "CPU torch's result within 1e-4; random numbers: its shapes and dtypes",
    "no reference": "CPU torch itself has no sample that runs",
}
Row = Sequence[Outcome]


def rows_of(places: Sequence[int]) -> dict[str, list[Outcome]]:
    """The outcomes of each operator's samples."""
    rows: dict[str, list[Outcome]] = defaultdict(list)
    for (index, _), outcome in outcomes(places):
        rows[name_of(OPERATORS[index])].append(outcome)
    return dict(rows)


def kind_of(row: Row) -> str:
    """The worst that came of an operator's samples."""
    return min((outcome.kind for outcome in row), key=KINDS.index)


def reaches(row: Row) -> bool:
    """Whether any sample called an operator of AscendCL."""
    return any(outcome.operators for outcome in row)


def by_kind(rows: Mapping[str, Row]) -> dict[str, list[str]]:
    """The names of the operators of each kind."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, row in rows.items():
        found[kind_of(row)].append(name)
    return found


def share_right(rows: Mapping[str, Row]) -> float:
    """How many of the rows that reach AscendCL are right, those left out that torch-npu refuses."""
    kinds = [kind_of(row) for row in rows.values() if reaches(row)]
    counted = [kind for kind in kinds if kind not in ("refused by torch-npu", "no reference")]
    return kinds.count("right") / max(len(counted), 1)


def worst(row: Row) -> str:
    """What the worst sample says, fit for a table's cell."""
    kind = kind_of(row)
    texts = [outcome.text for outcome in row if outcome.kind == kind]
    which = "" if len(texts) == len(row) else f" ({len(texts)} of {len(row)} samples)"
    return texts[0].split(" [in ")[0].replace("|", "\\|").replace("aclopCompileAndExecute(): ", "")[:180] + which


def table(names: Iterable[str], rows: Mapping[str, Row], head: str) -> list[str]:
    """A table of operators with what their worst sample says."""
    texts = {name: OTHERWISE[name] if kind_of(rows[name]) == "otherwise" else worst(rows[name]) for name in names}
    lines = [f"| `{name}` | {text} |" for name, text in texts.items()]
    return [f"| operator | {head} |", "|---|---|", *sorted(lines), ""]


def listed(names: Iterable[str]) -> str:
    """Names in one paragraph."""
    return ", ".join(f"`{name}`" for name in sorted(names))


def section(rows: Mapping[str, Row]) -> str:
    """The part of the page that the table makes."""
    kinds = by_kind(rows)
    reaching = {name for name, row in rows.items() if reaches(row)}
    lines = [
        f"{len(rows)} operators and variants of OpInfo with float32, the first {SAMPLES} samples of each; the worst counts.",
        "",
        "| | operators | reach AscendCL | |",
        "|---|---|---|---|",
    ]
    for kind in KINDS:
        lines.append(f"| {kind} | {len(kinds[kind])} | {len(reaching.intersection(kinds[kind]))} | {SAYS[kind]} |")
    share = 100 * share_right(rows)
    lines += ["", f"Of those that reach AscendCL and that torch-npu does not refuse, {share:.1f} % are right.", ""]
    for kind, head in (("crashed", "what"), ("wrong", "what"), ("refused by hostacl", "text"), ("otherwise", "why")):
        if kinds[kind]:
            lines += [f"### {kind.capitalize()}", "", *table(kinds[kind], rows, head)]
    reasons: dict[str, list[str]] = defaultdict(list)
    for name in kinds["refused by torch-npu"]:
        text = worst(rows[name])
        reasons["it has it in aclnn only" if "libopapi.so" in text else text].append(name)
    lines += ["### Refused by torch-npu", "", "| why | operators |", "|---|---|"]
    lines += [f"| {why} | {listed(names)} |" for why, names in sorted(reasons.items())]
    right = set(kinds["right"])
    lines += ["", "### Right", "", listed(right & reaching), "", "### Right without AscendCL", ""]
    lines += ["Views, host code, torch-npu's fall-back to the CPU:", "", listed(right - reaching), ""]
    return "\n".join(lines)


def written(rows: Mapping[str, Row]) -> None:
    """Puts the section into the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + section(rows) + "\n" + END + rest.partition(END)[2], "utf-8")


def main(names: Sequence[str]) -> None:
    """Prints the samples of the operators named, or writes the page."""
    places = [index for index, op in enumerate(OPERATORS) if not names or op.name in names]
    rows = rows_of(places)
    if not names:
        written(rows)
        print({kind: len(found) for kind, found in by_kind(rows).items()}, f"{100 * share_right(rows):.1f} % right")
        return
    for name, row in rows.items():
        for outcome in row:
            print(name, outcome.kind, outcome.text, *outcome.operators)


if __name__ == "__main__":
    main(sys.argv[1:])
