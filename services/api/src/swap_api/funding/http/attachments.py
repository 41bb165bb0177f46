"""Transfers that named no swap, over HTTP."""

from __future__ import annotations

import re
from typing import Final

import orjson
from starlette.responses import Response

from swap_api.funding.usecases.attach_deposit import AttachDeposit
from swap_api.http.endpoints import Context
from swap_api.http.parameters import (
    AttachBody,
    TransferParameters,
    parse_body,
    parse_query,
    swap_id_of,
)
from swap_api.http.requests import Request
from swap_api.http.responses import data_response
from swap_api.model.refusals import Invalid

HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}")


class AttachmentEndpoints:
    def __init__(self, *, attach_deposit: AttachDeposit) -> None:
        self._attach_deposit = attach_deposit

    async def show(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        parameters = parse_query(TransferParameters, request.query)
        found = await self._attach_deposit.show(
            context.caller, swap_id, _hash(parameters.transaction_id)
        )
        return data_response(orjson.dumps([one.model_dump() for one in found]))

    async def attach(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        body, _ = parse_body(AttachBody, await request.json_object())
        transfer = await self._attach_deposit.attach(
            context.caller,
            swap_id,
            _hash(body.transaction_id),
            body.transfer_id,
            body.signature,
        )
        return data_response(orjson.dumps(transfer.model_dump()))


def _hash(text: str) -> str:
    if not HASH.fullmatch(text):
        raise Invalid.field("transaction_id", "is not the hash of a transaction")
    return text.lower()
