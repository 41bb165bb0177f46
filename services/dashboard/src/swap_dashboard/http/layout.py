"""What stands around every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse

from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.visitors import Member, Visitor


class Layout:
    def __init__(self, pages: Pages, cookies: Cookies, *, has_bench: bool = False) -> None:
        """
        :param has_bench: whether a test bench is offered to members of test apps.
        """
        self._pages = pages
        self._cookies = cookies
        self._has_bench = has_bench

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
        return self._pages.render(page, {**around, **values}, status=status)

    def of_visitor(
        self,
        page: str,
        values: Mapping[str, Any],
        *,
        visitor: Visitor,
        title: str,
    ) -> HTMLResponse:
        """Render a page about the account, whatever organization it acts in."""
        around = {
            "title": title,
            "form_token": visitor.form_token,
            "session": visitor.session,
            "memberships": visitor.memberships,
        }
        return self._render(page, {**around, **values})

    def of_member(
        self,
        page: str,
        values: Mapping[str, Any],
        *,
        member: Member,
        title: str,
        section: str,
        app: Mapping[str, Any] | None = None,
    ) -> HTMLResponse:
        """Render a page of an organization, with the way to all others.

        :param section: the part of the site that is marked as the present one.
        :param app: what the page is about; the next visit begins with it.
        """
        shown = app or member.last_app or (member.apps[0] if member.apps else None)
        around = {
            "title": title,
            "section": section,
            "form_token": member.visitor.form_token,
            "session": member.visitor.session,
            "memberships": member.visitor.memberships,
            "member": member,
            "me": member.me,
            "apps": member.apps,
            "app": shown,
            "has_bench": self._has_bench,
        }
        response = self._render(page, {**around, **values})
        if app is not None:
            self._cookies.write_app(response, app["id"])
        return response

    def _render(self, page: str, values: Mapping[str, Any]) -> HTMLResponse:
        """Render a page; one that shows a problem answers a form that was not carried out."""
        return self._pages.render(page, values, status=422 if values.get("problem") else 200)
