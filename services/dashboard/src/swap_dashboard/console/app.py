"""Wires the operator console, a separate process: settings, clients and pages."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from starlette.applications import Starlette

from swap_dashboard.console import observe
from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.domain.memory import MemoryAttempts, MemorySessions
from swap_dashboard.console.http.approvals import ApprovalPages
from swap_dashboard.console.http.blocked import BlockedPages
from swap_dashboard.console.http.books import BookPages
from swap_dashboard.console.http.caps import CapPages
from swap_dashboard.console.http.claims import ClaimPages
from swap_dashboard.console.http.deposits import DepositPages
from swap_dashboard.console.http.layout import Layout
from swap_dashboard.console.http.log import LogPages
from swap_dashboard.console.http.orders import Orders
from swap_dashboard.console.http.overview import OverviewPages
from swap_dashboard.console.http.parked import ParkedPages
from swap_dashboard.console.http.payments import PaymentPages
from swap_dashboard.console.http.recovery import RecoveryPages
from swap_dashboard.console.http.rescues import RescuePages
from swap_dashboard.console.http.sign_in import SignInPages
from swap_dashboard.console.http.signers import SignerPages
from swap_dashboard.console.http.site import ErrorPages, build_site
from swap_dashboard.console.http.stops import StopPages
from swap_dashboard.console.http.swaps import SwapPages
from swap_dashboard.console.http.visitors import Visitors
from swap_dashboard.console.settings import ConsoleGroup, ConsoleSettings
from swap_dashboard.console.usecases.act_as_operator import ActAsOperator
from swap_dashboard.console.usecases.send_order import SendOrder
from swap_dashboard.console.usecases.sign_in import SignIn
from swap_dashboard.http.client_addresses import ClientAddresses
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.forms import Forms
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.site import static_version
from swap_dashboard.ports import Clock
from swap_runtime.clock import utc_now
from swap_runtime.process.stateless import Stateless, run_stateless
from swap_runtime.telemetry.build_info import report_build
from swap_runtime.telemetry.logging import configure_logging

NAME: Final = "console"
COOKIES: Final = "swap_console"
TOKEN_BYTES: Final = 32


def main() -> None:
    configure_logging(NAME)  # first: a wrong setting is logged, too
    settings = ConsoleSettings()  # type: ignore[call-arg]  # the environment fills it
    group = settings.console
    run_stateless(
        lambda: Stateless(
            NAME, host=group.host, internal_port=group.internal_port, log_level=group.log_level
        ),
        lambda process: build(process, settings),
    )


async def build(process: Stateless, settings: ConsoleSettings) -> None:
    report_build(settings.build.version, settings.build.revision)
    group = settings.console
    observe.services_listed(group.service_urls())
    services = HttpServices(
        group.service_urls(),
        answer_seconds=group.answer_timeout.total_seconds(),
        order_seconds=group.order_timeout.total_seconds(),
    )
    parts = build_parts(group, services, clock=utc_now)
    process.serve(parts.site, port=group.port, idle_timeout=group.idle_timeout)
    process.on_stop(services.close)


@dataclass(frozen=True, slots=True)
class Parts:
    site: Starlette
    sessions: MemorySessions


def build_parts(group: ConsoleGroup, services: HttpServices, *, clock: Clock) -> Parts:
    is_https = group.public_url.startswith("https:")
    sessions = MemorySessions(idle=group.session_idle, lifetime=group.session_lifetime)
    cookies = Cookies(is_https=is_https, name=COOKIES)
    forms = Forms(public_url=group.public_url)
    layout = Layout(Pages(clock=clock, version=static_version()), new_id=uuid4)
    addresses = ClientAddresses(group.trusted_proxies)
    visitors = Visitors(sessions, ActAsOperator(services), cookies, forms, addresses, clock=clock)
    orders = Orders(layout, visitors, send_order=SendOrder(clock=clock), clock=clock)
    sign_in = SignIn(
        services,
        sessions,
        MemoryAttempts(),
        clock=clock,
        new_id=uuid4,
        new_token=new_token,
    )
    sections = (
        SignInPages(
            layout, visitors, forms, cookies, sign_in=sign_in, sessions=sessions, clock=clock
        ),
        OverviewPages(layout, visitors),
        orders,
        ApprovalPages(layout, visitors, orders),
        SwapPages(layout, visitors),
        ParkedPages(layout, visitors, orders),
        ClaimPages(layout, visitors, orders),
        DepositPages(layout, visitors),
        RescuePages(layout, visitors, orders),
        PaymentPages(layout, visitors, orders),
        BookPages(layout, visitors),
        StopPages(layout, visitors, orders),
        CapPages(layout, visitors, orders),
        BlockedPages(layout, visitors, orders),
        SignerPages(layout, visitors, orders),
        RecoveryPages(layout, visitors, orders),
        LogPages(layout, visitors),
    )
    errors = ErrorPages(layout, visitors, sessions, cookies)
    return Parts(build_site(sections, errors, is_https=is_https), sessions)


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)
