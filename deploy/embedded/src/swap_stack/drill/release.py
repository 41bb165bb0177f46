"""The release before, checked out beside the present code with what it needs."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from swap_stack.daemon import StackError
from swap_stack.programs import ProgramFailed, run_to_end

RELEASE_FILE: Final = "tests/released_revisions.toml"
FOLDER: Final = ".cache/releases"


@dataclass(frozen=True, slots=True)
class Release:
    """A version, the commit that it is, and where its files are here."""

    version: str
    commit: str
    root: Path

    @property
    def python(self) -> Path:
        return self.root / ".venv/bin/python"

    def stack(self, *words: str) -> Sequence[str]:
        """Return the command of the release's own stack."""
        return [str(self.python), "-m", "swap_stack", *words]


def read_release(root: Path) -> Release:
    """Return the release that the committed file names."""
    release = tomllib.loads((root / RELEASE_FILE).read_text())["release"]
    version, commit = str(release["version"]), str(release["commit"])
    return Release(version, commit, root / FOLDER / f"{version}-{commit[:8]}")


async def install_release(root: Path) -> Release:
    """Return the release with its packages, installed where it was not yet.

    :raises StackError: when the clone does not have its commit, or it cannot be installed.
    """
    release = read_release(root)
    if not release.python.is_file():
        partial = release.root.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(release.root, ignore_errors=True)
        partial.mkdir(parents=True)
        archive = partial / "release.tar"
        try:
            command = ["git", "-C", str(root), "archive", f"--output={archive}", release.commit]
            await run_to_end(command)
        except ProgramFailed as error:
            raise StackError(
                f"This clone does not have {release.version} ({release.commit}): fetch the whole "
                f"history.\n{error}"
            ) from error
        await run_to_end(["tar", "-xf", str(archive), "-C", str(partial)])
        archive.unlink()
        partial.rename(release.root)
    # It installs what is missing, and nothing where all is there.
    bootstrap = str(release.root / "tools/bootstrap")
    await run_to_end([sys.executable, bootstrap])
    return release
