"""Each custom lint finds its violation, and none in the current tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONSUME = "def subscribe(to):\n    consume(to)\n"


def run(tool: str, *arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / f"tools/{tool}.py"), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("tool", "file", "bad", "good"),
    [
        ("no_float", "money.py", "rate = 0.5\n", "rate = 5\n"),
        ("no_float", "money.py", "half = 1 / 2\n", "half = 1 // 2\n"),
        ("no_float", "money.py", "def f(x: float): ...\n", "def f(x: int): ...\n"),
        ("thin_handlers", "handlers/deposits.py", CONSUME * 2, CONSUME),
        ("thin_handlers", "handlers/deposits.py", CONSUME + "#\n" * 60, CONSUME),
        ("commit_in_runtime", "adapters.py", "connection.commit()\n", "connection.execute()\n"),
        ("commit_in_runtime", "adapters.py", "self._engine.begin()\n", "self._window.begin()\n"),
        ("small_files", "long.py", "#\n" * 601, "#\n" * 600),
    ],
)
def test_a_lint_distinguishes_bad_from_good(
    tmp_path: Path, tool: str, file: str, bad: str, good: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)

    path.write_text(bad)
    found = run(tool, tmp_path)
    path.write_text(good)
    nothing = run(tool, tmp_path)

    assert (found.returncode, path.name in found.stdout) == (1, True)
    assert (nothing.returncode, nothing.stdout) == (0, "")


OF_FOLDERS = ["no_float", "thin_handlers", "commit_in_runtime", "small_files"]


@pytest.mark.parametrize("tool", [*OF_FOLDERS, "one_head"])
def test_a_lint_fails_where_it_finds_no_file(tmp_path: Path, tool: str) -> None:
    found = run(tool, tmp_path)

    assert (found.returncode, str(tmp_path) in found.stdout + found.stderr) == (1, True)


@pytest.mark.parametrize("tool", [*OF_FOLDERS, "one_head"])
def test_a_lint_fails_without_a_folder(tool: str) -> None:
    found = run(tool)

    assert (found.returncode, "no folder" in found.stdout + found.stderr) == (1, True)


@pytest.mark.parametrize("tool", ["forbidden_text", "links", "check_words"])
def test_a_check_of_the_tracked_files_fails_where_there_are_none(tmp_path: Path, tool: str) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/glossary.md").touch()

    found = run(tool, cwd=tmp_path)

    assert (found.returncode, found.stdout.startswith("no ")) == (1, True)


def test_the_public_models_may_have_doubles(tmp_path: Path) -> None:
    public = tmp_path / "swap_contracts/public"
    public.mkdir(parents=True)
    (public / "doubles.py").write_text("half = 0.5\n")
    (tmp_path / "amounts.py").write_text("half = 1 // 2\n")

    assert run("no_float", tmp_path).returncode == 0


@pytest.mark.parametrize("tool", ["forbidden_text", "links"])
def test_the_tree_as_it_stands_is_clean(tool: str) -> None:
    assert run(tool).stdout == ""


class TestOneHead:
    FIRST = 'revision = "0001"\ndown_revision = None\n'

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"0001": FIRST, "0002": 'revision = "0002"\ndown_revision = "0001"\n'}, ""),
            (
                {
                    "0001": FIRST,
                    "0002_a": 'revision = "0002"\ndown_revision = "0001"\n',
                    "0002_b": 'revision = "0003"\ndown_revision = "0001"\n',
                },
                "the same down_revision",
            ),
            (
                {"0001": FIRST, "0000": 'revision = "0000"\ndown_revision = "0001"\n'},
                "is not four digits after",
            ),
            ({"0002": 'revision = "0002"\ndown_revision = "0001"\n'}, "nothing has the revision"),
            ({"0001": 'revision: str = "0001"\ndown_revision = None\n'}, "has no revision"),
        ],
    )
    def test_finds_migrations_that_are_not_one_line(
        self, tmp_path: Path, files: dict[str, str], message: str
    ) -> None:
        migrations = tmp_path / "migrations/versions"
        app = tmp_path / "src/swap_api/app.py"
        for folder in (migrations, app.parent):
            folder.mkdir(parents=True)
        for name, text in files.items():
            (migrations / f"{name}.py").write_text(text)
        app.write_text(f'SCHEMA_REVISION: Final = "{max(name[:4] for name in files)}"\n')

        result = run("one_head", migrations)

        assert (result.returncode != 0) == bool(message)
        assert message in result.stderr

    def test_finds_migrations_that_no_service_requires(self, tmp_path: Path) -> None:
        (tmp_path / "0001.py").write_text(self.FIRST)

        assert "no app.py beside it" in run("one_head", tmp_path).stderr

    @pytest.mark.parametrize(("required", "code"), [("0001", 0), ("0002", 1)])
    def test_finds_a_service_that_requires_another_schema(
        self, tmp_path: Path, required: str, code: int
    ) -> None:
        versions, app = tmp_path / "migrations/versions", tmp_path / "src/swap_any/app.py"
        for folder in (versions, app.parent):
            folder.mkdir(parents=True)
        (versions / "0001.py").write_text(self.FIRST)
        app.write_text(f'SCHEMA_REVISION: Final = "{required}"\n')

        assert run("one_head", versions).returncode == code
