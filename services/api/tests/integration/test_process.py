"""The process: it starts, answers on both ports, and needs little memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import psycopg
import pytest

from swap_runtime.operators.identities import token_hash
from tests.plugins.processes import Program, accepts, free_port

pytestmark = pytest.mark.connected

TOKEN = "an operator's token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
RESIDENT_MB_MAX = 130
LONGER_THAN_COMMON_SECONDS = 5.5  # servers often close after five


class Api:
    def __init__(self, program: Program, port: int, internal: int) -> None:
        self.program = program
        self.public = f"http://127.0.0.1:{port}"
        self.internal = f"http://127.0.0.1:{internal}"

    def resident_mb(self) -> int:
        """Return the resident memory of the process."""
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
        "SWAP_OPERATORS": json.dumps(
            [
                {"name": name, "role": role, "token_sha256": token_hash(name).hex()}
                for name, role in (("ada", "operator"), ("vic", "viewer"))
            ]
        ),
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


async def request_json(
    session: aiohttp.ClientSession, method: str, url: str, **options: Any
) -> tuple[int, Any]:
    async with session.request(method, url, **options) as answer:
        return answer.status, await answer.json(content_type=None)


class TestProcess:
    async def test_lets_an_operator_make_a_key_that_works(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:

            async def admin(method: str, path: str, **body: Any) -> tuple[int, Any]:
                url = f"{process.internal}/admin/management/v1{path}"
                return await request_json(session, method, url, json=body or None, headers=OPERATOR)

            _, made = await admin("POST", "/organizations", name="Shop")
            own = f"/organizations/{made['data']['id']}"
            _, app = await admin("POST", f"{own}/apps", name="web", environment="test")
            keys = f"/apps/{app['data']['id']}/keys"
            made, key = await admin("POST", keys, kind="secret")
            health = f"{process.public}/api/v2/health"
            headers = {"X-SVC-APIKEY": key["data"]["key"]}
            well, content = await request_json(session, "GET", health, headers=headers)
            _, listed = await admin("GET", keys)
            lifted, _ = await admin("POST", f"/apps/{app['data']['id']}/limits", limits_lifted=True)
            revoked, _ = await admin("POST", f"/keys/{key['data']['id']}/revoke")
            unknown, _ = await admin("POST", f"/apps/{uuid4()}/keys", kind="secret")
            wrong, refusal = await admin("POST", f"{own}/apps", name="web", environment="x")
            away, _ = await admin("GET", f"/apps/{app['data']['id']}/webhooks")
            url = f"{process.internal}/admin/management/v1{keys}"
            without_token, _ = await request_json(session, "GET", url)
            outside = f"{process.public}/management/v1/organizations"
            public, _ = await request_json(session, "GET", outside, headers=OPERATOR)

        assert (made, well, content) == (200, 200, {"data": {"status": "ok"}, "error": None})
        assert [row["last_four"] for row in listed["data"]] == [key["data"]["key"][-4:]]
        assert key["data"]["key"] not in str(listed)
        assert (lifted, revoked, unknown, wrong, away) == (200, 200, 404, 400, 503)
        assert "environment" in refusal["error"]["metadata"]["field_errors"]
        # The operator's token opens only the internal port.
        assert (without_token, public) == (401, 403)

    async def test_logs_an_operators_order_with_the_change_under_the_tokens_name(
        self, process: Api, database_url: str
    ) -> None:
        admin = f"{process.internal}/admin"
        organizations = f"{admin}/management/v1/organizations"
        name = f"of {uuid4()}"
        async with aiohttp.ClientSession() as session:
            ada, vic = ({"Authorization": f"Bearer {who}"} for who in ("ada", "vic"))
            asked_by_vic, _ = await request_json(
                session, "POST", organizations, json={"name": name}, headers=vic
            )
            seen_by_vic, _ = await request_json(session, "GET", organizations, headers=vic)
            _, made = await request_json(
                session, "POST", organizations, json={"name": name}, headers=ada
            )
            _, log = await request_json(session, "GET", f"{admin}/audit", headers=vic)

        assert (asked_by_vic, seen_by_vic) == (403, 200)
        rows = [row for row in log["orders"] if row["parameters"] == {"name": name}]
        assert [(row["operator"], row["outcome"]) for row in rows] == [
            ("ada", "done"),
            ("vic", "refused"),
        ]
        with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
            actors = connection.execute(
                "SELECT actor FROM audit_entry WHERE subject_id = %s", [made["data"]["id"]]
            ).fetchall()
            transactions = connection.execute(
                "SELECT xmin FROM audit_entry WHERE subject_id = %s UNION SELECT xmin"
                " FROM operator_order WHERE parameters ->> 'name' = %s AND outcome = 'done'",
                [made["data"]["id"], name],
            ).fetchall()
        assert (actors, len(transactions)) == ([("ada",)], 1)

    async def test_answers_while_kafka_is_unavailable(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:
            status, content = await request_json(session, "GET", f"{process.public}/api/v2/health")

        assert (status, content["error"]["code"]) == (401, "API_KEY_REQUIRED")

    async def test_keeps_a_connection_that_is_not_used_for_a_while(self, process: Api) -> None:
        port = int(process.public.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        for pause in (LONGER_THAN_COMMON_SECONDS, 0):
            writer.write(b"HEAD /api/v2/health HTTP/1.1\r\nhost: a\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401 ")
            await asyncio.sleep(pause)

        writer.close()

    async def test_stays_small(self, process: Api) -> None:
        async with aiohttp.ClientSession() as session:
            for _ in range(50):
                await request_json(session, "GET", f"{process.public}/api/v2/health")

        assert process.resident_mb() < RESIDENT_MB_MAX
