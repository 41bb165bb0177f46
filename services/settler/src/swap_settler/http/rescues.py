"""What came by a transaction and no swap has, below `/admin`."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from swap_settler.http.signers import Hash
from swap_settler.usecases.rescue_tokens import RescueTokens, Return

HASH: Final[TypeAdapter[str]] = TypeAdapter(Hash)


class ReturnOrder(BaseModel):
    """Who gets it back, who says so and how that is known; which, if there is more than one."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    to_address: str = Field(min_length=1, max_length=100)
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)
    token: str | None = Field(default=None, max_length=100)
    from_address: str | None = Field(default=None, max_length=100)


class RescueAdmin:
    def __init__(self, rescue_tokens: RescueTokens) -> None:
        self._rescue_tokens = rescue_tokens

    async def show(self, request: web.Request) -> web.Response:
        """Answer `GET /admin/rescues/{network}/{hash}`."""
        return await self._answer(request, None)

    async def order(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/rescues/{network}/{hash}`."""
        try:
            asked = ReturnOrder.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        return await self._answer(request, Return(**asked.model_dump()))

    async def _answer(self, request: web.Request, back: Return | None) -> web.Response:
        try:
            transaction_hash = HASH.validate_python(request.match_info["hash"])
        except ValidationError as error:
            return _wrong(error)
        network = request.match_info["network"]
        came = await self._rescue_tokens(network, transaction_hash, back=back)
        return web.json_response({"came": list(came)})


def _wrong(error: ValidationError) -> web.Response:
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "hash"
    return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
