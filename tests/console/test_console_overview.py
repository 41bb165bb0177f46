"""The overview of the console while services refuse, do not answer, or have nothing."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from swap_dashboard.console.ports import ServiceName
from tests.console.operator_services import ADDRESS, UNAVAILABLE_URL, Browser, Console, Services
from tests.plugins.postgres import Database
from tests.support.serving import serve

pytestmark = pytest.mark.connected
DOLLARS: Final = re.compile(r"\$[0-9.,]+")
WATCHER_ANSWERS: dict[str, Any] = {
    "/admin/identity": {"name": "ann", "role": "operator"},
    "/admin/networks": {"networks": []},
    "/admin/parked": {"parked": []},
    "/admin/approvals": {"approvals": []},
}

# The settler of the previous release names no kind of a backlog, no Treasury and no id of a cap.
SETTLER_ANSWERS: dict[str, Any] = {
    "/admin/identity": {"name": "ann", "role": "operator"},
    "/admin/assets": {"networks": ["A"], "assets": []},
    "/admin/balances": {
        "balances": [
            {
                "network": "A",
                "token": "0x0",
                "held_base_units": "2",
                "owed_base_units": "1",
                "treasury_base_units": "3",
            }
        ],
        "backlogs": [
            {
                "what": "refunds that are not final",
                "network": "A",
                "count": 1,
                "oldest_seconds": 9,
            }
        ],
    },
    "/admin/caps": {
        "caps": [
            {
                "network": "A",
                "token": None,
                "app_id": None,
                "counts": "usd_micros",
                "units": "5000000",
                "seconds": 60,
                "spent": "3000000",
                "waiting": 0,
                "set_at": "2026-01-01T00:00:00+00:00",
                "by": "ann",
                "reason": "a quiet week",
            }
        ]
    },
    "/admin/signers": {
        "signers": [
            {
                "network": "A",
                "address": "0x02",
                "next_nonce": 1,
                "open_slots": 1,
                "oldest_slot_seconds": 9,
                "halted": None,
                "resumed": None,
                "means": "it signs",
                "act": "no action is required",
            }
        ]
    },
}


async def refuse(_: Request) -> Response:
    return JSONResponse({"error": "this role reads nothing"}, 403)


async def answer(request: Request) -> Response:
    return JSONResponse(WATCHER_ANSWERS[request.url.path])


async def test_overview_names_a_refusal_once(database: Database) -> None:
    async with AsyncExitStack() as running:
        urls = dict.fromkeys(ServiceName, UNAVAILABLE_URL)
        for service, handler in (
            (ServiceName.SETTLER, refuse),
            (ServiceName.CHAIN_WATCHER, answer),
        ):
            site = Starlette(routes=[Route("/{path:path}", handler)])
            urls[service] = await running.enter_async_context(serve(site))
        console = Console(Services(database, urls), public_url=ADDRESS)
        running.push_async_callback(console.http.close)
        page = (await (await console.sign_in_as("ann")).get("/")).text

    assert page.count("settler refuses the request: this role reads nothing") == 1
    assert "No answer from api, dashboard, notifier, quoter:" in page
    assert "No network is read yet." in page


async def test_pages_are_shown_beside_a_settler_of_the_previous_release(database: Database) -> None:
    async with beside_settler(database, SETTLER_ANSWERS) as browser:
        overview = (await browser.get("/")).text
        balances = (await browser.get("/balances")).text
        treasury = await browser.get("/balances/treasury?network=A&token=0x0")
        signer = await browser.get("/signers/A/0x02")
        caps = (await browser.get("/caps")).text
        missing = [
            await browser.get(path)
            for path in ("/recovery/held", "/deposits/00000000-0000-0000-0000-000000000009")
        ]

    for page in (overview, balances):
        assert "refunds that are not final" in page
        assert "/balances/waiting" not in page
    assert (treasury.status_code, "Final block" in treasury.text) == (200, True)
    assert (signer.status_code, "Open nonces</h2>" in signer.text) == (200, False)
    assert "it signs" in signer.text
    for one in missing:
        assert (one.status_code, "of another release" in one.text) == (404, True)
    assert ("$3.00" in caps, "/spent" in caps) == (True, False)


async def test_loss_without_a_swap_links_to_none(database: Database) -> None:
    loss = {"at": "2026-11-25T00:00:00+00:00", "kind": "lost", "network": "A", "token": "0x0"}
    losses = {
        "span_seconds": 86_400,
        "networks": [],
        "entries": [{**loss, "base_units": "7", "swap_id": None}],
        "next": None,
    }

    async with beside_settler(database, {**SETTLER_ANSWERS, "/admin/losses": losses}) as browser:
        page = (await browser.get("/losses")).text

    assert "base units" in page
    assert "/swaps/None" not in page


async def test_payments_of_a_cap_in_dollars_add_up_to_what_is_spent(database: Database) -> None:
    [cap] = SETTLER_ANSWERS["/admin/caps"]["caps"]
    micros = (354_321, 350_000, 9_996)
    payments = [
        {
            "counts_until": "2026-01-01T00:01:00+00:00",
            "kind": "output",
            "units": str(one),
            "network": "A",
            "token": "0x0",
            "base_units": "7",
            "transaction_hash": None,
            "swap_id": None,
        }
        for one in micros
    ]
    spent = {**cap, "id": 7, "spent": str(sum(micros))}
    shown = {"/admin/caps/7/spent": {"cap": spent, "payments": payments, "next": None}}

    async with beside_settler(database, {**SETTLER_ANSWERS, **shown}) as browser:
        page = (await browser.get("/caps/7/spent")).text

    facts, _, rows = page.partition("Payments</h2>")
    assert DOLLARS.findall(facts) == ["$5.00", "$0.714317"]
    assert DOLLARS.findall(rows) == ["$0.354321", "$0.35", "$0.009996"]


@asynccontextmanager
async def beside_settler(database: Database, answers: Mapping[str, Any]) -> AsyncIterator[Browser]:
    """Yield a browser of a console, where only a settler with these answers runs."""

    async def answer(request: Request) -> Response:
        return JSONResponse(answers[request.url.path])

    # Other routes are not found, and the answer is no JSON.
    async with serve(Starlette(routes=[Route(path, answer) for path in answers])) as url:
        urls = {**dict.fromkeys(ServiceName, UNAVAILABLE_URL), ServiceName.SETTLER: url}
        console = Console(Services(database, urls), public_url=ADDRESS)
        try:
            yield await console.sign_in_as("ann")
        finally:
            await console.http.close()
