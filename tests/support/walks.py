"""A walk over pages: each state is loaded once and checked for appearance, keyboard use and size.

A table of screens names the route of each, so a test can compare it with the routes of the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.cookiejar import Cookie
from typing import Any, Final

from starlette.routing import BaseRoute, Mount, Route

from tests.support.browser import Page
from tests.support.screens import LOOKS, RULES, WIDE, look, picture, show, violations

BYTES_MAX: Final = 100 * 1024
REQUESTS_MAX: Final = 10
COLOUR_RULES: Final = ("color-contrast", "link-in-text-block")  # the schemes differ in nothing else
MISSING: Final = "/nowhere"  # no page exists there
PARAMETER: Final = re.compile(r"{[^}]*}")
TABS_AT_ONCE: Final = 10
TABS_MAX: Final = 600
LOADED: Final = "document.readyState === 'complete' && !!document.querySelector('main')"
WEIGHT: Final = """
performance.getEntries().reduce((sum, entry) => sum + (entry.encodedBodySize || 0), 0)
"""
CUT: Final = (
    "[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)"
)
OPEN_DETAILS: Final = (
    "document.querySelectorAll('main details').forEach((one) => one.open = true); 1"
)
# The focus starts before the first element. A group of radio buttons is one stop. The position of
# an element is read on focus, because some are shown only then, or on blur. The browser scrolls to
# it after the event.
BEGIN_TABBING: Final = """
(() => {
  const start = document.createElement("span");
  start.tabIndex = -1;
  document.body.prepend(start);
  start.focus();
  const group = (one) =>
    [...document.getElementsByName(one.name)].filter((e) => e.form === one.form);
  const isStop = (one) => one.tabIndex >= 0 && !one.disabled && one.type !== "hidden"
    && one.checkVisibility({ visibilityProperty: true })
    && (one.type !== "radio" || one === (group(one).find((e) => e.checked) ?? group(one)[0]));
  const selector = "a[href], button, input, select, textarea, summary, [tabindex]";
  const left = new Set([...document.querySelectorAll(selector)].filter(isStop));
  const name = (one) => one.outerHTML.slice(0, 120);
  const hasRing = (one) => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  };
  const isInView = (one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const [x, y] = [Math.max(left, 0) / 2 + Math.min(right, innerWidth) / 2,
                    Math.max(top, 0) / 2 + Math.min(bottom, innerHeight) / 2];
    const found = document.elementFromPoint(x, y);
    return !!found && (one.contains(found) || found.contains(one));
  };
  const walk = window.walk = { left, unseen: [], hidden: null, names: () => [...left].map(name) };
  walk.leave = () => {
    const { hidden } = walk;
    if (hidden && !isInView(hidden)) walk.unseen.push("out of view: " + name(hidden));
    walk.hidden = null;
  };
  document.addEventListener("focusin", ({ target }) => {
    walk.leave();
    if (![target, target.closest("label")].some((one) => one && hasRing(one)))
      walk.unseen.push("no visible focus: " + name(target));
    left.delete(target);
    walk.hidden = isInView(target) ? null : target;
  });
})(); 1
"""
END_TABBING: Final = """
walk.leave();
JSON.stringify([...walk.names().map((one) => "not reached: " + one), ...walk.unseen])
"""


@dataclass(frozen=True, slots=True)
class Screen:
    """A page, or one state of it.

    :ivar route: as in the table of routes, with names of the walk's ids.
    :ivar visitor: the visitor; empty without a session.
    :ivar of: the ids that fill the route, where there are several.
    :ivar form: the action of a form that is sent first; the state is its answer.
    :ivar fields: of the form; ids of the walk fill them, too.
    :ivar is_next: whether it begins on the page of the screen before it, without loading one.
    """

    name: str
    route: str
    query: str = ""
    visitor: str = ""
    of: str = ""
    form: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    is_next: bool = False


def seen_by(visitor: str, *screens: Screen) -> tuple[Screen, ...]:
    return tuple(replace(screen, visitor=visitor) for screen in screens)


def page_routes(routes: Iterable[BaseRoute]) -> set[str]:
    """Return the routes that are read, without the names of their parameters."""
    found = set()
    for route in routes:
        assert isinstance(route, Route | Mount), route
        if isinstance(route, Mount) or "GET" in (route.methods or ()):
            found.add(shape(route.path))
    return found


def shape(route: str) -> str:
    return PARAMETER.sub("{}", route)


def find_unwalked(
    routes: Iterable[BaseRoute], screens: Iterable[Screen], not_pages: Iterable[str]
) -> set[str]:
    """Return routes that are missing in the tables, and entries of the tables without a route."""
    named = {shape(screen.route) for screen in screens} | {shape(one) for one in not_pages}
    return page_routes(routes) ^ (named - {MISSING})


def form_routes(routes: Iterable[BaseRoute]) -> set[str]:
    """Return the routes that receive forms and scripts."""
    return {
        route.path
        for route in routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    }


def unwalked_forms(
    routes: Iterable[BaseRoute], screens: Iterable[Screen], redirects: Iterable[str]
) -> set[str]:
    """Return the forms that no screen sends, and what the redirects name and is no such form.

    :param redirects: the forms that answer with another page instead of their own.
    """
    forms = [one for one in routes if isinstance(one, Route) and "POST" in (one.methods or ())]
    sent = {_route_of(screen.form, forms) for screen in screens if screen.form}
    return sent ^ set(redirects) ^ {one.path for one in forms}


def _route_of(action: str, forms: Iterable[Route]) -> str:
    """Return the route of a form's action: the first that matches, as the process finds it."""
    path = PARAMETER.sub("1", action.partition("?")[0])
    return next((one.path for one in forms if one.path_regex.match(path)), action)


