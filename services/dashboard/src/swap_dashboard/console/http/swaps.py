"""Stuck swaps, and one swap with all of the settler's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.console.http.layout import ConsolePages
from swap_dashboard.console.http.paging import next_page, page_query
from swap_dashboard.console.http.sign_in import to_id
from swap_dashboard.console.http.view import Cell, Part, Table, View, code, document, label, moment
from swap_dashboard.console.ports import ServiceName

SETTLER: Final = ServiceName.SETTLER
TITLES: Final = {
    "transitions": "Transitions",
    "deposits": "Deposits",
    "intents": "Payments",
    "attempts": "Transactions of payments",
    "taken": "Payments made elsewhere",
    "ledger": "Ledger",
    "balances": "Balances",
}
CODES: Final = ("_id", "_address", "_hash", "token", "signer")


class SwapPages(ConsolePages):
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/stuck", self.list_stuck),
            Route("/swaps", self.search),
            Route("/swaps/{id}", self.show),
        ]

    async def list_stuck(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        content = await visitor.api.get(SETTLER, "/stuck", page_query(request))
        rows = [
            [
                code(one["swap_id"], f"/swaps/{one['swap_id']}"),
                Cell(one["status"], "status"),
                moment(one["since"]),
            ]
            for one in content["stuck"]
        ]
        view = View(
            title="Stuck swaps",
            about="Swaps that are longer in one status than they may be.",
            parts=[Part("Stuck", table=Table(("Swap", "Status", "Since"), rows, "None is stuck."))],
            next_page=next_page(request, content),
            next_text="Later ones",
        )
        return self._layout.page(view, visitor, section="stuck")

    async def search(self, request: Request) -> Response:
        self._visitors.require(request)
        id = to_id(request.query_params.get("id", "").strip())
        return RedirectResponse(f"/swaps/{id}", status_code=303)

    async def show(self, request: Request) -> Response:
        visitor = self._visitors.require(request)
        id = to_id(request.path_params["id"])
        content = await visitor.api.get(SETTLER, f"/swaps/{id}")
        facts = [(label(name), _cell(name, value)) for name, value in content["swap"].items()]
        lists = [
            Part(title, table=_table(content[name]))
            for name, title in TITLES.items()
            if content.get(name)
        ]
        view = View(
            title=f"Swap {id}",
            crumbs=[("/stuck", "Stuck swaps")],
            parts=[Part("Swap", facts=facts), *lists],
        )
        return self._layout.page(view, visitor, section="stuck")


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(name, row.get(name)) for name in names] for row in rows]
    return Table([label(name) for name in names], cells)


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, str) and (name == "at" or name.endswith("_at") or name == "since"):
        return moment(value)
    if isinstance(value, str) and (name == "id" or name.endswith(CODES)):
        return code(value, f"/swaps/{value}" if name == "swap_id" else "")
    return document(value)
