"""Write the soak reports into docs/reliability.md, mutation results into docs/mutation.md."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from generating import write_or_check

REPORTS = Path("tests/soak/kept")
RESULTS = Path("tests/mutation/results.json")
SOAK, MUTATION = "soak reports", "mutation results"
TARGETS = {SOAK: "docs/reliability.md", MUTATION: "docs/mutation.md"}
NONE = "No report is stored yet: `make soak SEED=1 MINUTES=10 BROKER=kafka KEEP=1` stores one."

Report = Mapping[str, Any]


def page(text: str, sections: Mapping[str, str]) -> str:
    """Return the page with each section between its two marks."""
    for name, content in sections.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{content}\n\n{end}{after}"
    return text


def soak_section(reports: Sequence[Report]) -> str:
    if not reports:
        return NONE
    parts = [_runs(reports), _swaps(reports), _faults(reports)]
    if sampled := [one for one in reports if one.get("memory")]:
        parts.append(_memory(sampled))
    return "\n\n".join("\n".join(part) for part in parts)


def _runs(reports: Sequence[Report]) -> Iterator[str]:
    yield "### Runs"
    yield ""
    yield (
        "| broker | seed | minutes | day | swaps | faults | restarts | webhooks "
        "| longest recovery | quiet after | problems |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for one in reports:
        longest = one["longest_recovery"]
        recovery = f"{longest['seconds']:g} s, {longest['after']}" if longest else "none"
        cells = (
            one["broker"],
            one["seed"],
            f"{one['minutes']:g}",
            one["began"],
            sum(sum(ends.values()) for ends in one["swaps"].values()),
            sum(one["faults"].values()),
            sum(one["restarts"].values()),
            one["webhooks"],
            recovery,
            f"{one['quiet_after_seconds']:g} s",
            len(one["problems"]) or "none",
        )
        yield _row(*cells)


def _swaps(reports: Sequence[Report]) -> Iterator[str]:
    endings = sorted({end for one in reports for ends in one["swaps"].values() for end in ends})
    yield "### Swaps by method and ending"
    yield ""
    yield _row("method", *endings)
    yield _row(*["---"] * (len(endings) + 1))
    methods = sorted({method for one in reports for method in one["swaps"]})
    for method in methods:
        ends = _sum(one["swaps"].get(method, {}) for one in reports)
        yield _row(method, *(ends[end] for end in endings))
    yield ""
    yield _row("what their users did", "swaps")
    yield _row("---", "---")
    for what, count in sorted(_sum(one["wanted"] for one in reports).items()):
        yield _row(what, count)


def _faults(reports: Sequence[Report]) -> Iterator[str]:
    yield "### Faults by kind"
    yield ""
    yield _row("fault", "times")
    yield _row("---", "---")
    for kind, count in sorted(_sum(one["faults"] for one in reports).items()):
        yield _row(kind, count)
    resumed = _sum(one["resumed"] for one in reports).total()
    yield ""
    yield "Services started again: " + _join_counts(_sum(one["restarts"] for one in reports)) + "."
    yield f"Networks that false reports of a node halted, and an operator resumed: {resumed}."


def _memory(reports: Sequence[Report]) -> Iterator[str]:
    """Yield the memory of each service's longest process, of runs that were long enough."""
    services = sorted({service for one in reports for service in one["memory"]})
    yield "### Memory"
    yield ""
    yield "The median of the middle third of a run and of its last third, in MiB."
    yield ""
    yield _row("broker", "seed", "minutes", "faults", *services)
    yield _row(*["---"] * (len(services) + 4))
    for one in reports:
        sizes = (one["memory"].get(service) for service in services)
        cells = (f"{size['middle_mib']:g}, {size['last_mib']:g}" if size else "" for size in sizes)
        faults = sum(one["faults"].values())
        yield _row(one["broker"], one["seed"], f"{one['minutes']:g}", faults, *cells)


def mutation_section(results: Mapping[str, Report]) -> str:
    """Return what became of the mutants of each part, file by file, and the judged survivors."""
    if not results:
        return "No results are stored yet: `make mutate SAVE=1` stores them."
    return "\n\n".join("\n".join(_part(result)) for result in results.values())


def _part(result: Report) -> Iterator[str]:
    yield f"## {result['part']}: {result['percent']} % of {result['valid']} valid mutants caught"
    yield ""
    yield _row("file", "killed", "out of time", "judged", "survived", "refused by mypy")
    yield _row(*["---"] * 6)
    for file, counts in result["files"].items():
        survived = sum(counts.get(status, 0) for status in ("survived", "untested"))
        caught = (counts.get(status, 0) for status in ("killed", "timeout", "judged"))
        yield _row(file, *caught, survived, counts.get("refused by mypy", 0))
    if result["judged"]:
        yield ""
        yield _row("survivor that was judged", "change", "why no test can fail")
        yield _row(*["---"] * 3)
        for function, change, why in result["judged"]:
            yield _row(f"`{_short(function)}`", _code(change), why)


def _short(function: str) -> str:
    """Return a function's name behind the package of its decisions, `decide` or `domain`."""
    return re.split(r"\.(?:decide|domain)\.", function, maxsplit=1)[-1]


def _code(change: str) -> str:
    """Return the removed and the added lines for a cell of a table."""
    return "<br>".join(f"`{line.replace('|', chr(92) + '|')}`" for line in change.splitlines())


def _sum(counts: Iterator[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _join_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


if __name__ == "__main__":
    reports = [json.loads(path.read_text()) for path in sorted(REPORTS.glob("*.json"))]
    results = json.loads(RESULTS.read_text())
    sections = {SOAK: soak_section(reports), MUTATION: mutation_section(results)}
    write_or_check(
        {
            target: page(Path(target).read_text(), {name: sections[name]})
            for name, target in TARGETS.items()
        }
    )
