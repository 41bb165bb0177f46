"""The pages use the metric names of Prometheus: an alert on another name never fires."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFINED = re.compile(r'\b(counter|gauge|histogram)\(\s*"(\w+)"')
NAMED = re.compile(r"\bswap_[a-z0-9_]+")
QUOTED = re.compile(r"`([a-z0-9_]+)`")
EXPOSED = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}


def tracked(pattern: str) -> list[Path]:
    command = ["git", "ls-files", pattern]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines()]


def defined() -> set[tuple[str, str]]:
    paths = [*tracked("services/*/src/*.py"), *tracked("libs/*/src/*.py")]
    return {found for path in paths for found in DEFINED.findall(path.read_text())}


def exposed() -> set[str]:
    return {f"swap_{name}{end}" for kind, name in defined() for end in EXPOSED[kind]}


def test_every_metric_that_a_page_names_is_exposed() -> None:
    known = exposed()
    families = {"_".join(name.split("_")[:2]) for name in known}
    packages = {path.parent.name for path in tracked("**/__init__.py")}
    modules = {path.stem for path in tracked("**/*.py")}

    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked("*.md")
        for name in NAMED.findall(path.read_text())
        if "_".join(name.split("_")[:2]) in families and name not in known | packages | modules
    }
    bare = {name for _, name in defined() if "_" in name}
    unknown |= {
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked("*.md")
        for name in QUOTED.findall(path.read_text())
        if name in bare
    }

    assert unknown == set()
    assert len(known) > 90
