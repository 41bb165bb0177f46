"""Wires the dashboard: settings, clients, stores and pages, with the `…_wiring` modules."""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import uuid4

from starlette.applications import Starlette

from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.api import HttpApi, to_token
from swap_dashboard.adapters.bench import HttpBench
from swap_dashboard.adapters.device_codes import TimeCodes
from swap_dashboard.adapters.oidc import OpenIdProvider
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.adapters.second_factors import (
    PostgresPendingSignIns,
    PostgresSecondFactors,
)
from swap_dashboard.adapters.sessions import PostgresSessions, PostgresSignInLinks
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.http.account import AccountPages
from swap_dashboard.http.admin import AccountRoutes
from swap_dashboard.http.bench import BenchPages
from swap_dashboard.http.cookies import Cookies
from swap_dashboard.http.fees import FeePages
from swap_dashboard.http.flashes import Flashes
from swap_dashboard.http.forms import Forms
from swap_dashboard.http.home import HomePages
from swap_dashboard.http.keys import KeyPages
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.limits import LimitPages
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.oidc import CALLBACK, OidcPages
from swap_dashboard.http.organization import OrganizationPages
from swap_dashboard.http.pay_frames import PayFramePages
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.request_log import RequestLogPages
from swap_dashboard.http.second_factor import SecondFactorPages
from swap_dashboard.http.sign_in import SignInPages
from swap_dashboard.http.site import Section, build_site, static_version
from swap_dashboard.http.stream_slots import ALL_MAX as STREAMS_MAX
from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.http.swaps import SwapPages
from swap_dashboard.http.visitors import Visitors
from swap_dashboard.http.webhooks import WebhookPages
from swap_dashboard.pay_wiring import Pay, build_pay
from swap_dashboard.ports import Clock
from swap_dashboard.settings import DashboardGroup, DashboardSettings
from swap_dashboard.status_wiring import Status, build_status
from swap_dashboard.usecases.accept_invitation import AcceptInvitation
from swap_dashboard.usecases.act_as_member import ActAsMember
from swap_dashboard.usecases.change_password import ChangePassword
from swap_dashboard.usecases.check_code import CheckCode
from swap_dashboard.usecases.forget_old import ForgetOld
from swap_dashboard.usecases.join_bench import JoinBench
from swap_dashboard.usecases.make_sign_in_link import MakeSignInLink
from swap_dashboard.usecases.manage_second_factor import (
    ManageSecondFactor,
    RemoveSecondFactor,
)
from swap_dashboard.usecases.manage_sessions import ManageSessions
from swap_dashboard.usecases.open_session import FindSession, OpenSession
from swap_dashboard.usecases.read_bench import ReadBench
from swap_dashboard.usecases.renew_token import RenewToken
from swap_dashboard.usecases.replace_lost_password import ReplaceLostPassword
from swap_dashboard.usecases.set_first_password import SetFirstPassword
from swap_dashboard.usecases.sign_in import FinishSignIn, SignIn, SignInByLink
from swap_dashboard.usecases.sign_in_by_code import SignInByCode
from swap_dashboard.usecases.sign_in_by_provider import SignInByProvider
from swap_runtime.process.service import Service, run
from swap_runtime.sealing import Sealing
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0006"  # the last of the migrations
FORGET_INTERVAL: Final = timedelta(hours=1)
STATUS_INTERVAL: Final = timedelta(minutes=1)
TOKEN_BYTES: Final = 32
RECOVERY_BYTES: Final = 10


def main() -> None:
    configure_logging("dashboard")  # first: a wrong setting is logged, too
    settings = DashboardSettings()  # type: ignore[call-arg]  # the environment fills it
    run(
        "dashboard",
        settings,
        settings.dashboard,
        build,
        publishes=False,
        schema_revision=SCHEMA_REVISION,
    )


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, DashboardGroup)
    api = HttpApi(
        group.api_url,
        answer_seconds=group.api_timeout.total_seconds(),
        streams_max=STREAMS_MAX,
    )
    bench = HttpBench(group.bench_url) if group.bench_url else None
    parts = DashboardBuilder(service, group, api, Argon2Passwords(), bench=bench).parts()
    service.serve(parts.site, port=group.port, idle_timeout=group.idle_timeout)
    parts.admin.add_to(service)
    service.every("forget-old", FORGET_INTERVAL, parts.forget_old)
    service.on_stop(api.close)
    if bench is not None:
        service.on_stop(bench.close)
    service.on_stop(parts.pay.close)
    if parts.provider is not None:
        service.on_stop(parts.provider.close)
    service.every("record-status", STATUS_INTERVAL, parts.status.record)
    service.on_stop(parts.status.close)


