"""Webhooks of an app, forwarded to a URL of this machine."""

from __future__ import annotations

import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import httpx
import typer

from swapctl.admin_client import ServiceUnavailable
from swapctl.commands.partners import AppId, moment
from swapctl.context import management
from swapctl.local_forwarder import Answer, LocalForwarder
from swapctl.output import Json, show
from swapctl.webhook_listener import WebhookListener, find_or_add_listener, listen_from_now

POLL_SECONDS: Final = 1.0
PAUSE_SECONDS_MAX: Final = 30.0
SECRET_BYTES: Final = 32


class Forwarding:
    """Forwards the messages of a listener until interrupted."""

    def __init__(
        self,
        listener: WebhookListener,
        forwarder: LocalForwarder,
        *,
        with_updates: bool,
        print_line: Callable[[str], None],
        sleep: Callable[[float], None],
    ) -> None:
        self._listener = listener
        self._forwarder = forwarder
        self._with_updates = with_updates
        self._print_line = print_line
        self._sleep = sleep
        self.forwarded = 0
        self.failed = 0

    def run(self) -> None:
        """
        :raises RequestFailed: when the service refuses; while unavailable, it is polled again.
        """
        pause = POLL_SECONDS
        while True:
            try:
                for message in self._listener.unread(with_updates=self._with_updates):
                    self._forward(message)
                pause = POLL_SECONDS
            except ServiceUnavailable as error:
                self._print_line(f"{error}; retry in {pause:.0f} s")
                self._sleep(pause)
                pause = min(2 * pause, PAUSE_SECONDS_MAX)
                continue
            self._sleep(POLL_SECONDS)

    def _forward(self, message: Mapping[str, Any]) -> None:
        answer = self._forwarder.forward(message)
        self.forwarded += 1
        self.failed += not answer.is_success
        self._print_line(line_of(message, answer))


def line_of(message: Mapping[str, Any], answer: Answer) -> str:
    result = answer.http_status or answer.error
    about = message["swap_id"] or "no swap"
    head = " " if answer.is_success else "!"
    took = f"{answer.milliseconds} ms"
    return "  ".join([head, message["event_type"], message["id"], about, str(result), took])


def local_url(text: str) -> str:
    """
    :raises typer.BadParameter: when it is not an http or https URL.
    """
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise typer.BadParameter(f"{text} cannot be read: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise typer.BadParameter("give a URL such as http://127.0.0.1:8080/webhooks")
    return text


def listen(
    context: typer.Context,
    *,
    app_id: AppId,
    forward_to: Annotated[str, typer.Option(help="A URL of this machine.", callback=local_url)],
    since: Annotated[
        datetime | None,
        typer.Option(help="First forward messages stored since then. In UTC.", show_default=False),
    ] = None,
    updates: Annotated[
        bool, typer.Option("--updates", help="Also forward progress within a status.")
    ] = False,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="SWAPCTL_LISTEN_SECRET",
            help="Signing secret: whsec_ and base64. By default one is created and printed.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Forward an app's webhooks to a URL of this machine until Ctrl-C.

    Each message is posted once, signed with a local secret. The app's listener also stores
    messages while no command runs; --since forwards them. Remove the listener with
    swapctl webhook remove ID.

    The exit code is 1 if the URL refused a message.
    """

    def print_line(text: str) -> None:
        typer.echo(text, err=as_json)

    used_secret = secret or "whsec_" + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    try:
        forwarder = LocalForwarder(forward_to, used_secret, clock=lambda: datetime.now(UTC))
    except ValueError as error:
        raise typer.BadParameter("the secret must be whsec_ and base64") from error
    manage = management(context)
    endpoint = find_or_add_listener(manage, str(app_id))
    if since is None:
        listener = listen_from_now(manage, endpoint)
    else:
        begin = datetime.fromisoformat(moment(since))
        listener = WebhookListener(manage, endpoint["id"], since=begin)
    forwarding = Forwarding(
        listener, forwarder, with_updates=updates, print_line=print_line, sleep=time.sleep
    )
    print_line(f"signing secret: {used_secret}")
    print_line(f"forwarding to {forward_to} (listener {endpoint['id']}); stop with Ctrl-C")
    try:
        forwarding.run()
    except KeyboardInterrupt:
        result = {
            "forwarded": forwarding.forwarded,
            "failed": forwarding.failed,
            "go_on_with": f"--since {listener.latest:%Y-%m-%dT%H:%M:%S}",
        }
        show(result, as_json=as_json)
    if forwarding.failed:
        raise typer.Exit(1)
