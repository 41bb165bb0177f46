"""Mutation test of the code that decides about money, by mutmut.

    tools/mutate.py [settler | watcher | settler-sql]... [--only PATTERN] [--again] [--save]

Each part is copied to `.cache/mutation/<part>`, where mutmut changes one expression at a time and
runs the tests that reach it. mutmut stores its results there. An interrupted run continues where it
ended, and after a change only the changed functions are tested again. After a change of the tests,
`--again` tries those again that nothing has caught. A mutant that mypy refuses is no valid program
and does not count. One counts as caught when a test fails or runs out of time.
`tests/mutation/judged.toml` names the survivors that a reviewer judged: what is changed, and why no
test can or should notice it. Exit status 1: a part with a threshold caught less than that share of
its valid mutants.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
WORKSPACES: Final = ROOT / ".cache/mutation"
JUDGED: Final = ROOT / "tests/mutation/judged.toml"
RESULTS: Final = ROOT / "tests/mutation/results.json"
RUN_ONCE: Final = ROOT / "tools/mutmut_once.py"
COPIED: Final = ("services", "libs", "docs", "deploy", "cli", "tests", "evm/artifacts")
SINGLE_FILES: Final = ("conftest.py", "pyproject.toml")
THRESHOLD_PERCENT: Final = 90
MUTMUT: Final = Path(sys.executable).parent / "mutmut"
INVALID: Final = "refused by mypy"
# The exit statuses that mutmut stores for a mutant: its own table, `mutmut.stats`.
STATUS: Final = {
    0: "survived", 1: "killed", 3: "killed", 5: "untested", 33: "untested", 37: INVALID,
    36: "timeout", 24: "timeout", -24: "timeout", 152: "timeout", 255: "timeout", None: "not run",
}  # fmt: skip
CAUGHT: Final = ("killed", "timeout", "judged")
NOT_CAUGHT: Final = ("survived", "untested")


@dataclass(frozen=True, slots=True)
class Part:
    """A package, the files of it that are mutated, and the tests that must notice."""

    name: str
    service: str
    package: str
    mutated: tuple[str, ...]
    tests: tuple[str, ...]
    marker: str
    threshold_percent: int | None

    @property
    def workspace(self) -> Path:
        return WORKSPACES / self.name


UNITS: Final = "not connected and not e2e"
PARTS: Final = {
    part.name: part
    for part in (
        Part(
            "settler", "settler", "swap_settler",
            ("*/decide/*.py", "model/[acstw]*.py", "model/ledger/*.py"),
            ("services/settler/tests/unit",), UNITS, THRESHOLD_PERCENT,
        ),
        Part(
            "watcher", "chain-watcher", "swap_chain_watcher", ("domain/*.py",),
            ("services/chain-watcher/tests/unit",), UNITS, THRESHOLD_PERCENT,
        ),
        Part(
            "settler-sql", "settler", "swap_settler",
            ("model/store/bookings.py", "model/store/loading.py", "model/store/rows.py",
             "model/store/unit_of_work.py", "paying/store/lane_store.py",
             "paying/store/lane_unit_of_work.py", "operator/store/records.py"),
            ("services/settler/tests/integration",), "connected", None,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the code, and whether anything noticed it."""

    name: str
    file: str
    status: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """A survivor that a reviewer looked at: the changed lines, and why it may survive."""

    function: str
    change: str
    why: str


