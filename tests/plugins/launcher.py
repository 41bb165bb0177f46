"""Starts one service of a stack under test: `python launcher.py FOLDER SERVICE PROGRAM ARGUMENTS…`.

The supervisor runs this instead of the service, so that a test can control the next start of it.
`FOLDER/SERVICE.hold` prevents a start; `FOLDER/SERVICE.once.json` is added to the environment of
one start and is deleted afterwards. The process id does not change.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

POLL_SECONDS = 0.02


def main(folder: Path, service: str, command: list[str]) -> None:
    while (folder / f"{service}.hold").exists():
        time.sleep(POLL_SECONDS)
    once = folder / f"{service}.once.json"
    environment = dict(os.environ)
    try:
        environment |= json.loads(once.read_text())
        once.unlink()
    except FileNotFoundError:
        pass
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
