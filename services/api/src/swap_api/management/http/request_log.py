"""The log of an app's requests over HTTP."""

from __future__ import annotations

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.http.answers import actor_of, listed_without_pages
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
        return listed_without_pages(request, page.rows, has_more=page.has_more)
