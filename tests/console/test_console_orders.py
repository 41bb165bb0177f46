"""Every order of the console: who is refused, and what each does when two operators give it.

Each is given by its form in a real browser, before real services.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.console.operator_services import BAD, OWNER, Console, Services, serve_operators
from tests.console.operators import Operators
from tests.console.test_console_screens import BROWSER, NO_AXE, NO_BROWSER, served
from tests.plugins.postgres import Database
from tests.support.browser import open_page
from tests.support.screens import AXE
from tests.support.walks import form_routes

pytestmark = [pytest.mark.connected, pytest.mark.timeout(600)]
NETWORK: Final = "BASE_DEVNET"
# Forms about the session of who is signed in: a viewer sends them as well.
OWN_FORMS: Final = {"/sign-out", "/sessions/end-all", "/sessions/{id}/end"}
CONFIRM: Final = "/orders/{id}"
# Orders that a browser gives elsewhere.
TESTED_ELSEWHERE: Final[Mapping[str, str]] = {
    CONFIRM: "each order here",
    "/approvals/{service}/{id}/{verb}": "each order here that needs two",
    "/rescues/{network}/{hash}/order": "test_console_rescues.py: it needs a chain",
}
Effect = Callable[[Services, Mapping[str, str]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """One order, and how the service answers afterwards.

    :ivar page: where its form is.
    :ivar needs_two: whether a second operator approves it. No price answers here, so whatever is
        worth something needs two.
    :ivar shows: what the operator reads before the confirmation.
    :ivar needs_a_node: whether it ends without being carried out, for no node answers here.
    """

    route: str
    page: str
    action: str
    fields: Mapping[str, str] = field(default_factory=dict)
    needs_two: bool = True
    needs_node: bool = False
    effect: Effect | None = None
    shows: str = ""
    service: str = "settler"


async def is_stopped(services: Services, _: Mapping[str, str]) -> bool:
    return [one["network"] for one in services.signing_stops()] == [NETWORK]


async def nothing_is_stopped(services: Services, _: Mapping[str, str]) -> bool:
    return services.signing_stops() == []


async def is_paid(services: Services, ids: Mapping[str, str]) -> bool:
    rows = services.call("vic", "/claimable")["claimable"]
    query = "SELECT to_address FROM intent WHERE kind = 'claim'"
    is_listed = ids["payable"] in {str(one["id"]) for one in rows}
    return not is_listed and await services.scalar(query) == OWNER


async def has_pass(services: Services, ids: Mapping[str, str]) -> bool:
    waiting = services.call("vic", "/payouts/queue")["waiting"]
    return all(one["is_let_through"] for one in waiting if one["intent_id"] == ids["queued"])


async def fee_is_paid(services: Services, ids: Mapping[str, str]) -> bool:
    query = "SELECT base_units = 2500000000000000 FROM intent WHERE kind = 'partner_fee'"
    return services.call("vic", "/fees")["fees"] == [] and bool(await services.scalar(query))


async def is_attached(services: Services, ids: Mapping[str, str]) -> bool:
    rows = services.call("vic", "/claimable")["claimable"]
    query = f"SELECT count(*) FROM deposit WHERE swap_id = '{ids['waiting']}'"
    is_listed = ids["claimable"] in {str(one["id"]) for one in rows}
    return not is_listed and await services.scalar(query) == 1


async def has_cap(services: Services, _: Mapping[str, str]) -> bool:
    caps = services.call("vic", "/caps")["caps"]
    return any((one["network"], one["units"]) == ("ETHEREUM_DEVNET", "7000000") for one in caps)


async def has_no_cap(services: Services, ids: Mapping[str, str]) -> bool:
    return not await has_cap(services, ids)


async def is_blocked(services: Services, _: Mapping[str, str]) -> bool:
    return [one["address"] for one in services.call("vic", "/blocked")["blocked"]] == [BAD]


async def nothing_is_blocked(services: Services, _: Mapping[str, str]) -> bool:
    return bool(services.call("vic", "/blocked")["blocked"] == [])


async def is_released(services: Services, ids: Mapping[str, str]) -> bool:
    state = services.call("vic", f"/parked/{ids['parked']}")["parked"]["state"]
    return state in ("releasing", "released", "parked")  # no consumer runs here


async def is_dropped(services: Services, ids: Mapping[str, str]) -> bool:
    return bool(services.call("vic", f"/parked/{ids['dropped']}")["parked"]["state"] == "dropped")


async def has_ended(services: Services, _: Mapping[str, str]) -> bool:
    [one] = services.call("vic", "/recovery")["recoveries"]
    return (one["state"], one["ended_by"]) == ("ended", "ann, approved by ben")


async def nothing_is_retained(services: Services, _: Mapping[str, str]) -> bool:
    return bool(services.call("vic", "/recovery")["retained"] == [])


ORDERS: Final = (
    Order(
        "/stops/add",
        "/stops",
        "POST /payouts/stop",
        {"network": NETWORK},
        needs_two=False,
        effect=is_stopped,
    ),
    Order(
        "/stops/lift",
        "/stops/lift?kind=signing&network={network}",
        "POST /payouts/go",
        effect=nothing_is_stopped,
    ),
    Order(
        "/claimables/{id:int}/pay",
        "/claimables/{payable}",
        "POST /claimable/{id}/pay",
        {"to_address": OWNER},
        effect=is_paid,
    ),
    Order(
        "/payments/queue/{id}/pass",
        "/payments/queue/{queued}",
        "POST /payouts/queue/{id}/pass",
        effect=has_pass,
        shows="the cap of ETH",
    ),
    Order(
        "/payments/fees/{id:int}/pay",
        "/payments/fees/{fee}",
        "POST /fees/{id}/pay",
        {"to_address": OWNER},
        effect=fee_is_paid,
    ),
    Order(
        "/claimables/{id:int}/attach",
        "/claimables/{claimable}",
        "POST /claimable/{id}/attach",
        {"swap_id": "{waiting}"},
        effect=is_attached,
    ),
    Order(
        "/caps/set",
        "/caps",
        "POST /caps",
        {"network": "ETHEREUM_DEVNET", "units": "7000000", "seconds": "3600"},
        needs_two=False,
        effect=has_cap,
    ),
    Order("/caps/lift", "/caps/one?network=ETHEREUM_DEVNET", "POST /caps/lift", effect=has_no_cap),
    Order(
        "/blocked/add",
        "/blocked",
        "POST /blocked",
        {"addresses": BAD},
        needs_two=False,
        effect=is_blocked,
    ),
    Order(
        "/blocked/lift",
        "/blocked/one?address={bad}",
        "POST /blocked/lift",
        effect=nothing_is_blocked,
    ),
    Order(
        "/parked/{service}/{id:int}/{verb}",
        "/parked/settler/{parked}",
        "POST /parked/{id}/release",
        needs_two=False,
        effect=is_released,
    ),
    Order(
        "/parked/{service}/{id:int}/{verb}",
        "/parked/settler/{dropped}",
        "POST /parked/{id}/drop",
        needs_two=False,
        effect=is_dropped,
    ),
    Order(
        "/payments/explain",
        "/payments",
        "POST /payouts/explain",
        {"network": NETWORK, "transaction_hash": f"0x{7:064x}"},
        needs_two=False,
        needs_node=True,
    ),
    Order(
        "/payments/sweep",
        "/payments",
        "POST /sweeps",
        {"network": NETWORK, "address": OWNER, "token": "ETH"},
        needs_two=False,
        needs_node=True,
    ),
    Order(
        "/signers/{network}/{address}/resume",
        "/signers/{network}/{signer}",
        "POST /signers/{network}/resume",
        needs_node=True,
    ),
    Order(
        "/networks/{network}/resume",
        "/networks/{network}",
        "POST /networks/{network}/resume",
        needs_node=True,
        service="chain_watcher",
    ),
    Order("/recovery/{id:int}/finish", "/recovery", "POST /recovery/{id}/finish", effect=has_ended),
    Order(
        "/recovery/retained/{id:int}/release",
        "/recovery/retained/{retained}",
        "POST /recovery/retained/{id}/release",
        effect=nothing_is_retained,
    ),
)


@pytest.fixture(scope="module")
def services(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with serve_operators(database, tmp_path_factory.mktemp("services")) as made:
        yield made


def test_every_form_route_is_in_a_table_of_orders(console: Console) -> None:
    ordered = {one.route for one in ORDERS} | set(TESTED_ELSEWHERE)

    assert form_routes(console.parts.site.routes) == ordered | OWN_FORMS | {"/sign-in"}


def path_of(route: str) -> str:
    return re.sub(r"{[^}]*}", "1", route)


async def test_forms_without_the_form_token_of_the_session_are_refused(console: Console) -> None:
    ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
    stolen, accepted = (await ben.hidden_fields("/sessions"))["form_token"], []
    routes = form_routes(console.parts.site.routes)
    for route in routes:
        for fields in ({}, {"form_token": ""}, {"form_token": stolen}):
            sent = {"reason": "as agreed", **fields}
            answer = await ann.client.post(path_of(route), data=sent)
            if answer.status_code != 403:
                accepted.append((route, fields, answer.status_code))
    signed_out = console.browser()
    locations = [
        (await signed_out.client.post(path_of(one), data={"form_token": stolen})).headers[
            "location"
        ]
        for one in routes - {"/sign-in"}
    ]

    assert accepted == []
    assert set(locations) == {"/sign-in?next=/"}
    assert (await ann.get("/sessions")).status_code == 200


async def test_orders_of_a_viewer_are_refused(console: Console, services: Services) -> None:
    vic, before = await console.sign_in_as("vic"), services.call("vic", "/audit")["orders"]
    hidden = await vic.hidden_fields("/sessions")
    accepted = []
    for route in form_routes(console.parts.site.routes) - OWN_FORMS - {"/sign-in"}:
        answer = await vic.client.post(path_of(route), data={"reason": "as agreed", **hidden})
        if answer.status_code != 403 or "Only operators can order" not in answer.text:
            accepted.append((route, answer.status_code))

    assert accepted == []
    assert services.call("vic", "/audit")["orders"] == before


@pytest.fixture
async def ids(services: Services) -> dict[str, str]:
    """Fill the services with what is ordered about."""
    made = {
        **await services.seed_payments(),
        "network": NETWORK,
        "bad": BAD,
        "waiting": await services.request_swap(99),
        "claimable": await services.receive_without_swap(95),
        "payable": await services.receive_without_swap(94),
        "parked": str(await services.park("a lock was held for too long")),
        "dropped": str(await services.park("it belongs to another installation")),
    }
    await services.halt_signer("nonce 7 was used elsewhere")
    await services.halt_network("a block was replaced that was final")
    [signer] = services.call("vic", "/signers")["signers"]
    made["signer"] = signer["address"]
    made["retained"] = await services.retain_hold(await services.begin_recovery())
    return made


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
@pytest.mark.slow
async def test_each_order_is_given_by_its_form_and_carried_out(
    services: Services, ids: Mapping[str, str], tmp_path: Path
) -> None:
    assert BROWSER is not None
    failed = []
    async with (
        served(services) as (url, cookies),
        open_page(BROWSER, tmp_path, "about:blank") as page,
    ):
        operators = Operators(page, url, cookies)
        for number, order in enumerate(ORDERS):
            reason = f"as agreed in case {number}"
            ended = await _give_order(operators, order, ids, reason)
            if fault := await _difference(services, order, ids, ended, reason):
                failed.append((order.action, *fault))
        complaints = list(page.complaints)

    assert failed == []
    assert complaints == []


async def _give_order(
    operators: Operators, order: Order, ids: Mapping[str, str], reason: str
) -> list[str]:
    """Return how the order ended, and how its approval did."""
    await operators.become("ann")
    fields = {name: value.format_map(ids) for name, value in order.fields.items()}
    verb = order.action.rpartition("/")[2] if "{verb}" in order.route else ""
    end = verb or order.route.rpartition("}")[2]
    page, fields = order.page.format_map(ids), {**fields, "reason": reason}
    answers = [await operators.order(page, end, fields, shows=order.shows)]
    if "A different operator approves it" in answers[0]:
        proposal = await operators.proposal()
        await operators.become("ben")
        answers.append(await operators.order(proposal, "/approve", {"reason": f"called: {reason}"}))
    return answers


async def _difference(
    services: Services, order: Order, ids: Mapping[str, str], ended: list[str], reason: str
) -> tuple[Any, ...]:
    """Return what is otherwise than the order's row says."""
    if (len(ended) == 2) is not order.needs_two:
        return ("two operators", ended)
    if ("Done." in ended[-1]) is order.needs_node:
        return ("the end", ended)
    if order.needs_node:
        return ()
    service = next(one for one in services.urls if one.value == order.service)
    rows = services.call("vic", "/audit", service=service)["orders"]
    ordered = {(row["action"], row["operator"]) for row in rows if row["reason"] == reason}
    if (order.action, "ann") not in ordered:
        return ("the log", rows[:3])
    if order.effect is not None and not await order.effect(services, ids):
        return ("the effect", ended)
    return ()
