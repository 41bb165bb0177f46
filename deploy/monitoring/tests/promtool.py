"""Finds promtool, runs unit tests of rules with it, and checks their syntax."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

MISSING = "promtool is not on the PATH: install Debian's package `prometheus`, or set PROMTOOL"


def find_promtool() -> str | None:
    return os.environ.get("PROMTOOL") or shutil.which("promtool")


def run_rule_tests(
    promtool: str, folder: Path, rules: str, tests: Sequence[Mapping[str, Any]]
) -> str:
    """Run unit tests of rules; return promtool's output, empty if all pass."""
    (folder / "rules.yaml").write_text(rules)
    file = folder / "tests.yaml"
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": list(tests)}
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run(
        [promtool, "test", "rules", file], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check_rules(promtool: str, folder: Path, rules: str) -> str:
    """Check the syntax of rules; return promtool's output, empty if it is correct."""
    file = folder / "rules.yaml"
    file.write_text(rules)
    done = subprocess.run(
        [promtool, "check", "rules", file], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