class Walk:
    """A browser that checks the screens of one site, and the faults that it finds."""

    def __init__(
        self,
        page: Page,
        url: str,
        *,
        visitors: Mapping[str, Iterable[Cookie]] | None = None,
        ids: Mapping[str, Mapping[str, str]],
        may_cut_tables: bool = False,
    ) -> None:
        """
        :param visitors: the cookies of each.
        :param ids: the values of routes, by `Screen.of`.
        :param may_cut_tables: whether a table may be wider than its frame on a wide screen.
        """
        self._page = page
        self._url = url
        self._visitors = visitors or {}
        self._ids = ids
        self._may_cut_tables = may_cut_tables
        self._visitor = ""
        self.faults: list[Any] = []

    async def over(self, screens: Sequence[Screen]) -> None:
        for screen in screens:
            await self._open(screen)
            await self._measure(screen)
            await self._page.value(OPEN_DETAILS)
            for scheme, width in LOOKS:
                await self._look(screen, scheme, width)
            await look(self._page, *LOOKS[0])
            await self._tab(screen)

    async def _open(self, screen: Screen) -> None:
        page = self._page
        await look(page, *LOOKS[0])
        if not screen.is_next:
            await self._become(screen.visitor)
            path = (screen.route + screen.query).format_map(self._ids[screen.of])
            page.requests.clear()
            await show(page, self._url + path)
        if screen.form:
            page.requests.clear()
            await self._send(screen)

    async def _become(self, visitor: str) -> None:
        if visitor == self._visitor:
            return
        await self._page.send("Network.clearBrowserCookies")
        for cookie in self._visitors[visitor] if visitor else ():
            await self._page.send(
                "Network.setCookie", name=cookie.name, value=cookie.value, url=self._url
            )
        self._visitor = visitor

    async def _send(self, screen: Screen) -> None:
        page = self._page
        form = f"form[action={json.dumps(screen.form.format_map(self._ids[screen.of]))}]"
        for name, template in screen.fields.items():
            value = template.format_map(self._ids[screen.of])
            entered = json.dumps(value)
            filled = (
                f"document.querySelector({json.dumps(f'{form} [name={name}]')}).value = {entered}"
            )
            if await page.value(filled) != value:
                shown = await page.value("document.body.innerText")
                raise AssertionError(f"{screen.name}: {form} has no {name} in {shown}")
        sent = f"document.querySelector({json.dumps(form)}).requestSubmit()"
        await page.value(f"window.isLeaving = true; {sent}; 1")
        await page.until(f"!window.isLeaving && {LOADED}")

    async def _measure(self, screen: Screen) -> None:
        size, requests = await self._page.value(WEIGHT), list(self._page.requests)
        if size > BYTES_MAX:
            self._add(screen, f"{size} bytes")
        if len(requests) > REQUESTS_MAX:
            self._add(screen, requests)
        if other_hosts := [one for one in requests if not one.startswith((self._url, "data:"))]:
            self._add(screen, other_hosts)

    async def _look(self, screen: Screen, scheme: str, width: int) -> None:
        page, seen = self._page, f"{scheme} {width}"
        await look(page, scheme, width)
        for one in await violations(page, RULES if scheme == "light" else COLOUR_RULES):
            self._add(screen, seen, one)
        # Not `innerWidth`, because it grows with overflowing content on a phone.
        if await page.value(f"document.documentElement.scrollWidth > {width}"):
            self._add(screen, seen, "wider than the screen")
        if width == WIDE and not self._may_cut_tables and await page.value(CUT):
            self._add(screen, seen, "a table is cut")
        await picture(page, f"{screen.name}-{scheme}-{width}")

    async def _tab(self, screen: Screen) -> None:
        """Press the tab key until all elements were reached, or no new one is reached."""
        page = self._page
        await page.value(BEGIN_TABBING)
        for _ in range(TABS_MAX // TABS_AT_ONCE):
            before = await page.value("walk.left.size")
            if not before:
                break
            await press_tab(page, TABS_AT_ONCE)
            if await page.value("walk.left.size") == before:
                break
        for fault in json.loads(await page.value(END_TABBING)):
            self._add(screen, fault)

    @property
    def report(self) -> str:
        return "\n".join(map(str, self.faults))

    def _add(self, screen: Screen, *fault: Any) -> None:
        self.faults.append((screen.name, *fault))


async def press_tab(page: Page, times: int = 1) -> None:
    key = {"type": "keyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    await page.send_each("Input.dispatchKeyEvent", [key] * times)


def is_status(complaint: str) -> bool:
    """Return whether a console error is about the status of an expected refusal page."""
    return "Failed to load resource: the server responded with a status of 4" in complaint or (
        "Failed to load resource: the server responded with a status of 503" in complaint
    )
