"""Signatures that deposit, over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from swap_api.funding.usecases.authorize_deposit import AuthorizeDeposit
from swap_api.funding.usecases.read_authorization import ReadAuthorization
from swap_api.http.endpoints import Context
from swap_api.http.parameters import AuthorizeBody, parse_body, swap_id_of
from swap_api.http.requests import Request
from swap_api.http.responses import data_response


class AuthorizationEndpoints:
    def __init__(
        self, *, authorize_deposit: AuthorizeDeposit, read_authorization: ReadAuthorization
    ) -> None:
        self._authorize_deposit = authorize_deposit
        self._read_authorization = read_authorization

    async def authorize(self, request: Request, context: Context) -> Response:
        swap_id = swap_id_of(request)
        body, _ = parse_body(AuthorizeBody, await request.json_object())
        await self._authorize_deposit(
            context.caller,
            swap_id,
            body.signature,
            body.signer_address,
        )
        return data_response(await self._read_authorization(context.caller, swap_id))

    async def read(self, request: Request, context: Context) -> Response:
        return data_response(await self._read_authorization(context.caller, swap_id_of(request)))
