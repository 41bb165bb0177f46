"""The kill switch, halts of networks and of loss budgets: set, lifted, resumed by an order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.domain.sessions import OrderDraft, SeenRow
from swap_dashboard.console.http.orders import OrderingPages, find_row, reason_of, require_field
from swap_dashboard.console.http.units import read_units
from swap_dashboard.console.http.view import (
    Cell,
    Field,
    OrderForm,
    Part,
    Table,
    View,
    badge,
    code,
    link,
    moment,
    network_link,
    number,
    part_of,
    plain,
    url_with,
    whole,
)
from swap_dashboard.console.ports import (
    OperatorApi,
    ServiceName,
    ServiceRefused,
    ServiceUnavailable,
)

SETTLER: Final = ServiceName.SETTLER
WATCHER: Final = ServiceName.CHAIN_WATCHER
EVERYWHERE: Final = "*"
KINDS: Final = {"signing": "stopped", "halt": "halted", "losses": "loss budget"}
STOPS: Final = ("Where", "Kind", "Since", "By", "Reason")
NETWORKS: Final = ("Network", "State", ">Head", ">Read", ">Final", ">Behind")
NO_WATCHER: Final = "The chain-watcher does not answer."
RESUME_HINT: Final = "It is refused while a node still contradicts what was published."
TAKE_BACK_LABEL: Final = "Transactions whose published logs were made up, one a line"


class StopPages(OrderingPages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/stops", self.list_all),
            Route("/stops/add", self.stop, methods=["POST"]),
            Route("/stops/lift", self.show_stop),
            Route("/stops/lift", self.lift, methods=["POST"]),
            Route("/networks/{network}", self.show_network),
            Route("/networks/{network}/resume", self.resume, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        stops, units, networks = await asyncio.gather(
            visitor.api.get(SETTLER, "/payouts/stops"),
            read_units(visitor.api),
            _watched_networks(visitor.api),
        )
        listed = [_stop(one) for one in stops["stops"]]
        rows = [_network(one) for one in networks]
        parts = [
            Part("Stops", table=Table(STOPS, listed, "Nothing is stopped.")),
            Part("Networks", table=Table(NETWORKS, rows, NO_WATCHER)),
            Part("Stop signing", forms=[_stop_form(sorted(units.networks))]),
        ]
        view = View(title="Stops and networks", parts=parts)
        return self._layout.page(view, visitor, section="stops")

    async def stop(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        where = require_field(fields, "network", "Where")
        network = None if where == EVERYWHERE else where
        draft = OrderDraft(
            service=SETTLER.value,
            path="/payouts/stop",
            body={"network": network, "reason": reason_of(fields)},
            title=f"Stop signing {_where(where)}",
            facts=[("Where", _where(where))],
            back="/stops",
            warning="Nothing is signed there from then on. What was signed is sent still.",
        )
        return self._orders.review(visitor, draft)

    async def show_stop(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/payouts/stops")
        one = find_row(
            content["stops"],
            kind=request.query_params.get("kind", ""),
            network=request.query_params.get("network", ""),
        )
        part = Part("Stop", facts=_facts(one), forms=[_lift_form(one)])
        title = f"Stop {_where(one['network'])}"
        view = View(title=title, crumbs=[("/stops", "Stops and networks")], parts=[part])
        return self._layout.page(view, visitor, section="stops")

    async def lift(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content = await visitor.api.get(SETTLER, "/payouts/stops")
        # Of the stop that the form showed, not of whichever is on now.
        one = find_row(
            content["stops"],
            kind=fields.get("kind", ""),
            network=fields.get("network", ""),
            at=fields.get("at", ""),
        )
        network = None if one["network"] == EVERYWHERE else one["network"]
        body = {"network": network, "stopped_at": one["at"], "reason": reason_of(fields)}
        if one["kind"] == "losses":
            body["is_of_losses"] = True
        draft = OrderDraft(
            service=SETTLER.value,
            path="/payouts/go",
            body=body,
            title=f"Lift the stop {_where(one['network'])}",
            facts=[
                ("Where", _where(one["network"])),
                ("Kind", KINDS[one["kind"]]),
                ("Stopped", str(one["at"])),
                ("By", str(one["by"])),
                ("Why it was stopped", str(one["reason"])),
            ],
            back="/stops",
            warning="What waits is signed and sent at once.",
        )
        return self._orders.review(visitor, draft)

    async def show_network(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(WATCHER, "/networks")
        one = find_row(content["networks"], network=request.path_params["network"])
        forms = [_resume_form(one)] if one["halted"] else []
        part = Part("Network", facts=_network_facts(one), forms=forms)
        crumbs = [("/stops", "Stops and networks")]
        view = View(title=str(one["network"]), crumbs=crumbs, parts=[part])
        return self._layout.page(view, visitor, section="stops")

    async def resume(self, request: Request) -> Response:
        visitor, fields = await self._visitors.read_order(request)
        content = await visitor.api.get(WATCHER, "/networks")
        name = request.path_params["network"]
        one = find_row(content["networks"], network=name)
        halted = one["halted"] or {"reason": "it is not halted", "at": ""}
        taken_back = fields.get("take_back", "").split()
        draft = OrderDraft(
            service=WATCHER.value,
            path=f"/networks/{part_of(one['network'])}/resume",
            body={"take_back": taken_back, "reason": reason_of(fields)},
            title=f"Resume {one['network']}",
            facts=[
                ("Network", str(one["network"])),
                ("Halted", str(halted["at"])),
                ("Why it was halted", str(halted["reason"])),
                ("Taken back", ", ".join(taken_back) or "nothing"),
            ],
            back=f"/networks/{part_of(one['network'])}",
            warning=RESUME_HINT,
            seen=SeenRow(
                WATCHER.value,
                "/networks",
                "networks",
                {"network": one["network"]},
                {"halted": one["halted"]},
            ),
        )
        return self._orders.review(visitor, draft)


async def _watched_networks(api: OperatorApi) -> Sequence[Mapping[str, Any]]:
    """Return the chain-watcher's answer; nothing while it is down: a stop must not wait for it."""
    try:
        networks: Sequence[Mapping[str, Any]] = (await api.get(WATCHER, "/networks"))["networks"]
    except (ServiceUnavailable, ServiceRefused):
        return ()
    return networks


