"""The results by section of the specification, in addition to pytest's output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SYMBOLS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class Line:
    section: str
    sentence: str
    outcome: str
    reason: str = ""


def order_of(section: str) -> tuple[bool, tuple[int, ...]]:
    """Sort 2.2 before 2.10, and the decisions last."""
    digits = section.removeprefix("D").split(".")
    return section.startswith("D"), tuple(int(digit) for digit in digits)


def sections(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    names = sorted({line.section for line in lines}, key=order_of)
    return [(name, [line for line in lines if line.section == name]) for name in names]


def summary(lines: Sequence[Line]) -> list[str]:
    """Return one row per section, then the reasons of skips, and the failures."""
    rows = [f"{'section':>8}  {'passed':>6}  {'failed':>6}  {'skipped':>7}"]
    for section, those in sections(lines):
        counts = Counter(line.outcome for line in those)
        rows.append(
            f"{section:>8}  {counts['passed']:>6}  {counts['failed']:>6}  {counts['skipped']:>7}"
        )
    reasons = Counter(line.reason for line in lines if line.outcome == "skipped")
    rows += [f"skipped {number}: {reason}" for reason, number in reasons.most_common()]
    rows += [
        f"FAILED {line.section} {line.sentence}: {line.reason}"
        for line in lines
        if line.outcome == "failed"
    ]
    return rows


def write(path: Path, base_url: str, lines: Sequence[Line]) -> None:
    counts = Counter(line.outcome for line in lines)
    text = [
        "# Conformance",
        "",
        f"Asked: {base_url}",
        "",
        ", ".join(f"{counts[outcome]} {outcome}" for outcome in SYMBOLS),
    ]
    for section, those in sections(lines):
        text += ["", f"## {section}", "", "| | What is promised | |", "|---|---|---|"]
        text += [
            f"| {SYMBOLS[line.outcome]} | {_cell(line.sentence)} | {_cell(line.reason)} |"
            for line in those
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text) + "\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
