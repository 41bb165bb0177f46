"""The test bench: a swap by a form, with the outcome that is chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http.layout import Layout
from swap_dashboard.http.member_forms import MemberForms
from swap_dashboard.http.visitors import Member, Visitors
from swap_dashboard.ports import (
    ApiRefused,
    ApiUnavailable,
    BenchOutcome,
    BenchRefused,
    BenchUnavailable,
)
from swap_dashboard.usecases.join_bench import JoinBench
from swap_dashboard.usecases.read_bench import ReadBench

TEST: Final = "test"
UNAVAILABLE: Final = "The test bench does not answer right now. Try again in a moment."
NOT_CREATED: Final = "The swap was not created. Change the marked fields."
API_UNAVAILABLE: Final = (
    "The service does not answer right now. Look among the swaps before you repeat."
)
# An example of EIP-55: what is refunded there is lost, as money of a test environment may be.
REFUND_ADDRESS: Final = "0x52908400098527886E0F7030069857D2E4169EE7"
METHODS: Final[Mapping[str, str]] = {
    "depository": "a Depository transaction",
    "direct": "a transfer with the swap's memo",
    "deposit_address": "a deposit address",
    "gasless": "a signature",
}
SWITCHES: Final[Mapping[str, Mapping[str, bool]]] = {
    "depository": {"use_depository": True},
    "deposit_address": {"use_deposit_address": True},
    "gasless": {"use_gasless": True},
}
# The field of the form that the api's answer is about.
FIELDS: Final[Mapping[str, str]] = {
    "source_network": "source",
    "source_token": "source",
    "destination_network": "destination",
    "destination_token": "destination",
    "amount": "amount",
    "refund_address": "refund_address",
    "reference_id": "reference_id",
    "use_gasless": "method",
    "use_depository": "method",
    "use_deposit_address": "method",
    "destination_address": "outcome",
}
CODES: Final[Mapping[str, str]] = {
    "LESS_THAN_MIN_ERROR": "amount",
    "GREATER_THAN_MAX_ERROR": "amount",
    "INSUFFICIENT_LIQUIDITY": "amount",
    "PRICE_IMPACT_TOO_HIGH": "amount",
    "ROUTE_NOT_FOUND_ERROR": "destination",
    "PAYOUTS_PAUSED": "destination",
    "REFUND_ADDRESS_REQUIRED": "refund_address",
    "UNSUPPORTED_GASLESS": "method",
    "UNSUPPORTED_DEPOSITORY": "method",
    "CONFLICTING_FUNDING_METHODS": "method",
    "BLACKLISTED_ADDRESS": "outcome",
}
OWN: Final = "own"  # the member pays: the bench pays swaps to its own recipients alone
NO_RECIPIENT: Final = "“Paid by you” needs the address that receives."
RECIPIENTS: Final[Mapping[str, str]] = {"outcome": "recipient"}
# The outcomes are described in the API's names; the form has other words for these.
FORM_WORDS: Final[Mapping[str, str]] = {
    "`quote_revision` 1": "at a new price",
    "not gasless": "no signature",
    "`use_gasless`": "a signature",
    "`refund_address`": "a refund address",
    "1 base unit": "the smallest unit of the token",
    "`": "",
}
App = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form as it was sent, and what is wrong with it, by field."""

    values: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None  # of no field


