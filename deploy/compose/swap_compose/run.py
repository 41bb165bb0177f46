"""Become a service, with its secrets: `python -m swap_compose.run settler`.

Nothing but the standard library, so that a service that was restarted is back at once.
"""

import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

SECRETS = Path("/stack/services")  # as `secrets.py` writes them
# The container of the profile `observability`.
COLLECTOR, COLLECTOR_PORT = "otel-collector", 4318
LOOKUP_SECONDS = 2  # Docker resolves its containers at once, and forwards other names


def main(service: str) -> None:
    """Replace this process; what the environment says already wins over the file."""
    secrets: dict[str, str] = json.loads((SECRETS / f"{service}.json").read_text())
    command = [sys.executable, "-m", f"swap_{service}"]
    os.execve(command[0], command, {**secrets, **tracing(COLLECTOR), **os.environ})


def tracing(collector: str, port: int = COLLECTOR_PORT) -> Mapping[str, str]:
    """Return where spans go, if there is a collector: a file of compose cannot ask for profiles."""
    found: list[object] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(collector, port))
        except OSError:
            return

    thread = Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(LOOKUP_SECONDS)
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{collector}:{port}"} if found else {}


if __name__ == "__main__":
    main(sys.argv[1])
