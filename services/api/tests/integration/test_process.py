"""The process itself: it starts, answers on both ports, and is small."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.plugins.processes import Program, accepts, free_port

pytestmark = pytest.mark.connected

TOKEN = "an operator's token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
RESIDENT_MB_MAX = 130


class Api:
    def __init__(self, program: Program, port: int, internal: int) -> None:
        self.program = program
        self.public = f"http://127.0.0.1:{port}"
        self.internal = f"http://127.0.0.1:{internal}"

    def resident_mb(self) -> int:
        """Return how much of the process is in memory."""
        process = self.program._process
        assert process is not None
        status = Path(f"/proc/{process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) // 1024


@pytest.fixture
def process(database_url: str, valkey: Any, catalogue_file: Path, tmp_path: Path) -> Iterator[Api]:
    port, internal = free_port(), free_port()
    environment = {
        **os.environ,
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SWAP_REDIS__URL": f"redis://127.0.0.1:{valkey.port}/0",
        "SWAP_OPERATOR__TOKEN": TOKEN,
        "SWAP_CATALOGUE": str(catalogue_file),
        "SWAP_API__DATABASE_URL": database_url,
        "SWAP_API__PORT": str(port),
        "SWAP_API__INTERNAL_PORT": str(internal),
        "SWAP_API__QUOTER_URL": "http://127.0.0.1:1",
        "SWAP_API__KEY_PEPPER": "a pepper for tests",
    }
    program = Program(
        [sys.executable, "-m", "swap_api"],
        log=tmp_path / "log",
        ready=lambda: accepts(port),
        environment=environment,
    )
    program.start()
    yield Api(program, port, internal)
    program.stop()


async def asked(
    session: aiohttp.ClientSession, method: str, url: str, **options: Any
) -> tuple[int, Any]:
    async with session.request(method, url, **options) as answer:
        return answer.status, await answer.json(content_type=None)


class TestProcess:
    async def test_lets_an_operator_make_a_key_that_works(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:

            async def admin(method: str, path: str, **body: Any) -> tuple[int, Any]:
                url = f"{process.internal}/admin{path}"
                return await asked(session, method, url, json=body or None, headers=OPERATOR)

            _, partner = await admin("POST", "/partners", name="Shop")
            _, app = await admin(
                "POST", "/apps", partner_id=partner["id"], name="web", environment="test"
            )
            made, key = await admin("POST", "/keys", app_id=app["id"], kind="secret")
            health = f"{process.public}/api/v2/health"
            headers = {"X-SVC-APIKEY": key["key"]}
            well, content = await asked(session, "GET", health, headers=headers)
            _, listed = await admin("GET", "/keys")
            revoked, _ = await admin("DELETE", f"/keys/{key['id']}")
            unknown, _ = await admin("POST", "/keys", app_id=partner["id"])
            wrong, said = await admin("POST", "/apps", partner_id="x")
            hasty = {"partner_id": partner["id"], "name": "hasty", "swap_lifetime_seconds": 5}
            tests, _ = await admin("POST", "/apps", environment="test", **hasty)
            real, _ = await admin("POST", "/apps", environment="live", **hasty)
            stranger, _ = await asked(session, "GET", f"{process.internal}/admin/keys")

        assert (made, well, content) == (201, 200, {"data": {"status": "ok"}, "error": None})
        assert [row["last_four"] for row in listed["keys"]] == [key["key"][-4:]]
        assert key["key"] not in str(listed)
        assert (revoked, unknown, wrong, stranger) == (200, 404, 400, 401)
        assert "partner_id" in said["error"]
        assert (tests, real) == (201, 400)

    async def test_answers_by_itself_while_kafka_is_away(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:
            status, content = await asked(session, "GET", f"{process.public}/api/v2/health")

        assert (status, content["error"]["code"]) == (401, "API_KEY_REQUIRED")

    async def test_stays_small(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:
            for _ in range(50):
                await asked(session, "GET", f"{process.public}/api/v2/health")

        assert process.resident_mb() < RESIDENT_MB_MAX
