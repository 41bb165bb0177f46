"""Builds the pay pages: a separate part of the wiring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from swap_dashboard.adapters.pay_api import HttpPayApi
from swap_dashboard.http.pay import PayPages
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.stream_slots import ALL_MAX as STREAMS_MAX
from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.ports import Clock
from swap_dashboard.settings import DashboardGroup


@dataclass(frozen=True, slots=True)
class Pay:
    pages: PayPages
    close: Callable[[], Awaitable[None]]


def build_pay(
    group: DashboardGroup, pages: Pages, *, address_of: Callable[[Request], str], clock: Clock
) -> Pay:
    api = HttpPayApi(
        group.api_url,
        answer_seconds=group.api_timeout.total_seconds(),
        streams_max=STREAMS_MAX,
    )
    made = PayPages(
        api,
        pages,
        address_of=address_of,
        public_url=group.public_url,
        clock=clock,
        stream_slots=StreamSlots(in_all=STREAMS_MAX),
    )
    return Pay(made, api.close)
