"""An app's webhook endpoints, what was sent to them, and what a member may do about it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.flashes import Flash, Flashes
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.paging import Page, place_of
from swap_dashboard.http.rendering import pretty_json, to_moment
from swap_dashboard.http.visitors import Member, Visitors, to_uuid
from swap_dashboard.http.webhook_view import (
    ATTEMPTS_SHOWN_MAX,
    attempts_of,
    disabled_from,
    first_delivery,
    is_cut,
    is_listener,
    plan_of,
)
from swap_dashboard.ports import ApiRefused

MESSAGES: Final = 20
BOUNDS: Final = ("since", "until")  # of a list, in UTC
HOURS: Final = 25  # a day begins and ends within an hour
ORDERS: Final = ("enable", "disable", "remove", "test")
MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?")
URL_IN_USE: Final = (
    "An enabled endpoint of this app has this URL already: each message would arrive there twice, "
    "with two signatures. To replace its secret, rotate it on its page."
)
STORED_FOR_LISTENER: Final = "is stored. A running swapctl listen forwards it."
App = Mapping[str, Any]


class WebhookPages:
    def __init__(
        self, layout: Layout, visitors: Visitors, member_forms: MemberForms, flashes: Flashes
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._forms = member_forms
        self._flashes = flashes

    def routes(self) -> Sequence[BaseRoute]:
        one = "/apps/{app_id}/webhooks/{webhook_id}"
        return [
            Route("/apps/{app_id}/webhooks", self.list_all),
            Route("/apps/{app_id}/webhooks", self.add, methods=["POST"]),
            Route(one, self.show),
            Route(f"{one}/events", self.choose_events, methods=["POST"]),
            Route(f"{one}/rotate", self.rotate, methods=["POST"]),
            Route(f"{one}/replay", self.replay, methods=["POST"]),
            Route(f"{one}/messages/{{message_id}}", self.show_message),
            Route(f"{one}/messages/{{message_id}}/replay", self.resend, methods=["POST"]),
            Route(f"{one}/{{order}}", self.order, methods=["POST"]),
        ]

    async def list_all(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        return await self._list(member, member.app_of(request))

    async def add(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        path, url = f"/apps/{app['id']}/webhooks", fields.get("url", "")
        needs_confirmation = (
            member.may_work_on(app) and "again" not in fields
        )  # the api refuses the others
        if needs_confirmation and await _has_enabled(member, path, url):
            return await self._list(member, app, problem=URL_IN_USE, entered=fields, is_twice=True)
        body = {"url": url, **events_of(fields)}
        try:
            made = (await member.api.post(path, body)).data
        except ApiRefused as error:
            return await self._list(member, app, problem=error.message, entered=fields)
        return self._show_secret(member, f"{path}/{made['id']}", made["secret"])

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        filters, after = read_filters(request), place_of(request)
        return await self._flashes.show(
            request,
            member,
            lambda flash: self._one(
                member, app, webhook, after=after, filters=filters, flash=flash
            ),
        )

    async def choose_events(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        try:
            await member.api.post(f"/webhooks/{webhook['id']}/events", events_of(fields))
        except ApiRefused as error:
            return await self._one(member, app, webhook, problem=error.message)
        return self._show_done(member, _path(app, webhook), "The events are changed.")

    async def rotate(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        try:
            made = (await member.api.post(f"/webhooks/{webhook['id']}/rotate")).data
        except ApiRefused as error:
            return await self._one(member, app, webhook, problem=error.message)
        return self._show_secret(member, _path(app, webhook), made["secret"])

    async def replay(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        since = fields.get("since", "")
        if not MOMENT.fullmatch(since):
            return await self._one(member, app, webhook, problem="Say since when, in UTC.")
        body = {"since": f"{since}Z", "undelivered_only": "undelivered_only" in fields}
        try:
            done = (await member.api.post(f"/webhooks/{webhook['id']}/replay", body)).data
        except ApiRefused as error:
            return await self._one(member, app, webhook, problem=error.message)
        number = done["replayed"]
        text = f"{number} message{'' if number == 1 else 's'} will be sent again."
        return self._show_done(member, _path(app, webhook), text)

    async def show_message(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        message_id = _message_id(request)
        return await self._flashes.show(
            request,
            member,
            lambda flash: self._message(member, app, webhook, message_id, flash=flash),
        )

    async def resend(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        message_id = _message_id(request)
        path = f"/webhooks/{webhook['id']}/messages/{message_id}"
        try:
            await member.api.post(f"{path}/replay")
        except ApiRefused as error:
            return await self._message(member, app, webhook, message_id, problem=error.message)
        done = (
            f"The message {STORED_FOR_LISTENER}"
            if is_listener(webhook)
            else "The message is sent again."
        )
        return self._show_done(member, f"/apps/{app['id']}{path}", done)

    async def order(self, request: Request) -> Response:
        member, _ = await self._forms.read(request)
        app = member.app_of(request)
        webhook = await _find(member, app, request)
        order = request.path_params["order"]
        if order not in ORDERS:
            raise ApiRefused(404, "NOT_FOUND", "There is nothing at this address")
        try:
            done = (await member.api.post(f"/webhooks/{webhook['id']}/{order}")).data
        except ApiRefused as error:
            return await self._one(member, app, webhook, problem=error.message)
        path = _path(app, webhook)
        if order == "remove":
            return RedirectResponse(f"/apps/{app['id']}/webhooks", status_code=303)
        if order == "test":
            # Its page shows the answer of the receiver as soon as there is one.
            target = f"{path}/messages/{done['message_id']}"
            state = STORED_FOR_LISTENER if is_listener(webhook) else "is under way."
            return self._show_done(member, target, f"The test event {state}")
        return RedirectResponse(path, status_code=303)

    def _show_secret(self, member: Member, path: str, secret: str) -> Response:
        about = "The secret that signs. It is shown this once: put it where your receiver reads it."
        return self._flashes.redirect(member, path, Flash(about=about, secret=secret))

    def _show_done(self, member: Member, path: str, text: str) -> Response:
        return self._flashes.redirect(member, path, Flash(done=text))

    async def _list(
        self,
        member: Member,
        app: App,
        *,
        problem: str | None = None,
        entered: Mapping[str, str] | None = None,
        is_twice: bool = False,
    ) -> Response:
        """
        :param entered: the form of an endpoint that was not added.
        :param is_twice: whether an enabled endpoint has its URL.
        """
        values = {
            "webhooks": (await member.api.get(f"/apps/{app['id']}/webhooks")).data,
            "problem": problem,
            "entered": entered or {},
            "is_twice": is_twice,
            "may_work": member.may_work_on(app),
        }
        return self._layout.of_member(
            "webhooks.html",
            values,
            member=member,
            app=app,
            title="Webhooks",
            section="webhooks",
        )

    async def _one(
        self,
        member: Member,
        app: App,
        webhook: Mapping[str, Any],
        *,
        after: str = "",
        filters: Mapping[str, str] | None = None,
        flash: Flash | None = None,
        problem: str | None = None,
    ) -> Response:
        path = f"/webhooks/{webhook['id']}/messages"
        filters = filters or {}
        query = {name: f"{value}Z" if name in BOUNDS else value for name, value in filters.items()}
        sent, figures = await asyncio.gather(
            member.api.get(path, {"starting_after": after, "page_size": MESSAGES, **query}),
            member.api.get(f"/apps/{app['id']}/webhooks/figures"),
        )
        own_path = f"/apps/{app['id']}{path.removesuffix('/messages')}"
        values = {
            "webhook": webhook,
            "is_listener": is_listener(webhook),
            "disabled_from": disabled_from(webhook),
            "messages": sent.data,
            "pager": Page.behind(own_path, after, sent, filters),
            "hours": hours_of(own_path, webhook["id"], figures.data),
            "filters": filters,
            "total": sent.total,
            "flash": flash,
            "problem": problem,
            "may_work": member.may_work_on(app),
        }
        return self._layout.of_member(
            "webhook.html",
            values,
            member=member,
            app=app,
            title="Webhook",
            section="webhooks",
        )

    async def _message(
        self,
        member: Member,
        app: App,
        webhook: Mapping[str, Any],
        message_id: str,
        *,
        problem: str | None = None,
        flash: Flash | None = None,
    ) -> Response:
        read = await member.api.get(f"/webhooks/{webhook['id']}/messages/{message_id}")
        values = {
            "webhook": webhook,
            "is_listener": is_listener(webhook),
            "message": read.data,
            "attempts": attempts_of(read.data["log"]),
            "plan": plan_of(read.data),
            "first_delivered_at": first_delivery(read.data["log"]),
            "latest": ATTEMPTS_SHOWN_MAX if is_cut(read.data["log"]) else None,
            "payload": pretty_json(read.data["body"]),
            "problem": problem,
            "flash": flash,
            "may_work": member.may_work_on(app),
        }
        return self._layout.of_member(
            "message.html",
            values,
            member=member,
            app=app,
            title="Webhook message",
            section="webhooks",
        )


def _path(app: App, webhook: Mapping[str, Any]) -> str:
    return f"/apps/{app['id']}/webhooks/{webhook['id']}"


async def _has_enabled(member: Member, path: str, url: str) -> bool:
    listed = (await member.api.get(path)).data
    return any(one["url"] == url and one["disabled_at"] is None for one in listed)


def events_of(fields: Mapping[str, str]) -> dict[str, bool]:
    """Return which events a form asks for beside every new status."""
    return {name: name in fields for name in ("wants_updates", "wants_notices")}


def hours_of(
    path: str, webhook_id: str, figures: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the hours of the last day, also those without a message, oldest first.

    The day begins within the first hour: its link begins there too, as its numbers do.
    """
    found = next((one for one in figures if one["endpoint_id"] == webhook_id), None)
    if found is None:
        return []  # it was removed meanwhile
    since = to_moment(found["since"]).astimezone(UTC)
    first = since.replace(minute=0, second=0, microsecond=0)
    counted = {to_moment(one["hour"]): one for one in found["hours"]}
    hours = []
    for number in range(HOURS):
        hour = first + timedelta(hours=number)
        one = counted.get(hour, {"delivered": 0, "undelivered": 0})
        at, begin, end = (
            moment.strftime("%Y-%m-%dT%H:%M:%S")
            for moment in (hour, max(hour, since), hour + timedelta(hours=1))
        )
        link = f"{path}?{urlencode({'since': begin, 'until': end})}"
        hours.append({**one, "at": f"{at}Z", "shown": f"{at[:10]} {at[11:16]}", "link": link})
    return hours


def read_filters(request: Request) -> dict[str, str]:
    """Return the filter of the address; invalid filters are left out."""
    query, filters = request.query_params, {}
    for name in BOUNDS:
        if MOMENT.fullmatch(query.get(name, "")):
            filters[name] = query[name]
    for name in ("undelivered_only", "delivered_only"):
        if query.get(name):
            filters[name] = "true"
    return filters


def _message_id(request: Request) -> str:
    """
    :raises ApiRefused: as the api does of what does not exist.
    """
    message_id: str = request.path_params["message_id"]
    if not MESSAGE_ID.fullmatch(message_id):
        raise ApiRefused(404, "NOT_FOUND", "There is no such message")
    return message_id


async def _find(member: Member, app: App, request: Request) -> Mapping[str, Any]:
    """Return an endpoint of this app; one of another app is not found."""
    wanted = to_uuid(request.path_params["webhook_id"])
    listed = (await member.api.get(f"/apps/{app['id']}/webhooks")).data
    found = next((one for one in listed if one["id"] == wanted), None)
    if found is None:
        raise ApiRefused(404, "NOT_FOUND", "There is no such endpoint")
    webhook: Mapping[str, Any] = found
    return webhook
