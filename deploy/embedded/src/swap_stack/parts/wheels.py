"""Programs that came inside Python packages, found without importing those packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from swap_stack.daemon import StackError


def program_in(package: str, path: str) -> str:
    """Return a program's place.

    :raises StackError: when the package is not installed or has no such program.
    """
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        program = Path(folder) / path
        if program.is_file():
            return str(program)
    raise StackError(f"{package} does not bring {path} on this machine: `make install`.")
