"""What the project is made of: a bill of materials, the licences, and known vulnerabilities.

    python tools/supply_chain.py sbom FOLDER
    python tools/supply_chain.py licences
    python tools/supply_chain.py audit

Exit code 0: well. 1: a vulnerability, or a licence that is not accepted. 3: an advisory database
does not answer, so that nothing can be said about some packages; each one is counted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "requirements.lock"
RULES: Final = ROOT / "tools/supply_chain/licences.toml"
TOOLS_LOCK: Final = ROOT / "tools/supply_chain/tools.lock"
TOOLS: Final = ROOT / ".cache/supply-chain"
NODE_FOLDERS: Final = ("evm", "sdk/typescript", "tools/node")
MEMBERS: Final = re.compile(r"^swap[-_]|^swapctl$")
PINNED: Final = re.compile(r"^([\w.-]+)==", re.MULTILINE)
UNREACHABLE: Final = 3
SECONDS_MAX: Final = 300


@dataclass(frozen=True)
class Rules:
    """Which licences are accepted, and what packages say in other words."""

    allowed: frozenset[str]
    words: Mapping[str, str]
    packages: Mapping[str, str]

    @classmethod
    def read(cls, path: Path = RULES) -> Rules:
        rules = tomllib.loads(path.read_text())
        return cls(frozenset(rules["allowed"]), rules["words"], rules["packages"])

    def accepts(self, expression: str) -> bool:
        """Return whether an SPDX expression, or a package's own text, is accepted."""
        text = expression.strip()
        if text in self.words:
            return self.words[text] in self.allowed
        if _is_wrapped(text):
            return self.accepts(text[1:-1])
        for operator, combine in ((" OR ", any), (" AND ", all)):
            parts = _split(text, operator)
            if len(parts) > 1:
                return combine(map(self.accepts, parts))
        return text in self.allowed


def _is_wrapped(text: str) -> bool:
    """Return whether the first parenthesis is closed by the last character."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return place == len(text) - 1
    return False


def _split(text: str, operator: str) -> list[str]:
    """Split at an operator that is in no parentheses."""
    parts, depth, start, place = [], 0, 0, 0
    while place < len(text):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0 and text.startswith(operator, place):
            parts.append(text[start:place])
            place += len(operator)
            start = place
            continue
        place += 1
    return [*parts, text[start:]]


def python_licences() -> Iterator[tuple[str, str]]:
    """Yield each locked package that is installed, and its licence as its metadata says it."""
    locked = {_normalize(name) for name in PINNED.findall(LOCK.read_text())}
    for distribution in distributions():
        name = _normalize(distribution.metadata["Name"])
        if name in locked and not MEMBERS.match(name):
            yield f"pypi:{name}", licence_of(distribution)


def licence_of(distribution: Distribution) -> str:
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    if classifiers:
        return " AND ".join(classifiers)
    return str(metadata.get("License") or "").partition("\n")[0]


def node_licences(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each package of a lock file, and its licence."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    for path, package in packages.items():
        if path:
            name = path.rpartition("node_modules/")[2]
            yield f"npm:{name}", str(package.get("license", ""))


def check_licences() -> int:
    rules = Rules.read()
    found = dict(python_licences())
    for folder in NODE_FOLDERS:
        found |= dict(node_licences(ROOT / folder))
    faults = [
        f"{name}: {licence or 'no licence is named'}"
        for name, licence in sorted(found.items())
        if not rules.accepts(licence) and not rules.accepts(rules.packages.get(name, ""))
    ]
    for name, licence in sorted(found.items()):
        print(f"{name}\t{licence or rules.packages.get(name, '?')}")
    for fault in faults:
        print(f"not accepted: {fault}", file=sys.stderr)
    print(f"{len(found)} packages, {len(faults)} licences not accepted", file=sys.stderr)
    return int(bool(faults))


def write_boms(folder: Path) -> int:
    """Write a CycloneDX document for each lock file."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "python.cdx.json"
    _run(
        str(install_tools() / "cyclonedx-py"),
        *("requirements", "--output-reproducible", "--of", "JSON", "-o", str(made), str(LOCK)),
    )
    print(made)
    for part in NODE_FOLDERS:
        made = folder / f"{part.replace('/', '-')}.cdx.json"
        command = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
        made.write_text(_run(*command, folder=ROOT / part))
        print(made)
    return 0


