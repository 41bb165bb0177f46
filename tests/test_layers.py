"""The walls between rooms hold: an import planted across one is found and named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = (*sorted(ROOT.glob("libs/*/src")), *sorted(ROOT.glob("services/*/src")), ROOT / "cli/src")
LINT = Path(sys.executable).parent / "lint-imports"
PLANTED = [
    ("swap_api/domain/amounts.py", "import swap_settler.domain.swap", "Services stand on libs"),
    ("swap_settler/domain/swap.py", "import pydantic", "standard library only"),
    ("swap_settler/domain/swap.py", "import swap_settler.ports", "imports point inward"),
    ("swap_settler/handlers/deposits.py", "import sqlalchemy", "only through use cases"),
    ("swap_contracts/swaps.py", "import sqlalchemy", "pydantic and nothing else"),
    ("swap_quoter/adapters/price_file.py", "import web3", "Only swap_chains.evm speaks web3"),
    ("swapctl/app.py", "import swap_runtime.clock", "imports the contracts and nothing else"),
    ("swap_notifier/usecases/add_endpoint.py", "import svix", "the client speak svix"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all sources in one place, to plant in."""
    copy = tmp_path_factory.mktemp("tree")
    for source in SOURCES:
        shutil.copytree(source, copy, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.mark.parametrize(("file", "planted", "wall"), PLANTED)
def test_an_import_across_a_wall_breaks_its_contract(
    tree: Path, file: str, planted: str, wall: str
) -> None:
    path = tree / file
    original = path.read_text()
    path.write_text(f"{original}\n{planted}\n")
    try:
        checked = subprocess.run(
            [LINT, "--no-cache", "--config", tree / "pyproject.toml"],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(original)

    broken = [line for line in checked.stdout.splitlines() if line.endswith("BROKEN")]
    assert checked.returncode != 0
    assert any(wall in line for line in broken), checked.stdout
