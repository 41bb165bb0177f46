"""The service from the view of its clients: over a real port, with a fake quoter."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from api_factories import a_body
from api_harness import Harness
from svix.webhooks import Webhook

from swap_sdk import ApiError, AsyncClient

pytestmark = pytest.mark.connected
WEBHOOK = '{"swap": {"id": "one", "status": "completed"}}'
TYPESCRIPT = Path(__file__).parents[4] / "sdk/typescript"


def a_delivery() -> dict[str, object]:
    """Return a webhook signed by the notifier's library."""
    secret, body, at = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", WEBHOOK, datetime.now(UTC)
    signature = Webhook(secret).sign("message-1", at, body)
    headers = {"id": "message-1", "timestamp": str(int(at.timestamp())), "signature": signature}
    return {
        "secret": secret,
        "body": body,
        "headers": {f"svix-{name}": value for name, value in headers.items()},
    }


def _noting(seen: list[int]) -> Callable[[httpx.Response], Awaitable[None]]:
    async def note(answer: httpx.Response) -> None:
        seen.append(answer.status_code)

    return note


class TestPythonClient:
    async def test_goes_from_a_price_to_a_swap_that_it_reads_and_lists(
        self, api: Harness, url: str
    ) -> None:
        body = a_body()
        ends = ("source_network", "source_token", "destination_network", "destination_token")
        route = {name: body[name] for name in ends}
        to = body["destination_address"]

        async with AsyncClient(url, (await api.an_app()).key) as swaps:
            networks = await swaps.networks("evm")
            limits = await swaps.limits(**route)
            quoted = await swaps.quote(amount="1.5", options={"use_depository": True}, **route)
            explained = await swaps.explained_quote(amount="1.5", **route)
            created = await swaps.create_swap(
                destination_address=to,
                amount="1.5",
                options={"use_depository": True, "reference_id": "order-1"},
                idempotency_key="order-1",
                **route,
            )
            again = await swaps.create_swap(
                destination_address=to,
                amount="1.5",
                options={"use_depository": True, "reference_id": "order-1"},
                idempotency_key="order-1",
                **route,
            )
            swap_id = created["swap"]["id"]
            read = await swaps.swap(swap_id, exclude_deposit_actions=True)
            steps = await swaps.deposit_actions(swap_id)
            listed = await swaps.swaps(to, statuses=["user_transfer_pending"])
            answered = await swaps.set_refund_address(swap_id, to)
            health = await swaps.health()

        assert route["source_network"] in {network["name"] for network in networks}
        assert limits["min_amount"] < 1.5 < limits["max_amount"]
        assert quoted["quote"]["requested_amount"] == 1.5
        assert explained["explanation"]["steps"]
        assert again["swap"]["id"] == swap_id
        assert (read["swap"]["id"], read["deposit_actions"]) == (swap_id, [])
        assert steps[0]["status"] == "action_required"
        assert [one["swap"]["id"] for one in listed] == [swap_id]
        assert answered["swap"]["id"] == swap_id
        assert health == {"status": "ok"}

    async def test_calls_every_other_endpoint(self, api: Harness, url: str) -> None:
        app, body = await api.an_app(), a_body(use_depository=True)
        swap_id = (await api.create(app, body)).json()["data"]["swap"]["id"]

        async with AsyncClient(url, app.key) as swaps:
            sources = await swaps.sources(destination_network=body["destination_network"])
            destinations = await swaps.destinations(source_network=body["source_network"])
            view = await swaps.next_action(swap_id)
            link = await swaps.pay_link(swap_id, may_set_refund_address=True)
            codes = {one["code"] for one in await swaps.errors()}
            await swaps.speed_up_deposit(swap_id, "0x" + "5f" * 32)
            with pytest.raises(ApiError, match="authoriz"):
                await swaps.authorize(
                    swap_id, signature="0x00", signer_address=body["destination_address"]
                )

        assert body["source_network"] in {network["name"] for network in sources}
        assert body["destination_network"] in {network["name"] for network in destinations}
        assert view["next_action"] is not None
        assert link["may_set_refund_address"]
        assert link["read_token"]
        assert "NOT_FOUND" in codes

    async def test_reads_again_only_what_has_changed(self, api: Harness, url: str) -> None:
        app = await api.an_app()
        swap_id = (await api.create(app, a_body())).json()["data"]["swap"]["id"]
        seen: list[int] = []

        async with AsyncClient(url, app.key) as swaps:
            swaps._http.event_hooks["response"].append(_noting(seen))
            first = await swaps.swap(swap_id)
            second = await swaps.swap(swap_id)

        assert second == first
        assert seen == [200, 304]

    async def test_names_the_invalid_parameter(self, api: Harness, url: str) -> None:
        async with AsyncClient(url, (await api.an_app()).key) as swaps:
            with pytest.raises(ApiError) as caught:
                await swaps.swap("not-a-uuid")

        assert caught.value.code == "VALIDATION_ERROR"
        assert caught.value.field_errors == {"swapId": "must be a UUID"}
        assert caught.value.request_id

    async def test_does_not_read_a_swap_of_another_tenant(self, api: Harness, url: str) -> None:
        mine = await api.create(await api.an_app(), a_body())

        async with AsyncClient(url, (await api.an_app()).key) as swaps:
            with pytest.raises(ApiError) as caught:
                await swaps.swap(mine.json()["data"]["swap"]["id"])

        assert caught.value.code == "NOT_FOUND"


class TestTypeScriptClient:
    @pytest.mark.skipif(
        not (TYPESCRIPT / "build/test").exists(), reason="`make test-sdk` builds it first"
    )
    async def test_passes_its_own_tests_against_the_service(self, api: Harness, url: str) -> None:
        environment = {
            "SWAP_URL": url,
            "SWAP_KEY": (await api.an_app()).key,
            "SWAP_BODY": json.dumps(a_body(amount=1.5)),
            "SWAP_DELIVERY": json.dumps(a_delivery()),
        }

        node = await asyncio.create_subprocess_exec(
            "node",
            "--test",
            "build/test/",
            cwd=TYPESCRIPT,
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await node.communicate()

        assert node.returncode == 0, output.decode()
        assert b"# skipped 0" in output
