"""What a form has done, for the page that the browser is sent to: shown once.

A secret that is shown once must survive the redirect, so that a reload repeats no form. It travels
in a cookie: sealed, bound to the session, for a minute, and removed by the page that shows it. It
is stored nowhere else, and an address never has it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.visitors import Member
from swap_dashboard.ports import Clock
from swap_runtime.sealing import Sealing, Unreadable

LIFETIME: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Flash:
    done: str = ""  # what was done
    about: str = ""  # what the secret is
    secret: str = ""


class Flashes:
    def __init__(self, cookies: Cookies, sealing: Sealing, *, clock: Clock) -> None:
        self._cookies = cookies
        self._sealing = sealing
        self._clock = clock

    def redirect(self, member: Member, path: str, flash: Flash) -> Response:
        """Send the browser to a page that shows the flash."""
        until = (self._clock() + LIFETIME).timestamp()
        text = json.dumps({"path": path, "until": until, **asdict(flash)})
        sealed = self._sealing.seal(text, owner_id=member.visitor.session.id)
        response = RedirectResponse(path, status_code=303)
        self._cookies.write_flash(response, sealed, max_age=int(LIFETIME.total_seconds()))
        return response

    async def show(
        self, request: Request, member: Member, page: Callable[[Flash | None], Awaitable[Response]]
    ) -> Response:
        """Return a page with what it is to show, and remove that from the browser.

        :param page: makes the page; of None for most requests.
        """
        flash = self._read(request, member)
        response = await page(flash)
        if flash is not None:
            self._cookies.remove_flash(response)
        return response

    def _read(self, request: Request, member: Member) -> Flash | None:
        sealed = self._cookies.flash(request)
        if not sealed:
            return None
        try:
            text = self._sealing.open_once(sealed, owner_id=member.visitor.session.id)
        except Unreadable:
            return None
        content = json.loads(text)
        path, until = content.pop("path"), content.pop("until")
        if path != request.url.path or self._clock().timestamp() > until:
            return None
        return Flash(**content)