def main(arguments: Sequence[str]) -> int:
    """Run the parts that are named, or all with a threshold, and report each of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--only", help="run only the mutants whose names match this pattern")
    parser.add_argument("--again", action="store_true", help="try again what nothing has caught")
    parser.add_argument("--children", type=int, default=2, help="how many run at once")
    parser.add_argument("--report", action="store_true", help="run nothing, report what is stored")
    parser.add_argument("--save", action="store_true", help="write tests/mutation/results.json")
    options = parser.parse_args(arguments)
    names = options.parts or [part.name for part in PARTS.values() if part.threshold_percent]
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {unknown[0]}; there are: {', '.join(PARTS)}")
    failed = [name for name in names if not run_part(PARTS[name], options)]
    return 1 if failed else 0


def run_part(part: Part, options: argparse.Namespace) -> bool:
    """Mutate one part and report; True when it reaches its threshold."""
    if not options.report:
        copy_sources(part)
        if options.again:
            reset_survivors(part)
        run_mutmut(part, options.only, options.children)
    mutants = list(stored_mutants(part))
    judged = judge(part, [mutant for mutant in mutants if mutant.status == "survived"])
    summary = summarize(part, mutants, judged)
    print_summary(summary, [m for m in mutants if m.status == "survived" and m.name not in judged])
    if options.save:
        save(summary)
    return part.threshold_percent is None or summary["percent"] >= part.threshold_percent


def copy_sources(part: Part) -> None:
    """Bring the workspace up to date; unchanged files keep their time, so results stay valid."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *COPIED, *SINGLE_FILES],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    prefix = f"services/{part.service}/src/"
    targets = {}
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            targets["src/" + name[len(prefix) :] if name.startswith(prefix) else name] = name
    targets["setup.cfg"] = ""
    remove_stale(part.workspace, targets)
    for target, name in targets.items():
        content = (ROOT / name).read_bytes() if name else settings_of(part).encode()
        write_if_changed(part.workspace / target, content)


def remove_stale(workspace: Path, targets: Mapping[str, str]) -> None:
    """Remove files that are gone from the sources, here and in mutmut's copy."""
    mutated = workspace / "mutants"
    for folder in (workspace, mutated):
        for path in list(folder.rglob("*.py")) if folder.is_dir() else []:
            name = path.relative_to(folder).as_posix()
            if not name.startswith("mutants/") and name not in targets:
                path.unlink()
                path.with_name(path.name + ".meta").unlink(missing_ok=True)


