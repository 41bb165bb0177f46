"""What an operator has swept, below `/admin`."""

from __future__ import annotations

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.usecases.sweep_strangers import SweepOrder, SweepStrangers


class SweepBody(BaseModel):
    """What is to be swept from where, who says so and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    network: str
    address: str = Field(min_length=1, max_length=100)
    token: str = Field(min_length=1, max_length=100)
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class SweepAdmin:
    def __init__(self, sweep_strangers: SweepStrangers) -> None:
        self._sweep_strangers = sweep_strangers

    async def order(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/sweeps`."""
        try:
            asked = SweepBody.model_validate_json(await request.read())
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "body"
            return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
        await self._sweep_strangers(SweepOrder(**asked.model_dump()))
        return web.json_response({"ordered": True})
