"""What an app may, over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of
from swap_api.http.requests import Request
from swap_api.management.http.organizations import actor_of, json_response
from swap_api.management.usecases.read_app_limits import ReadAppLimits


class AppLimitEndpoints:
    def __init__(self, read_app_limits: ReadAppLimits) -> None:
        self._read_app_limits = read_app_limits

    async def limits(self, request: Request, context: Context) -> Response:
        return json_response(
            await self._read_app_limits(id_of(request, "appId"), actor=actor_of(context))
        )
