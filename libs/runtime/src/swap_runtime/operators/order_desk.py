"""Takes what operators order: who may, what needs a second operator, and the log of all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused, SwapError, Unavailable
from swap_runtime.operators.admin_routes import (
    AdminRoute,
    Handler,
    OperatorOrder,
    OrderRoute,
    operator_of,
)
from swap_runtime.operators.identities import Operator, Operators
from swap_runtime.operators.operator_log import (
    LISTED_MAX,
    LoggedOrder,
    OperatorLog,
    OrderOutcome,
    carrying_out,
    without_secrets,
)
from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_number,
    read_place,
    read_query_uuid,
)
from swap_runtime.operators.proposals import Proposal, Proposals, end_proposal, proposal_to_json
from swap_runtime.postgres.database import Engine, Transaction

Work = Callable[[], Awaitable[Response]]
# The data of the token and of a separate column.
NOT_PARAMETERS: Final = frozenset({"by", "reason"})
log = structlog.get_logger()


class OrderDesk:
    """Every order passes here, whichever route it has."""

    def __init__(
        self,
        engine: Engine,
        *,
        operators: Operators,
        proposals: Proposals,
        new_id: Callable[[], UUID],
    ) -> None:
        self._log = OperatorLog(engine)
        self._operators = operators
        self._proposals = proposals
        self._new_id = new_id
        self._routes: dict[str, OrderRoute] = {}

    def routes(self, orders: Sequence[OrderRoute]) -> Iterator[AdminRoute]:
        """Yield the routes of the orders, the log, the identity, and the approvals if needed."""
        self._routes = {route.action: route for route in orders}
        yield AdminRoute("GET", "/identity", _show_identity)
        yield AdminRoute("GET", "/audit", self._list_log)
        for route in orders:
            handler = partial(self._order, route)
            yield AdminRoute("POST", route.path, handler, logs_itself=True)
        if any(route.needs_second for route in orders):
            yield AdminRoute("GET", "/approvals", self._list_proposals)
            yield AdminRoute("GET", "/approvals/{id}", self._show_proposal)
            approve, reject = "/approvals/{id}/approve", "/approvals/{id}/reject"
            yield AdminRoute("POST", approve, self._approve, logs_itself=True)
            yield AdminRoute("POST", reject, self._reject, logs_itself=True)

    def guard(self, route: AdminRoute) -> Handler:
        """Return the handler of a route for the roles that may use it, with its log."""

        async def handle(request: Request) -> Response:
            operator = operator_of(request)
            if operator.role in route.opens_to:
                if route.method == "GET" or route.logs_itself:
                    return await route.handler(request)
                logged = await self._start_log(request, f"{route.method} {route.path}")
                return await self._carry_out(logged, lambda: route.handler(request))
            words = f"the role {operator.role.value} may not do this"
            if route.method != "GET":
                logged = await self._start_log(request, f"{route.method} {route.path}")
                await self._write_end(logged, OrderOutcome.REFUSED, words)
            return JSONResponse({"error": words}, status_code=403)

        return handle

    async def _order(self, route: OrderRoute, request: Request) -> Response:
        """Carry an order out, or store it until a second operator approves it."""
        logged = await self._start_log(request, route.action)
        order = OperatorOrder(
            by=logged.operator.name,
            target=dict(request.path_params),
            body=await request.body(),
        )

        async def work() -> Response:
            why = None if route.needs_second is None else await route.needs_second(order)
            if why is None:
                return await route.carry_out(order)
            _require_named(logged.operator)
            stored = order if route.add_facts is None else await route.add_facts(order)
            proposal_id = self._new_id()
            logged.proposal_id = proposal_id
            await self._proposals.propose(proposal_id, stored, logged, why=why)
            proposed = await self._proposals.find(proposal_id)
            return JSONResponse(
                {"proposal": proposed and proposal_to_json(proposed)}, status_code=202
            )

        return await self._carry_out(logged, work)

    async def _approve(self, request: Request) -> Response:
        """Carry out what another operator ordered, with the guards of this moment."""
        proposal = await self._find(request)
        logged = await self._start_log(request, "POST /approvals/{id}/approve")
        if proposal is None:
            return await self._carry_out(logged, _no_such_proposal)
        approver, id = logged.operator.name, proposal.id
        logged.proposal_id = id
        own = {} if logged.reason is None else {"approved_because": logged.reason}
        logged.parameters = {"action": proposal.action, **_parameters(proposal), **own}
        logged.reason = proposal.reason

        async def end(connection: Transaction) -> None:
            await end_proposal(connection, id, by=approver, outcome="approved")

        logged.end_proposal = end
        order = OperatorOrder(
            by=f"{proposal.proposed_by}, approved by {approver}",
            target=proposal.target,
            body=proposal.body,
            is_approved=True,
        )

        async def work() -> Response:
            _require_named(logged.operator)
            self._require_approvable(proposal, by=approver)
            return await self._routes[proposal.action].carry_out(order)

        return await self._carry_out(logged, work)

    def _require_approvable(self, proposal: Proposal, *, by: str) -> None:
        """
        :raises RequestRefused: when it is not open, or not another active operator's.
        """
        proposal.require_open()
        if proposal.proposed_by == by:
            raise RequestRefused("A different operator must approve this order")
        if not self._operators.is_active_named_operator(proposal.proposed_by):
            raise RequestRefused(
                f"{proposal.proposed_by} is no active operator any more: reject it"
            )
        if proposal.action not in self._routes:
            raise RequestRefused(f"this version has no order {proposal.action}: reject it")

    async def _reject(self, request: Request) -> Response:
        proposal = await self._find(request)
        logged = await self._start_log(request, "POST /approvals/{id}/reject")
        if proposal is None:
            return await self._carry_out(logged, _no_such_proposal)
        id = logged.proposal_id = proposal.id

        async def work() -> Response:
            await self._proposals.reject(id, logged)
            return JSONResponse({"rejected": str(id)})

        return await self._carry_out(logged, work)

    async def _carry_out(self, order: LoggedOrder, work: Work) -> Response:
        """Do the work, and log an end that the work's own transaction does not log."""
        try:
            with carrying_out(order):
                response = await work()
        except Unavailable as error:
            # It may have committed: a row `done` of the same order shows this.
            await self._write_end(order, OrderOutcome.FAILED, str(error))
            raise
        except SwapError as error:
            await self._write_end(order, OrderOutcome.REFUSED, str(error))
            raise
        except Exception as error:
            await self._write_end(order, OrderOutcome.FAILED, type(error).__name__)
            raise
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            await self._write_end(order, OrderOutcome.REFUSED, _words(response))
        elif not order.is_logged:
            await self._log.write(order, OrderOutcome.DONE)
        return response

    async def _write_end(self, order: LoggedOrder, outcome: OrderOutcome, detail: str) -> None:
        """Log what did not happen; the answer does not wait for a database that is away."""
        fields = {"operator": order.operator.name, "action": order.action, "detail": detail}
        log.warning("order not carried out", outcome=outcome.value, **fields)
        try:
            await self._log.write(order, outcome, detail)
        except Unavailable:
            log.exception("order not logged")

    async def _start_log(self, request: Request, action: str) -> LoggedOrder:
        body = _read(await request.body())
        parameters = {**request.path_params, **body}
        reason = parameters.get("reason")
        return LoggedOrder(
            id=self._new_id(),
            operator=operator_of(request),
            action=action,
            parameters=_shown_parameters(parameters),
            reason=reason if isinstance(reason, str) else None,
        )

    async def _find(self, request: Request) -> Proposal | None:
        try:
            return await self._proposals.find(UUID(request.path_params["id"]))
        except ValueError:
            return None

    @answers_wrong_queries
    async def _list_proposals(self, request: Request) -> Response:
        """Answer the open ones, of one `action` where it is named, the oldest first."""
        limit = read_limit(request, largest=LISTED_MAX)
        found = await self._proposals.list_open(
            action=request.query_params.get("action"),
            after=read_place(request, read_query_uuid),
            limit=limit + 1,
        )
        return answer_page("approvals", found, limit=limit, show=proposal_to_json, place=_place)

    async def _show_proposal(self, request: Request) -> Response:
        """Answer one of them, whatever became of it."""
        proposal = await self._find(request)
        if proposal is None:
            return await _no_such_proposal()
        return JSONResponse({"approval": proposal_to_json(proposal)})

    async def _list_log(self, request: Request) -> Response:
        before, limit = (
            read_number(request.query_params.get(name, "")) for name in ("before", "limit")
        )
        rows = await self._log.list_newest(
            before=before, limit=LISTED_MAX if limit is None else limit
        )
        return JSONResponse({"orders": list(rows)})


