"""The reference in a browser, at /docs: Swagger UI 5.35.0 over the OpenAPI document.

All its files are here and are served by this host; its policy forbids requests to other hosts.
`tools/vendor_reference.py` brings in another release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Final

from starlette.responses import RedirectResponse, Response

ADDRESS: Final = "/docs"
START: Final = "/"
FOUND: Final = 302  # not permanent: a deployment may put another page there
# Styles are also written into elements, by the scripts that are allowed.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
SCRIPT: Final = "text/javascript; charset=utf-8"
CACHED: Final = "public, max-age=3600"


def reference_pages() -> Mapping[str, Callable[[], Response]]:
    """Return every address of the reference with what it answers."""
    return {
        START: partial(RedirectResponse, ADDRESS, FOUND),
        ADDRESS: partial(_file, "index.html", "text/html; charset=utf-8"),
        f"{ADDRESS}/start.js": partial(_file, "start.js", SCRIPT),
        f"{ADDRESS}/swagger-ui.js": partial(_compressed_file, "swagger-ui.js.gz", SCRIPT),
        f"{ADDRESS}/swagger-ui.css": partial(
            _compressed_file, "swagger-ui.css.gz", "text/css; charset=utf-8"
        ),
    }


def _file(name: str, content_type: str, **headers: str) -> Response:
    content = files(__name__).joinpath(name).read_bytes()
    return Response(content, headers={**HEADERS, **headers}, media_type=content_type)


def _compressed_file(name: str, content_type: str) -> Response:
    """Return what only browsers ask for: they all take gzip."""
    headers = {"content-encoding": "gzip", "cache-control": CACHED}
    return _file(name, content_type, **headers)
