"""A swap's past over HTTP: what happened, also live, what was booked, and its transactions."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import TransactionParameters, parse_query, swap_id_of
from swap_api.http.requests import Request
from swap_api.http.responses import LIVE, EventStreamResponse, data_response
from swap_api.swaps.usecases.read_history import ReadHistory
from swap_api.swaps.usecases.read_transaction_status import ReadTransactionStatus

DIGITS_MAX: Final = 18  # of any number that an event has


class HistoryEndpoints:
    def __init__(
        self, *, read_history: ReadHistory, read_transaction_status: ReadTransactionStatus
    ) -> None:
        self._read_history = read_history
        self._read_transaction_status = read_transaction_status

    async def events(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        if LIVE not in (request.header("accept") or ""):
            return data_response(await self._read_history.events(context.caller, swap_id))
        last = request.header("last-event-id") or ""
        is_number = last.isascii() and last.isdecimal() and len(last) <= DIGITS_MAX
        after = int(last) if is_number else 0
        return EventStreamResponse(
            await self._read_history.follow(context.caller, swap_id, after=after)
        )

    async def ledger(self, request: Request, context: Context) -> Response:
        return data_response(await self._read_history.ledger(context.caller, swap_id_of(request)))

    async def quotes(self, request: Request, context: Context) -> Response:
        return data_response(await self._read_history.quotes(context.caller, swap_id_of(request)))

    async def transaction_status(self, request: Request, context: Context) -> Response:
        parameters = parse_query(TransactionParameters, request.query)
        return data_response(
            await self._read_transaction_status(
                context.caller, parameters.network, parameters.transaction_id
            )
        )