@dataclass(frozen=True, slots=True)
class Parts:
    """What `build` starts and stops; tests also use single parts."""

    site: Starlette
    admin: AccountRoutes
    forget_old: ForgetOld
    make_sign_in_link: MakeSignInLink  # for tests; `admin` serves it
    pay: Pay
    status: Status
    provider: OpenIdProvider | None


class DashboardBuilder:
    """Builds the parts from one set of shared pieces."""

    def __init__(
        self,
        service: Service,
        group: DashboardGroup,
        api: HttpApi,
        passwords: Argon2Passwords,
        *,
        bench: HttpBench | None = None,
    ) -> None:
        """
        :param bench: None where no test bench is offered.
        """
        clock = service.clock
        self._clock, self._group, self._api = clock, group, api
        self._passwords = passwords
        keys = [key.get_secret_value() for key in group.secret_keys]
        self._accounts = PostgresAccounts(service.engine, Sealing.with_keys(keys))
        self._sessions = PostgresSessions(service.engine)
        self._links = PostgresSignInLinks(service.engine)
        self._throttle = PostgresThrottle(service.engine)
        self._factors = PostgresSecondFactors(service.engine, Sealing.with_keys(keys))
        self._pending = PostgresPendingSignIns(service.engine)
        self._check_code = CheckCode(self._factors, TimeCodes(), self._throttle, clock=clock)
        self._is_https = group.public_url.startswith("https:")
        self._cookies = Cookies(is_https=self._is_https)
        self._flashes = Flashes(self._cookies, Sealing.with_keys(keys), clock=clock)
        self._forms = Forms(public_url=group.public_url)
        self._bench = bench
        pages = Pages(clock=clock, version=static_version())
        self._layout = Layout(pages, self._cookies, has_bench=bench is not None)
        self._find_session = FindSession(self._sessions, idle=group.session_idle, clock=clock)
        self._manage_sessions = ManageSessions(self._sessions)
        self._open_session = OpenSession(
            self._accounts,
            self._sessions,
            RenewToken(self._accounts, api, to_token=to_token, clock=clock),
            lifetime=group.session_lifetime,
            clock=clock,
            new_id=uuid4,
            new_token=new_token,
        )
        self._accept_invitation = AcceptInvitation(
            self._accounts, api, passwords, clock=clock, new_id=uuid4
        )
        self._visitors = Visitors(
            self._find_session,
            ActAsMember(self._accounts, api),
            self._cookies,
            trusted_proxies=group.trusted_proxies,
        )
        self._provider = build_provider(group, clock=clock)
        self._status = build_status(service.engine, group, pages, clock=clock)
        self._pay = build_pay(group, pages, address_of=self._visitors.address, clock=clock)

    def parts(self) -> Parts:
        layout, visitors = self._layout, self._visitors
        member_forms = MemberForms(visitors, self._forms)
        sections: tuple[Section, ...] = (
            HomePages(layout, visitors, has_bench=self._bench is not None),
            *self._sign_in_sections(),
            self._account_pages(),
            self._second_factor_pages(),
            SwapPages(
                layout,
                visitors,
                api_url=self._group.api_public_url or self._group.api_url,
                stream_slots=StreamSlots(in_all=STREAMS_MAX),
            ),
            WebhookPages(layout, visitors, member_forms, self._flashes),
            KeyPages(
                layout,
                visitors,
                member_forms,
                self._flashes,
                api_url=self._group.api_public_url or self._group.api_url,
            ),
            RequestLogPages(layout, visitors, has_bench=self._bench is not None),
            FeePages(layout, visitors),
            LimitPages(layout, visitors),
            PayFramePages(layout, visitors, member_forms, public_url=self._group.public_url),
            OrganizationPages(
                layout,
                visitors,
                member_forms,
                self._flashes,
                public_url=self._group.public_url,
            ),
            *self._bench_pages(member_forms),
            self._pay.pages,
            self._status.pages,
        )
        make_sign_in_link = MakeSignInLink(
            self._accounts,
            self._links,
            public_url=self._group.public_url,
            lifetime=self._group.link_lifetime,
            clock=self._clock,
            new_token=new_token,
        )
        return Parts(
            site=build_site(sections, layout, is_https=self._is_https),
            admin=AccountRoutes(
                accept_invitation=self._accept_invitation,
                make_sign_in_link=make_sign_in_link,
                remove_second_factor=RemoveSecondFactor(self._accounts, self._factors),
                address_of=self._visitors.address,
            ),
            forget_old=ForgetOld(
                self._sessions,
                self._throttle,
                self._pending,
                idle=self._group.session_idle,
                clock=self._clock,
            ),
            make_sign_in_link=make_sign_in_link,
            pay=self._pay,
            status=self._status,
            provider=self._provider,
        )

    def _bench_pages(self, member_forms: MemberForms) -> Sequence[Section]:
        bench = self._bench
        if bench is None:
            return ()
        pages = BenchPages(
            self._layout,
            self._visitors,
            member_forms,
            bench=ReadBench(bench),
            join_bench=JoinBench(bench),
        )
        return (pages,)

    def _sign_in_sections(self) -> Sequence[Section]:
        finish = FinishSignIn(
            self._factors,
            self._pending,
            self._open_session,
            clock=self._clock,
            new_token=new_token,
        )
        pages = SignInPages(
            self._layout,
            self._visitors,
            self._forms,
            self._cookies,
            sign_in=SignIn(
                self._accounts,
                self._passwords,
                self._throttle,
                finish,
                clock=self._clock,
            ),
            sign_in_by_link=SignInByLink(self._accounts, self._links, finish, clock=self._clock),
            sign_in_by_code=SignInByCode(
                self._accounts,
                self._pending,
                self._check_code,
                self._open_session,
                clock=self._clock,
            ),
            accept_invitation=self._accept_invitation,
            open_session=self._open_session,
            manage_sessions=self._manage_sessions,
            provider_name=self._group.oidc_name if self._provider else "",
        )
        if self._provider is None:
            return (pages,)
        by_provider = SignInByProvider(
            self._provider,
            self._accounts,
            self._accept_invitation,
            finish,
            self._passwords,
            clock=self._clock,
            new_token=new_token,
        )
        oidc_pages = OidcPages(
            self._visitors,
            self._cookies,
            pages,
            issuer=self._group.oidc_issuer,
            sign_in_by_provider=by_provider,
        )
        return (pages, oidc_pages)

    def _account_pages(self) -> AccountPages:
        return AccountPages(
            self._layout,
            self._visitors,
            self._forms,
            self._cookies,
            manage_sessions=self._manage_sessions,
            find_session=self._find_session,
            change_password=ChangePassword(
                self._accounts, self._passwords, self._sessions, self._throttle, clock=self._clock
            ),
            set_first_password=SetFirstPassword(
                self._accounts, self._passwords, self._sessions, clock=self._clock
            ),
            replace_lost_password=ReplaceLostPassword(
                self._accounts, self._passwords, clock=self._clock
            ),
            provider_name=self._group.oidc_name if self._provider else "",
        )

    def _second_factor_pages(self) -> SecondFactorPages:
        return SecondFactorPages(
            self._layout,
            self._visitors,
            self._forms,
            manage_second_factor=ManageSecondFactor(
                self._accounts,
                self._passwords,
                self._sessions,
                self._throttle,
                factors=self._factors,
                device_codes=TimeCodes(),
                check_code=self._check_code,
                clock=self._clock,
                new_code=new_recovery_code,
            ),
        )


def build_provider(group: DashboardGroup, *, clock: Clock) -> OpenIdProvider | None:
    """Return the identity provider; None where none is configured."""
    if not group.oidc_issuer:
        return None
    return OpenIdProvider(
        group.oidc_issuer,
        client_id=group.oidc_client_id,
        client_secret=group.oidc_client_secret.get_secret_value(),
        redirect_uri=group.public_url + CALLBACK,
        answer_seconds=group.api_timeout.total_seconds(),  # the same timeout as for the api
        clock=clock,
    )


def new_recovery_code() -> str:
    """Return 80 random bits, as people copy them."""
    text = b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().casefold()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)