class BenchPages:
    def __init__(
        self,
        layout: Layout,
        visitors: Visitors,
        member_forms: MemberForms,
        *,
        bench: ReadBench,
        join_bench: JoinBench,
    ) -> None:
        self._layout = layout
        self._visitors = visitors
        self._forms = member_forms
        self._bench = bench
        self._join_bench = join_bench

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/apps/{app_id}/bench", self.show),
            Route("/apps/{app_id}/bench", self.create, methods=["POST"]),
            Route("/apps/{app_id}/bench/join", self.join, methods=["POST"]),
            Route("/apps/{app_id}/bench/lifetime", self.set_lifetime, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        member = await self._visitors.member(request)
        return await self._page(member, _test_app(member, request))

    async def join(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = _test_app(member, request)
        try:
            facts = await self._bench.facts()
            seconds = facts.lifetime_seconds if "shorten" in fields else None
            await self._join_bench(member.api, app, lifetime_seconds=seconds)
        except ApiRefused as error:
            return await self._page(member, app, FilledForm(problem=error.message))
        except BenchRefused as error:
            return await self._page(
                member, app, FilledForm(problem=f"The test bench says: {error}.")
            )
        except BenchUnavailable:
            return await self._page(member, app, FilledForm(problem=UNAVAILABLE))
        return RedirectResponse(f"/apps/{app['id']}/bench", status_code=303)

    async def set_lifetime(self, request: Request) -> Response:
        """Shorten how long the app's swaps wait for a deposit, or take that back."""
        member, fields = await self._forms.read(request)
        app = _test_app(member, request)
        try:
            seconds = (await self._bench.facts()).lifetime_seconds if "shorten" in fields else None
            await member.api.post(f"/apps/{app['id']}", {"swap_lifetime_seconds": seconds})
        except ApiRefused as error:
            return await self._page(member, app, FilledForm(problem=error.message))
        except BenchUnavailable:
            return await self._page(member, app, FilledForm(problem=UNAVAILABLE))
        return RedirectResponse(f"/apps/{app['id']}/bench", status_code=303)

    async def create(self, request: Request) -> Response:
        member, fields = await self._forms.read(request)
        app = _test_app(member, request)
        try:
            outcomes = {one.name: one for one in (await self._bench.facts()).outcomes}
        except BenchUnavailable:
            return await self._page(member, app, FilledForm(fields, problem=UNAVAILABLE))
        outcome = outcome_of(fields, outcomes)
        if outcome is None:
            problems = {"outcome": "Choose what is to happen."}
            return await self._page(member, app, FilledForm(fields, problems))
        # The api refuses a role first.
        if member.may_work_on(app) and (problems := unmet_requirements(fields, outcome)):
            return await self._page(member, app, FilledForm(fields, problems))
        try:
            made = await member.api.post(f"/apps/{app['id']}/swaps", swap_body(fields, outcome))
        except ApiRefused as error:
            return await self._page(member, app, to_filled_form(fields, error))
        except ApiUnavailable:
            return await self._page(member, app, FilledForm(fields, problem=API_UNAVAILABLE))
        path = f"/apps/{app['id']}/swaps/{made.data['swap']['id']}"
        # There is the link to its pay page, which says how it is paid.
        part = "#pay" if outcome.name == OWN else ""
        return RedirectResponse(path + part, status_code=303)

    async def _page(self, member: Member, app: App, filled: FilledForm | None = None) -> Response:
        filled = filled or FilledForm()
        values: dict[str, Any] = {
            "filled": filled,
            "problem": filled.problem or (NOT_CREATED if filled.problems else None),
            "methods": METHODS,
            "own": OWN,
            "in_words": in_words,
            "default_asset": default_asset,
            "refund_address": REFUND_ADDRESS,
            "may_work": member.may_work_on(app),
            **await self._find_options(member, app),
        }
        return self._layout.of_member(
            "bench.html", values, member=member, app=app, title="Test bench", section="bench"
        )

    async def _find_options(self, member: Member, app: App) -> dict[str, Any]:
        """Return what the form offers; nothing while the bench or the api is away."""
        try:
            facts, is_played, networks = await asyncio.gather(
                self._bench.facts(),
                self._bench.plays(app["id"]),
                member.api.get(f"/apps/{app['id']}/networks"),
            )
        except (BenchUnavailable, ApiUnavailable):
            return {"facts": None, "is_played": False, "networks": []}
        return {"facts": facts, "is_played": is_played, "networks": networks.data}


def _test_app(member: Member, request: Request) -> App:
    """
    :raises ApiRefused: as the api does of what does not exist; a live app has no test bench.
    """
    app = member.app_of(request)
    if app["environment"] != TEST:
        raise ApiRefused(404, "NOT_FOUND", "A live app has no test bench")
    return app


def in_words(text: str) -> str:
    """Return what the bench says of an outcome, in the words of the form."""
    for name, words in FORM_WORDS.items():
        text = text.replace(name, words)
    return text


def default_asset(networks: Sequence[Mapping[str, Any]]) -> str:
    """Return the native token of the first network with tokens, or its first token without one."""
    network = next((one for one in networks if one["tokens"]), None)
    if network is None:
        return ""
    tokens = network["tokens"]
    token = next((one for one in tokens if one["contract"] is None), tokens[0])
    return f"{network['name']}/{token['symbol']}"


def outcome_of(
    fields: Mapping[str, str], outcomes: Mapping[str, BenchOutcome]
) -> BenchOutcome | None:
    """Return the outcome that is chosen: one of the bench, or what the member makes of the swap."""
    name = fields.get("outcome", "")
    if name == OWN:
        return BenchOutcome(OWN, fields.get("recipient", "").strip(), does="", ends="", needs="")
    return outcomes.get(name)


def unmet_requirements(fields: Mapping[str, str], outcome: BenchOutcome) -> dict[str, str]:
    """Return what keeps the outcome from happening, by field: the swap would end another way."""
    if outcome.name == OWN:
        return {} if outcome.recipient else {"recipient": NO_RECIPIENT}
    problems = {}
    about = f"“{outcome.name.replace('_', ' ').capitalize()}” needs"
    source = fields.get("source", "").partition("/")[2]
    destination = fields.get("destination", "").partition("/")[2]
    if outcome.source_token and source != outcome.source_token:
        problems["source"] = f"{about} {outcome.amount_min:,} {outcome.source_token} or more."
    elif outcome.amount_min and not _is_at_least(fields.get("amount", ""), outcome.amount_min):
        problems["amount"] = f"{about} {outcome.amount_min:,} {outcome.source_token} or more."
    if outcome.destination_tokens and destination not in outcome.destination_tokens:
        problems["destination"] = f"{about} {' or '.join(outcome.destination_tokens)} here."
    if outcome.gasless is not None and outcome.gasless != (fields.get("method") == "gasless"):
        wanted = "a signature" if outcome.gasless else "another method: a signature is all or none"
        problems["method"] = f"{about} {wanted}."
    if outcome.refund_address and not fields.get("refund_address"):
        problems["refund_address"] = f"{about} a refund address."
    return problems


def _is_at_least(text: str, least: int) -> bool:
    """Whether an amount is large enough; what is no number is left to the api's words."""
    try:
        return Decimal(text) >= least
    except InvalidOperation:
        return True


def swap_body(fields: Mapping[str, str], outcome: BenchOutcome) -> dict[str, Any]:
    """Return the request to the api."""
    source_network, _, source_token = fields.get("source", "").partition("/")
    destination_network, _, destination_token = fields.get("destination", "").partition("/")
    return {
        "source_network": source_network,
        "source_token": source_token,
        "destination_network": destination_network,
        "destination_token": destination_token,
        "amount": fields.get("amount", ""),
        "destination_address": outcome.recipient,
        "refund_address": fields.get("refund_address", ""),
        "reference_id": fields.get("reference_id", ""),
        **SWITCHES.get(fields.get("method", ""), {}),
    }


def to_filled_form(fields: Mapping[str, str], error: ApiRefused) -> FilledForm:
    """Return the form with the api's words beside the fields that they are about."""
    named = dict(error.metadata.get("field_errors") or {})
    problems = {FIELDS[name]: str(words) for name, words in named.items() if name in FIELDS}
    about = CODES.get(error.code)
    if fields.get("outcome") == OWN:  # then the recipient was entered
        problems = {RECIPIENTS.get(name, name): words for name, words in problems.items()}
        about = about and RECIPIENTS.get(about, about)
    # Of an amount the message names the limit; of a route the field's words name what is near.
    if about is not None and (about == "amount" or not problems):
        problems[about] = error.message
    return FilledForm(fields, problems, None if problems else error.message)
