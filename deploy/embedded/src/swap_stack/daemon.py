"""A program of the stack: one process, one log file, a way to ask whether it is ready."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from swap_stack.places import Places
from swap_stack.processes import Registry, end, is_alive, record_of
from swap_stack.programs import run_to_end

LOG_LINES_SHOWN = 15
PROBE_SECONDS = 0.02


class StackError(RuntimeError):
    """An error for the user who started the stack; the text says what to do."""


class Daemon:
    """The process behind a part."""

    stop_signal = signal.SIGTERM
    grace_seconds = 10.0
    ready_seconds = 30.0

    def __init__(self, name: str, places: Places, registry: Registry) -> None:
        self.name = name
        self.places = places
        self.registry = registry
        self._process: subprocess.Popen[bytes] | None = None

    async def probe(self) -> bool:
        """Return whether the part answers now."""
        return self.is_running()

    async def ready(self) -> None:
        """Return once the part answers.

        :raises StackError: when it ended or took too long, with the last lines of its log.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.ready_seconds
        while not await self.probe():
            if self._process is None or self._process.poll() is not None:
                raise StackError(f"{self.name} ended while starting.\n{self.last_lines()}")
            if loop.time() > deadline:
                raise StackError(
                    f"{self.name} was not ready in {self.ready_seconds:.0f} s.\n{self.last_lines()}"
                )
            await asyncio.sleep(PROBE_SECONDS)

    async def stop(self) -> None:
        """End the part; its data stays."""
        for record in self.registry.list_records():
            if record.name == self.name:
                await end(record)
        if self._process is not None:
            self._process.wait()
        self.registry.remove({self.name})

    def is_running(self) -> bool:
        return any(
            record.name == self.name and is_alive(record) for record in self.registry.list_records()
        )

    def spawn(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start the process in a session of its own, so that Ctrl-C does not reach it."""
        log = self.places.log(self.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=None if env is None else {**os.environ, **env},
                start_new_session=True,
            )
        try:
            record = record_of(
                self.name, self._process.pid, self.stop_signal.name, self.grace_seconds
            )
        except ProcessLookupError as gone:
            raise StackError(f"{gone}.\n{self.last_lines()}") from None
        self.registry.add(record)

    async def prepare(self, command: Sequence[str]) -> None:
        """Run what must be done before the first start, its output in the part's log.

        :raises ProgramFailed: when it ends with an error.
        """
        output = await run_to_end(command)
        self.places.logs.mkdir(parents=True, exist_ok=True)
        with self.places.log(self.name).open("a") as log:
            log.write(output)

    def last_lines(self) -> str:
        log = self.places.log(self.name)
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "\n".join([f"The end of {self.places.display_path(log)}:", *lines])


def words(options: Mapping[str, object]) -> list[str]:
    """Return options and their values as a command line takes them."""
    return [word for name, value in options.items() for word in (name, str(value))]


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
