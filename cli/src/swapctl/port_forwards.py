"""Internal ports of a cluster's deployments, forwarded to this machine while a command runs."""

from __future__ import annotations

import re
import subprocess
from collections import deque
from threading import Thread
from typing import IO, Final

INTERNAL_PORT: Final = 8081
OPENED: Final = re.compile(r"^Forwarding from 127\.0\.0\.1:(\d+) ")
NOT_FOUND: Final = "(NotFound)"


class ForwardFailed(Exception):
    """kubectl did not open a forward; the text is what it wrote last."""


class DeploymentNotFound(ForwardFailed):
    """The namespace has no such deployment."""


class PortForwards:
    """One `kubectl port-forward` for each deployment that is asked for.

    Each has a free port of this machine and belongs to one pod. The context is kubectl's own.
    """

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._processes: list[subprocess.Popen[str]] = []
        self._results: dict[str, str | ForwardFailed] = {}

    def url(self, deployment: str) -> str:
        """Return the forwarded address; the first call opens it.

        :raises DeploymentNotFound: when the namespace does not have it.
        :raises ForwardFailed: when kubectl is missing, or cannot open it.
        """
        if deployment not in self._results:
            try:
                self._results[deployment] = self._open(deployment)
            except ForwardFailed as error:
                self._results[deployment] = error  # it is asked for several times, and may be slow
        result = self._results[deployment]
        if isinstance(result, ForwardFailed):
            raise result
        return result

    def close(self) -> None:
        """End every forward."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait()

    def _open(self, deployment: str) -> str:
        target = f"deployment/{deployment}"
        try:
            process = subprocess.Popen(
                [
                    *("kubectl", "--namespace", self._namespace, "port-forward", target),
                    *(f":{INTERNAL_PORT}", "--address=127.0.0.1", "--pod-running-timeout=20s"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        except OSError as error:
            raise ForwardFailed(f"kubectl cannot be started: {error.strerror}") from error
        self._processes.append(process)
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            if (opened := OPENED.match(line)) is not None:
                Thread(target=_discard, args=(process.stdout,), daemon=True).start()
                return f"http://127.0.0.1:{opened[1]}"
            last = line.strip() or last
        failure = DeploymentNotFound if NOT_FOUND in last else ForwardFailed
        raise failure(f"{target} in the namespace {self._namespace}: {last}")


def _discard(output: IO[str]) -> None:
    """Read what kubectl writes of each connection: a full pipe would stop it."""
    deque(output, maxlen=0)
