"""What an operator reads of balances, losses and invariants, below `/admin`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_domain.catalogue import Catalogue
from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_place,
    read_query_number,
    read_query_uuid,
)
from swap_settler.operator.decide.backlog import (
    Backlog,
    BacklogKind,
    Cover,
    Side,
)
from swap_settler.operator.decide.reports import InvariantResult
from swap_settler.operator.usecases.check_invariants import CheckInvariants
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.show_balances import ShowBalances
from swap_settler.records import place_of, without_place

BACKLOGS: Final = {
    BacklogKind.DEPOSITS: "deposits without an end",
    BacklogKind.REFUNDS: "refunds that are not final",
}


class BooksAdmin:
    def __init__(
        self,
        show_balances: ShowBalances,
        guard_losses: GuardLosses,
        check_invariants: CheckInvariants | None,
        *,
        catalogue: Catalogue,
    ) -> None:
        """
        :param check_invariants: None where the deployment names no queries.
        """
        self._show_balances = show_balances
        self._guard_losses = guard_losses
        self._check_invariants = check_invariants
        self._assets = _shown_assets(catalogue)
        self._networks = sorted(catalogue.networks)

    async def assets(self, _: Request) -> Response:
        """Answer `GET /admin/assets`: what amounts of base units are counted in."""
        return JSONResponse({"networks": self._networks, "assets": self._assets})

    async def balances(self, _: Request) -> Response:
        """Answer `GET /admin/balances`."""
        covers = await self._show_balances.covers()
        unsettled = await self._show_balances.find_unsettled()
        refunds = await self._show_balances.refunds()
        return JSONResponse(
            {
                "balances": [_shown_cover(cover) for cover in covers],
                "backlogs": [
                    *_shown_backlogs(BacklogKind.DEPOSITS, unsettled),
                    *_shown_backlogs(BacklogKind.REFUNDS, refunds),
                ],
            }
        )

    @answers_wrong_queries
    async def accounts(self, request: Request) -> Response:
        """Answer `GET /admin/balances/accounts`: a `side` of the cover of an asset."""
        query, limit = request.query_params, read_limit(request)
        side = query.get("side", "")
        if side not in list(Side):
            return JSONResponse({"error": "side is held, owed or free"}, status_code=400)
        found = await self._show_balances.accounts(
            query.get("network", ""),
            query.get("token", ""),
            Side(side),
            after=read_query_number(request, "after") or 0,
            limit=limit + 1,
        )
        return answer_page("accounts", found, limit=limit, show=without_place, place=place_of)

    @answers_wrong_queries
    async def waiting(self, request: Request) -> Response:
        """Answer `GET /admin/balances/waiting`: the backlog of one `kind` on a network."""
        query, limit = request.query_params, read_limit(request)
        kind = query.get("kind", "")
        if kind not in list(BacklogKind):
            return JSONResponse({"error": "kind is deposits or refunds"}, status_code=400)
        found = await self._show_balances.list_items(
            BacklogKind(kind),
            query.get("network", ""),
            after=read_place(request, read_query_uuid),
            limit=limit + 1,
        )
        return answer_page("waiting", found, limit=limit, show=without_place, place=place_of)

    @answers_wrong_queries
    async def losses(self, request: Request) -> Response:
        """Answer `GET /admin/losses`: the budgets, and a page of entries."""
        limit = read_limit(request)
        after = read_place(request, read_query_uuid)
        entries = await self._guard_losses.entries(after=after, limit=limit + 1)
        networks = await self._guard_losses.by_network()
        span_seconds = int(self._guard_losses.span.total_seconds())
        return answer_page(
            "entries",
            entries,
            limit=limit,
            show=without_place,
            place=place_of,
            further_members={"span_seconds": span_seconds, "networks": networks},
        )

    async def invariants(self, _: Request) -> Response:
        """Answer `GET /admin/invariants`."""
        if self._check_invariants is None:
            error = "this deployment names no queries: SWAP_SETTLER__INVARIANT_QUERIES"
            return JSONResponse({"error": error}, status_code=404)
        report = await self._check_invariants()
        results = [_shown_result(one) for one in report.results]
        return JSONResponse({"at": report.at.isoformat(), "invariants": results})


def _shown_assets(catalogue: Catalogue) -> Sequence[dict[str, Any]]:
    return [
        {
            "network": network.name,
            "token": token.address,
            "symbol": token.symbol,
            "decimals": token.decimals,
        }
        for network in catalogue.networks.values()
        for token in network.tokens
    ]


def _shown_cover(cover: Cover) -> dict[str, Any]:
    treasury = cover.treasury_base_units
    return {
        "network": cover.network,
        "token": cover.token,
        "held_base_units": str(cover.held_base_units),
        "owed_base_units": str(cover.owed_base_units),
        "treasury": cover.treasury,
        "treasury_base_units": None if treasury is None else str(treasury),
        "treasury_block": cover.block_number,
    }


def _shown_backlogs(kind: BacklogKind, backlogs: Sequence[Backlog]) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind.value,
            "what": BACKLOGS[kind],
            "network": one.network,
            "count": one.count,
            "oldest_seconds": int(one.oldest.total_seconds()),
        }
        for one in backlogs
    ]


def _shown_result(result: InvariantResult) -> dict[str, Any]:
    return {"name": result.name, "rows": list(result.rows), "failure": result.failure}
