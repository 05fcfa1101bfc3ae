"""Fails when the rules of use found something in a client that its page does not name: reports.py PAGE.md REPORT.json…"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

SECTION = re.compile(r"^## What the rules of use find\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def main(page: str, *files: str) -> int:
    """Prints how often each rule was broken, and each report of a rule that the page's section does not name."""
    section = SECTION.search(Path(page).read_text())
    named = set(re.findall(r"HA\d{3}", section[1] if section else ""))
    reports = [report for file in files for report in json.loads(Path(file).read_text())["reports"]]
    counts = Counter(dict.fromkeys(named, 0))
    for report in reports:
        counts[report["code"]] += report["count"]
    print("rules of use:", ", ".join(f"{code} {count}" for code, count in sorted(counts.items())))
    others = [report for report in reports if report["code"] not in named]
    for report in others:
        print(f"not on {page}: {report['code']} {report['function']}(): {report['message']} (at {report['at']})")
    return bool(others or not files)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