async def _show_identity(request: Request) -> Response:
    """Return the token's operator, for a client that has only the token."""
    operator = operator_of(request)
    return JSONResponse({"name": operator.name, "role": operator.role.value})


def _require_named(operator: Operator) -> None:
    """
    :raises RequestRefused: for the shared token: its holder may also have a named token.
    """
    if operator.is_shared:
        raise RequestRefused(
            "This order needs two operators of SWAP_OPERATORS; the shared token names no operator"
        )


async def _no_such_proposal() -> Response:
    return JSONResponse({"error": "no such proposal"}, status_code=404)


def _place(proposal: Proposal) -> Mapping[str, str]:
    return {"after_at": proposal.proposed_at.isoformat(), "after_id": str(proposal.id)}


def _parameters(proposal: Proposal) -> Mapping[str, Any]:
    return _shown_parameters({**proposal.target, **_read(proposal.body)})


def _shown_parameters(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    visible = {name: value for name, value in parameters.items() if name not in NOT_PARAMETERS}
    shown_parameters: Mapping[str, Any] = without_secrets(visible)
    return shown_parameters


def _read(body: bytes) -> Mapping[str, Any]:
    """Return the members of a body; what is not JSON is refused by the route."""
    try:
        content = orjson.loads(body or b"{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _words(response: Response) -> str:
    error = _read(bytes(response.body)).get("error")
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else f"status {response.status_code}"
