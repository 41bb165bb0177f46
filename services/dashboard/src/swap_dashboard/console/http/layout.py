"""What stands around every page of the console."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import HTMLResponse

from swap_dashboard.console.http.view import View
from swap_dashboard.console.http.visitors import Visitor, Visitors
from swap_dashboard.http.rendering import Pages
from swap_dashboard.ports import NewId


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    href: str
    text: str


GROUPS: Final = (
    (
        "Now",
        (
            Entry("overview", "/", "Overview"),
            Entry("approvals", "/approvals", "Approvals"),
            Entry("stuck", "/stuck", "Stuck swaps"),
            Entry("parked", "/parked", "Parked messages"),
        ),
    ),
    (
        "Money",
        (
            Entry("claimables", "/claimables", "Claimables"),
            Entry("rescues", "/rescues", "Rescues"),
            Entry("payments", "/payments", "Payments"),
            Entry("balances", "/balances", "Balances"),
            Entry("losses", "/losses", "Losses"),
        ),
    ),
    (
        "Limits",
        (
            Entry("stops", "/stops", "Stops and networks"),
            Entry("caps", "/caps", "Caps"),
            Entry("blocked", "/blocked", "Blocked addresses"),
        ),
    ),
    (
        "System",
        (
            Entry("signers", "/signers", "Signers"),
            Entry("invariants", "/invariants", "Invariants"),
            Entry("recovery", "/recovery", "Recovery"),
            Entry("log", "/log", "Log of orders"),
        ),
    ),
)


class Layout:
    def __init__(self, pages: Pages, *, new_id: NewId) -> None:
        self._pages = pages
        self._new_id = new_id

    def plain(
        self,
        page: str,
        values: Mapping[str, Any],
        *,
        title: str,
        status: int = 200,
        form_token: str = "",
    ) -> HTMLResponse:
        """Render a page without a session."""
        around = {"title": title, "form_token": form_token}
        return self._pages.render(f"console/{page}", {**around, **values}, status=status)

    def page(
        self,
        view: View,
        visitor: Visitor,
        *,
        section: str,
        name: str = "page.html",
        status: int = 200,
        **values: Any,
    ) -> HTMLResponse:
        """Render a page with the way to all others.

        :param section: the part of the console that is marked as the present one.
        """
        around = {
            "title": view.title,
            "view": view,
            "section": section,
            "groups": GROUPS,
            "session": visitor.session,
            "form_token": visitor.form_token,
            "new_id": self._new_id,
        }
        return self._pages.render(f"console/{name}", {**around, **values}, status=status)


class ConsolePages:
    """A section of the console: pages that read."""

    def __init__(self, layout: Layout, visitors: Visitors) -> None:
        self._layout = layout
        self._visitors = visitors
