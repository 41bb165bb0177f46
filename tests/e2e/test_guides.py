"""The commands of the guides have the described results, on a running stack."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from swap_stack.places import ROOT
from tests.e2e import guides
from tests.e2e.guides import GUIDES
from tests.plugins.stack import Stack
from tests.support.waiting import output_of

PATIENCE = 250.0


@dataclass(frozen=True, slots=True)
class GuideRun:
    exit_code: int | None
    output: str


async def run(pages: Sequence[str], folder: Path, environment: Mapping[str, str]) -> GuideRun:
    """Run the pages of one guide as its reader does: as a separate process in an empty folder."""
    reader = await asyncio.create_subprocess_exec(
        sys.executable,
        guides.__file__,
        *(ROOT / f"docs/{page}.md" for page in pages),
        cwd=folder,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await output_of(reader, within=PATIENCE)
    return GuideRun(reader.returncode, output.decode())


def environment_of(stack: Stack, user: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the environment that a reader sets by the documentation's README."""
    return {
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "STACK": str(stack.places.stack_file),
        "BASE_URL": stack.description["gateway"]["url"],
        "API_KEY": stack.description["partners"][0]["api_key"],
        "PRIVATE_KEY": user["private_key"],
        "ADDRESS": user["address"],
    }


@pytest.fixture(scope="module")
def guide_runs(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, GuideRun]:
    """Run all guides at once, each as a different user."""
    users = stack.description["networks"][0]["users"]

    async def all_of_them() -> list[GuideRun]:
        return await asyncio.gather(
            *(
                run(pages, tmp_path_factory.mktemp(guide), environment_of(stack, user))
                for (guide, pages), user in zip(GUIDES.items(), users, strict=True)
            )
        )

    return dict(zip(GUIDES, asyncio.run(all_of_them()), strict=True))


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_of_a_guide_succeed(guide_runs: Mapping[str, GuideRun], guide: str) -> None:
    assert guide_runs[guide].exit_code == 0, guide_runs[guide].output
