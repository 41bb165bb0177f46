"""The log of an app's requests over HTTP."""

from __future__ import annotations

from urllib.parse import urlencode

import orjson
from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of, parse_query
from swap_api.http.requests import Request
from swap_api.http.responses import enveloped
from swap_api.management.http.organizations import actor_of
from swap_api.management.http.parameters import RequestsParameters
from swap_api.management.usecases.list_requests import ListRequests
from swap_api.request_log.decide.records import RequestFilter


class RequestLogEndpoints:
    def __init__(self, list_requests: ListRequests) -> None:
        self._list_requests = list_requests

    async def requests(self, request: Request, context: Context) -> Response:
        app_id = id_of(request, "appId")
        parameters = parse_query(RequestsParameters, request.query)
        wanted = RequestFilter(app_id=app_id, **parameters.model_dump())
        page = await self._list_requests(wanted, actor=actor_of(context))
        headers = {}
        if page.has_more:
            query = [(name, value) for name, value in request.query if name != "starting_after"]
            behind = urlencode([*query, ("starting_after", str(page.rows[-1]["id"]))])
            headers["link"] = f'<{request.path}?{behind}>; rel="next"'
        return enveloped(orjson.dumps(page.rows), headers)