def _where(network: str) -> str:
    return "everywhere" if network == EVERYWHERE else f"on {network}"


def _stop(one: Mapping[str, Any]) -> Sequence[Cell]:
    href = url_with("/stops/lift", kind=one["kind"], network=one["network"])
    if one["kind"] == "halt":
        href = f"/networks/{part_of(one['network'])}"
    return [
        link("everywhere" if one["network"] == EVERYWHERE else one["network"], href),
        badge(KINDS[one["kind"]], "warning" if one["kind"] == "signing" else "bad"),
        moment(one["at"]),
        plain(one["by"]),
        whole(one["reason"]),
    ]


def _facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    return [
        ("Where", plain(_where(one["network"]))),
        ("Kind", badge(KINDS[one["kind"]], "warning")),
        ("Since", moment(one["at"])),
        ("By", plain(one["by"])),
        ("Reason", whole(one["reason"])),
        ("What it means", plain(one["means"])),
    ]


def _stop_form(names: Sequence[str]) -> OrderForm:
    options = [(EVERYWHERE, "everywhere"), *((name, name) for name in names)]
    field = Field("network", "Where", kind="select", options=options)
    about = "Nothing is signed there; chains are watched and requests answered as before."
    return OrderForm("/stops/add", "Stop", fields=[field], about=about, is_danger=True)


def _lift_form(one: Mapping[str, Any]) -> OrderForm:
    fields = [Field(name, "", value=str(one[name]), kind="hidden") for name in ("kind", "at")]
    fields.append(Field("network", "", value=str(one["network"]), kind="hidden"))
    return OrderForm("/stops/lift", "Lift the stop", fields, question="Why is it safe to resume")


def _network(one: Mapping[str, Any]) -> Sequence[Cell]:
    return [
        network_link(one["network"]),
        network_state(one),
        number(one["head"]),
        number(one["cursor"]),
        number(one["finalized"]),
        number(one["lag_blocks"]),
    ]


def network_state(one: Mapping[str, Any]) -> Cell:
    """Return whether a network is read, as the chain-watcher reports it."""
    if one["halted"]:
        return badge("halted", "bad")
    if one["head"] is None:
        return badge("no node answers", "bad")
    return badge("read", "good") if one["lag_blocks"] is not None else badge("not read yet")


def _network_facts(one: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    halted = one["halted"] or {}
    return [
        ("State", network_state(one)),
        ("Halted", moment(halted.get("at"))),
        ("Why", whole(halted.get("reason"))),
        ("Head", number(one["head"])),
        ("Read to", number(one["cursor"])),
        ("Block", code(one["cursor_hash"])),
        ("Time of the block", moment(one["cursor_time"])),
        ("Final", number(one["finalized"])),
        ("Behind", number(one["lag_blocks"])),
    ]


def _resume_form(one: Mapping[str, Any]) -> OrderForm:
    field = Field(
        "take_back",
        TAKE_BACK_LABEL,
        kind="area",
        is_required=False,
        placeholder="0x…",
        hint=RESUME_HINT,
    )
    return OrderForm(f"/networks/{part_of(one['network'])}/resume", "Resume", [field])