def write_if_changed(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def settings_of(part: Part) -> str:
    """Return mutmut's settings of a part, as its `setup.cfg`."""
    mypy = [
        "mypy",
        "--output=json",
        "--no-error-summary",
        "--no-warn-unused-ignores",
        *mutated_files(part),
    ]
    lists = {
        "source_paths": ["src"],
        "only_mutate": mutated_files(part),
        "also_copy": [*COPIED, *SINGLE_FILES],
        "pytest_add_cli_args": [
            "-p", "no:cacheprovider", "-m", part.marker, "--hypothesis-profile=mutation",
            "--ignore-glob=*_anvil.py",  # its node is no Python package, and is not copied
        ],
        "pytest_add_cli_args_test_selection": list(part.tests),
        "type_check_command": mypy,
    }  # fmt: skip
    lines = ["[mutmut]"]
    for key, values in lists.items():
        lines += [f"{key} =", *(f"    {value}" for value in values)]
    return "\n".join([*lines, "use_git_change_detection = false", ""])


def mutated_files(part: Part) -> list[str]:
    """Return the files of a part, from the root of its workspace.

    :raises ValueError: when a pattern finds none.
    """
    source = ROOT / f"services/{part.service}/src"
    found: list[str] = []
    for pattern in part.mutated:
        files = sorted((source / part.package).glob(pattern))
        if not files:
            raise ValueError(f"{part.name}: nothing to mutate at {part.package}/{pattern}")
        found += [f"src/{file.relative_to(source).as_posix()}" for file in files]
    return found


def reset_survivors(part: Part) -> None:
    """Forget what nothing has caught, and which tests reach it: mutmut finds out both again."""
    part.workspace.joinpath("mutants/mutmut-stats.json").unlink(missing_ok=True)
    for meta in part.workspace.joinpath("mutants/src").rglob("*.py.meta"):
        stored = json.loads(meta.read_text())
        codes = stored["exit_code_by_key"]
        forgotten = {name: None for name, code in codes.items() if STATUS.get(code) in NOT_CAUGHT}
        stored["exit_code_by_key"] = codes | forgotten
        meta.write_text(json.dumps(stored, indent=4))


def run_mutmut(part: Part, only: str | None, children: int) -> None:
    """Let mutmut run; it shows its progress itself."""
    environment = {
        **os.environ,
        "MYPYPATH": str(part.workspace / "mutants/src"),
        "PATH": f"{MUTMUT.parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, str(RUN_ONCE), str(children), *([only] if only else [])]
    subprocess.run(command, cwd=part.workspace, env=environment, check=True)


def stored_mutants(part: Part) -> Iterator[Mutant]:
    """Return every mutant that mutmut stored a result for."""
    source = part.workspace / "mutants/src"
    for meta in sorted(source.rglob("*.py.meta")):
        file = meta.relative_to(source / part.package).as_posix().removesuffix(".meta")
        statuses = json.loads(meta.read_text())["exit_code_by_key"]
        for name, code in statuses.items():
            yield Mutant(name, file, STATUS.get(code, "suspicious"))


def judge(part: Part, survivors: Iterable[Mutant]) -> dict[str, Judgement]:
    """Return the judgement of each survivor that has one."""
    judgements = {
        (row["function"], row["change"].strip()): Judgement(**row)
        for row in tomllib.loads(JUDGED.read_text()).get("judged", [])
    }
    found = {}
    for mutant in survivors:
        key = (function_of(mutant.name), change_of(part, mutant.name))
        if key in judgements:
            found[mutant.name] = judgements[key]
    return found


def function_of(mutant: str) -> str:
    """Return the dotted name of the function that a mutant changes."""
    module, _, mangled = mutant.rpartition(".")
    name = mangled.rpartition("__mutmut_")[0]
    if name.startswith("xǁ"):  # mutmut's spelling of a method: xǁClassǁmethod
        return f"{module}." + name[2:].replace("ǁ", ".")
    return f"{module}.{name.removeprefix('x_')}"


def change_of(part: Part, mutant: str) -> str:
    """Return the lines that a mutant removes and adds, without their indentation."""
    module, _, name = mutant.rpartition(".")
    functions = functions_of(part.workspace / "mutants/src" / f"{module.replace('.', '/')}.py")
    of, _, number = name.rpartition("__mutmut_")
    before = [line.replace("__mutmut_orig", "") for line in functions[f"{of}__mutmut_orig"]]
    after = [line.replace(f"__mutmut_{number}", "") for line in functions[name]]
    changed = [line for line in unified_diff(before, after, lineterm="", n=0) if line[0] in "+-"]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in changed[2:])


@cache
def functions_of(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the lines of every function in a file of mutants, the original ones among them."""
    text = path.read_text()
    lines = text.splitlines()
    return {
        node.name: lines[node.lineno - 1 : node.end_lineno]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def summarize(
    part: Part, mutants: Sequence[Mutant], judged: Mapping[str, Judgement]
) -> dict[str, Any]:
    """Count the mutants of a part by file and status, with the judged survivors."""
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        status = "judged" if mutant.name in judged else mutant.status
        files[mutant.file][status] += 1
    counted = sum(files.values(), Counter())
    valid = counted.total() - counted[INVALID]
    caught = sum(counted[status] for status in CAUGHT)
    return {
        "part": part.name,
        "percent": 100 * caught // valid if valid else 0,
        "valid": valid,
        "files": {name: dict(sorted(counts.items())) for name, counts in sorted(files.items())},
        "judged": sorted(
            {(one.function, one.change, one.why) for one in judged.values()}
        ),
    }  # fmt: skip


def print_summary(summary: Mapping[str, Any], survivors: Sequence[Mutant]) -> None:
    statuses = (*CAUGHT, "survived", "untested", "not run", "suspicious", INVALID)
    short = ("killed", "time", "judged", "alive", "untested", "not run", "odd", "invalid")
    print(f"\n{summary['part']:<28}" + "".join(f"{name:>9}" for name in short))
    for file, counts in summary["files"].items():
        print(f"{file:<28}" + "".join(f"{counts.get(status, 0):>9}" for status in statuses))
    for mutant in survivors:
        print(f"alive: {mutant.name}")
    print(f"{summary['part']}: {summary['percent']} % of {summary['valid']} mutants are caught")


def save(summary: Mapping[str, Any]) -> None:
    """Replace this part's results in the stored ones."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    stored[summary["part"]] = summary
    RESULTS.write_text(json.dumps(dict(sorted(stored.items())), indent=2) + "\n")


if __name__ == "__main__":
    if not MUTMUT.is_file() or shutil.which("git") is None:
        sys.exit("mutate: run `make install-python` first")
    sys.exit(main(sys.argv[1:]))
