"""Running a program under the checks: the settings for it, and the end of it that says whether a rule was broken."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hostacl.checks.rule import rules

SERIOUS = frozenset({"error", "undefined", "leak"})
BROKEN = 1


def known_rules(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A list of codes and prefixes, as it is; a mistyped one would leave the program unchecked."""
    for item in (value or "all").split(","):
        if item != "all" and not (len(item) > 2 and any(code.startswith(item.upper()) for code in rules())):
            raise click.BadParameter(f"{item!r} is no rule, and no rules begin with it; `hostacl explain` lists them.")
    return value


def environment(check: str, ignore: str | None, strict: bool, report: str, report_file: str | None) -> dict[str, str]:
    """The HOSTACL_… variables of these options."""
    given = {
        "HOSTACL_CHECK": check,
        "HOSTACL_IGNORE": ignore,
        "HOSTACL_STRICT": "1" if strict else None,
        "HOSTACL_REPORT": report,
        "HOSTACL_REPORT_FILE": report_file,
    }
    return {name: value for name, value in given.items() if value is not None}


def run(program: str, command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs a program and waits for it; its own exit code, or 1 when that is 0 and a report was more than portability."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = environ.get("HOSTACL_REPORT_FILE")
        pattern = wanted if wanted and "%p" in wanted else str(Path(folder, "%p.json"))
        with subprocess.Popen(list(command), executable=program, env={**environ, "HOSTACL_REPORT_FILE": pattern}) as process:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
            try:
                code = process.wait()
            finally:
                signal.signal(signal.SIGINT, before)
        found = list(_documents(Path(pattern)))
        if wanted and wanted != pattern and found:
            reports = [one for each in found for one in each["reports"]]
            Path(wanted).write_text(json.dumps({**found[0], "reports": reports}, indent=1))
    broken = any(one["severity"] in SERIOUS for each in found for one in each["reports"])
    return 128 - code if code < 0 else code or (BROKEN if broken else 0)


def _documents(pattern: Path) -> list[dict[str, Any]]:
    """What each process has written."""
    return [json.loads(path.read_text()) for path in sorted(pattern.parent.glob(pattern.name.replace("%p", "*")))]
