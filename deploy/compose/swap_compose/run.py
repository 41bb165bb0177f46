"""Become a service, told its secrets: `python -m swap_compose.run settler`.

Nothing but the standard library, so that a service that was restarted is back at once.
"""

import json
import os
import sys
from pathlib import Path

SECRETS = Path("/stack/services")  # as `secrets.py` writes them


def main(service: str) -> None:
    """Replace this process; what the environment says already wins over the file."""
    secrets: dict[str, str] = json.loads((SECRETS / f"{service}.json").read_text())
    command = [sys.executable, "-m", f"swap_{service}"]
    os.execve(command[0], command, {**secrets, **os.environ})


if __name__ == "__main__":
    main(sys.argv[1])
