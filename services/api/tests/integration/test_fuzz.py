"""Schemathesis against the served document, with the keys of two tenants.

A few examples of each operation in seconds; for FUZZ_SECONDS with `make test-fuzz`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_factories import a_body
from api_harness import App, Harness, start
from fake_webhooks import FakeWebhooks
from tenants import Tenant, a_tenant

from swap_api.model.keys import KeyKind
from swap_runtime.http.asgi import AsgiServer

pytestmark = [pytest.mark.connected, pytest.mark.timeout(3600)]

FUZZ = Path(__file__).parents[1] / "fuzz"
SHORT_SECONDS = 30
SECONDS = int(os.environ.get("FUZZ_SECONDS", "0"))
SEED = os.environ.get("FUZZ_SEED", "1")
# Pending swaps: a signature and an attached transfer belong to one swap.
WAITING = (
    a_body(use_depository=False),
    a_body(source_token="USDC", use_gasless=True, amount=25.5, use_depository=False),
)


class RunningApi:
    """The api with two tenants, in a thread with a separate event loop."""

    def __init__(self, *connections: Any) -> None:
        self._connections = connections
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])
        self.port = 0
        self.tenants: list[dict[str, Any]] = []

    def __enter__(self) -> RunningApi:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def _serve(self) -> None:
        harness = start(*self._connections, limits_lifted=True)
        webhooks = FakeWebhooks()
        harness.parts.management.manage_webhooks._endpoints = webhooks
        await harness.parts.funding.offers.gasless.refresh()
        for _ in range(2):
            tenant = await a_tenant(harness, webhooks)
            # The fuzzer may close its own key, so a separate one is used here.
            key = await harness.another_key(tenant.secret, KeyKind.SECRET)
            waiting = [await _created(harness, tenant.secret, body) for body in WAITING]
            self.tenants.append(_described(tenant, key.key, waiting))
        await harness.client.get("/openapi.json")  # built once, which is slow
        server = AsgiServer(harness.parts.app, "127.0.0.1", 0)
        self.port = await server.start()
        self._ready.set()
        await self._ended.wait()
        await server.stop()
        await harness.stop()


async def _created(api: Harness, app: App, body: dict[str, Any]) -> str:
    answer = await api.create(app, body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["swap"]["id"])


def _described(tenant: Tenant, key: str, waiting: list[str]) -> dict[str, Any]:
    return {
        "key": key,
        "token": tenant.owner.token,
        "values": dict(tenant.values),
        "swaps": [tenant.values["swapId"], *waiting],
        "marks": sorted({*tenant.marks, *waiting}),
    }


@pytest.fixture
def running_api(database_url: str, valkey: Any, catalogue_file: Path) -> Iterator[RunningApi]:
    with RunningApi(
        database_url, f"redis://127.0.0.1:{valkey.port}/0", catalogue_file
    ) as running_api:
        yield running_api


@pytest.mark.slow
def test_schemathesis_finds_no_violation(running_api: RunningApi, tmp_path: Path) -> None:
    tenants = tmp_path / "tenants.json"
    tenants.write_text(json.dumps(running_api.tenants[:: -1 if int(SEED) % 2 else 1]))
    for file in (FUZZ / "hooks.py", FUZZ / "schemathesis.toml"):
        shutil.copy(file, tmp_path)  # it stores its findings in its folder
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file=schemathesis.toml"),
        *("run", f"http://127.0.0.1:{running_api.port}/openapi.json"),
        *("--seed", SEED, "--max-time", str(SECONDS or SHORT_SECONDS)),
        *("--suppress-health-check", "all", "--report-dir", str(tmp_path)),
    ]
    if not SECONDS:
        command += ["--phases", "examples,coverage,fuzzing"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "FUZZ_TENANTS": str(tenants)},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout[-6000:])

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