@dataclass
class AuditResult:
    """What an advisory database said about the packages of one lock file."""

    where: str
    vulnerable: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # packages nothing could be said about

    def lines(self) -> Iterator[str]:
        yield from (f"{self.where}: VULNERABLE {text}" for text in self.vulnerable)
        if self.unknown:
            listed = "; ".join(self.unknown[:3])
            yield f"{self.where}: NOT AUDITED, {len(self.unknown)} of them: {listed}"
        if not self.vulnerable and not self.unknown:
            yield f"{self.where}: no vulnerability is known"


def read_pip_audit(report: Mapping[str, Any]) -> AuditResult:
    """
    :param report: the JSON that pip-audit writes.
    """
    audited = AuditResult("requirements.lock")
    for package in report["dependencies"]:
        if "skip_reason" in package:
            audited.unknown.append(f"{package['name']}: {package['skip_reason']}")
        for found in package.get("vulns", ()):
            fixes = ", ".join(found["fix_versions"]) or "no version"
            name = f"{package['name']} {package['version']}"
            audited.vulnerable.append(f"{name}: {found['id']}, mended in {fixes}")
    return audited


def read_npm_audit(where: str, report: Mapping[str, Any]) -> AuditResult:
    """
    :param report: the JSON that npm audit writes.
    """
    audited = AuditResult(where)
    if "vulnerabilities" not in report:
        error = report.get("error", {})
        reason = report.get("message") or error.get("summary") or "the registry did not answer"
        audited.unknown.append(f"all: {reason}")
    for name, found in report.get("vulnerabilities", {}).items():
        audited.vulnerable.append(f"{name} {found['range']}: {found['severity']}")
    return audited


def audit() -> int:
    audited = [_audit_python(), *map(_audit_node, NODE_FOLDERS)]
    for one in audited:
        print(*one.lines(), sep="\n")
    if any(one.vulnerable for one in audited):
        return 1
    if any(one.unknown for one in audited):
        print("An advisory database did not answer: the packages above were NOT audited.")
        return UNREACHABLE
    return 0


def _audit_python() -> AuditResult:
    command = [
        str(install_tools() / "pip-audit"),
        *("--requirement", str(LOCK), "--disable-pip", "--require-hashes"),
        *("--format", "json", "--progress-spinner", "off"),
    ]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=SECONDS_MAX
    )
    try:
        return read_pip_audit(json.loads(ended.stdout))
    except ValueError:
        reason = (ended.stderr.strip().splitlines() or ["no answer"])[-1]
        return AuditResult("requirements.lock", unknown=[f"all: {reason}"])


def _audit_node(part: str) -> AuditResult:
    command = ["npm", "audit", "--package-lock-only", "--json"]
    ended = subprocess.run(
        command, cwd=ROOT / part, check=False, capture_output=True, text=True, timeout=SECONDS_MAX
    )
    try:
        return read_npm_audit(part, json.loads(ended.stdout))
    except ValueError:
        reason = (ended.stderr.strip().splitlines() or ["no answer"])[-1]
        return AuditResult(part, unknown=[f"all: {reason}"])


def install_tools() -> Path:
    """Return the folder of the programs, installed by hash into a place of their own."""
    stamp = TOOLS / "installed.lock"
    if not stamp.is_file() or stamp.read_text() != TOOLS_LOCK.read_text():
        uv = str(ROOT / ".venv/bin/uv")
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(TOOLS))
        python = str(TOOLS / "bin/python")
        _run(
            *(uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python),
            str(TOOLS_LOCK),
        )
        stamp.write_text(TOOLS_LOCK.read_text())
    return TOOLS / "bin"


def _run(*command: str, folder: Path = ROOT) -> str:
    ended = subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, timeout=SECONDS_MAX
    )
    return ended.stdout


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(words: Sequence[str]) -> int:
    match list(words):
        case ["sbom", folder]:
            return write_boms(Path(folder))
        case ["licences"]:
            return check_licences()
        case ["audit"]:
            return audit()
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
