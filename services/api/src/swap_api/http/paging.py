"""Lists by pages: how many there are, and where the pages around this one are."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from swap_api.http.requests import Request
from swap_api.http.responses import data_response


def page_response(
    request: Request, data: bytes, *, page: int, total: int, has_more: bool
) -> Response:
    headers = {"x-total-count": str(total)}
    links = []
    if page > 1:
        links.append(_link(request, 1, "first"))
        links.append(_link(request, page - 1, "prev"))
    if has_more:
        links.append(_link(request, page + 1, "next"))
    if links:
        headers["link"] = ", ".join(links)
    return data_response(data, headers)


def _link(request: Request, page: int, relation: str) -> str:
    query = [(name, value) for name, value in request.query if name != "page"]
    return f'<{request.path}?{urlencode([*query, ("page", str(page))])}>; rel="{relation}"'
