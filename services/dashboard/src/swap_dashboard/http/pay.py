"""The pay page of one swap: public, without a session, by the token of its link.

`/pay` itself takes a link that is pasted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from swap_dashboard.http import pay_view
from swap_dashboard.http.event_streams import TooManyStreams, open_stream
from swap_dashboard.http.pasted_links import is_id, pasted_link
from swap_dashboard.http.pay_texts import choose_language, texts
from swap_dashboard.http.rendering import Pages, amount, duration
from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.http.swap_events import last_event_id
from swap_dashboard.http.swap_view import final_deposits_below, share_of
from swap_dashboard.http.visitors import to_uuid
from swap_dashboard.pay_ports import PayApi, Payer
from swap_dashboard.ports import ApiRefused, ApiUnavailable, Clock
from swap_runtime.http.request_body import body_of

BODY_MAX: Final = 16 * 1024
ADDRESS_MAX: Final = 128
TOKEN_MAX: Final = 64
TAG_MAX: Final = 128
LINK_MAX: Final = 2048
JSON: Final = "application/json"
FIELDS_MAX: Final = 10
RETRY_AFTER: Final = {"retry-after": "10"}  # seconds
SIGNED: Final = ("signature", "signer_address")
Handler = Callable[[Request], Awaitable[Response]]


class PayPages:
    """Routes at `/pay` and below it, with a separate policy for framing."""

    def __init__(
        self,
        api: PayApi,
        pages: Pages,
        *,
        address_of: Callable[[Request], str],
        public_url: str,
        clock: Clock,
        stream_slots: StreamSlots,
    ) -> None:
        """
        :param address_of: the client's address, by which the api counts requests.
        """
        self._api = api
        self._pages = pages
        self._address_of = address_of
        self._public_url = public_url
        self._clock = clock
        self._stream_slots = stream_slots

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/pay", self._page(self.ask_for_link)),
            Route("/pay", self._page(self.open_link), methods=["POST"]),
            Route("/pay/{swap_id}", self._page(self.show)),
            Route("/pay/{swap_id}", self._page(self.set_refund_address), methods=["POST"]),
            Route("/pay/{swap_id}/data", self._data(self.read)),
            Route("/pay/{swap_id}/events", self._data(self.follow)),
            Route("/pay/{swap_id}/authorize", self._data(self.authorize), methods=["POST"]),
        ]

    async def ask_for_link(self, request: Request) -> Response:
        return self._ask_for_link(request)

    async def open_link(self, request: Request) -> Response:
        entered = (await form_of(request)).get("link", "").strip()[:LINK_MAX]
        link = pasted_link(entered)
        if link is None:
            problem = "id" if is_id(entered) else "link"
            return self._ask_for_link(request, entered, problem)
        query = urlencode({"token": link.token, "lang": language_of(request)})
        return RedirectResponse(f"/pay/{link.swap_id}?{query}", status_code=303)

    async def show(self, request: Request) -> Response:
        payer = self._payer(request)
        return self._swap_page(request, payer, await self._api.swap(payer))

    async def set_refund_address(self, request: Request) -> Response:
        payer = self._payer(request)
        address = (await form_of(request)).get("refund_address", "").strip()[:ADDRESS_MAX]
        try:
            await self._api.post(payer, "refund_address", {"refund_address": address})
        except ApiRefused as refusal:
            swap = await self._api.swap(payer)
            return self._swap_page(request, payer, swap, refused=refusal, address=address)
        return RedirectResponse(f"{request.url.path}?{request.url.query}#refund", status_code=303)

    async def read(self, request: Request) -> Response:
        read = await self._api.read(
            self._payer(request),
            source_address=request.query_params.get("source_address", "")[:ADDRESS_MAX],
            known_tag=read_tag(request),
        )
        headers = {"etag": read.tag, "cache-control": "private, no-cache"}
        if read.is_unchanged:
            return Response(status_code=304, headers=headers)
        return Response(read.content, media_type=JSON, headers=headers)

    async def follow(self, request: Request) -> Response:
        """Pass the swap's events on.

        :raises TooManyStreams: when no slot is left; the page polls as well.
        """
        payer = self._payer(request)
        events = self._api.events(payer, last_event_id(request))
        return await open_stream(events, self._stream_slots, payer.address)

    async def authorize(self, request: Request) -> Response:
        """Pass a wallet's signature on."""
        payer = self._payer(request)
        fields = await form_of(request)
        sent = {name: fields.get(name, "") for name in SIGNED}
        data = await self._api.post(payer, "authorize", sent)
        return JSONResponse({"data": data, "error": None})

    def _ask_for_link(
        self, request: Request, entered: str = "", problem: str | None = None
    ) -> Response:
        values = {
            "entered": entered,
            "problem": problem,
            "example": f"{self._public_url}/pay/…?token=…",
        }
        return self._render(request, "pay_start.html", values, 422 if problem else 200)

    def _payer(self, request: Request) -> Payer:
        """
        :raises ApiRefused: when the address cannot be one of a link.
        """
        token = request.query_params.get("token", "")
        if not token or len(token) > TOKEN_MAX or not token.isascii() or not token.isprintable():
            raise ApiRefused(404, "NOT_FOUND", "There is nothing at this address")
        swap_id = to_uuid(request.path_params["swap_id"])
        return Payer(swap_id, token, self._address_of(request))

    def _swap_page(
        self,
        request: Request,
        payer: Payer,
        swap: Mapping[str, Any],
        *,
        refused: ApiRefused | None = None,
        address: str = "",
    ) -> Response:
        language = language_of(request)
        link = {"token": payer.token, "lang": language}
        now = self._clock()
        uri = pay_view.payment_uri(swap, now)
        page_url = f"{self._public_url}/pay/{payer.swap_id}?token={payer.token}"
        kind = pay_view.action_kind(swap, now)
        values = {
            "swap": swap,
            "kind": kind,
            "waits_for": pay_view.waiting_text(swap, now),
            "repriced": repriced_text(texts()[language], swap),
            "is_refund_shown": pay_view.is_refund_shown(swap, kind),
            "refund_words": pay_view.refund_words(swap, now),
            "has_payout": pay_view.has_payout(swap),
            "end_words": pay_view.end_words(swap),
            "stages": pay_view.stages(swap),
            "timeline": pay_view.timeline(swap["timeline"]),
            "left_seconds": pay_view.left_seconds(swap, now),
            "qr": pay_view.qr_code(uri or page_url),
            "uri": uri,
            "explorer_link": pay_view.explorer_link,
            "is_exact": pay_view.has_exact_amount(swap),
            "path": request.url.path,
            "query": urlencode(link),
            "problem": refused and problem_text(texts()[language], refused),
            "entered": address,
        }
        status = 422 if refused else 200
        return self._render(request, "pay.html", values, status, swap.get("frame_origins", ()))

    def _render(
        self,
        request: Request,
        page: str,
        values: Mapping[str, Any],
        status: int,
        frame_origins: Sequence[str] = (),
    ) -> Response:
        language = language_of(request)
        t = texts()[language]
        around = {
            "t": t,
            "language": language,
            "languages": [
                {"tag": tag, "name": words["language"], "query": _with_language(request, tag)}
                for tag, words in texts().items()
                if tag != language
            ],
            "number": lambda value: localize(amount(value), t),
            "localized": lambda text: localize(text, t),
            "lasted": lambda span: localize(duration(span), t),
        }
        headers = {**policy(frame_origins), "content-language": language, "vary": "Accept-Language"}
        return self._pages.render(page, {**around, **values}, status=status, headers=headers)

    def _page(self, handler: Handler) -> Handler:
        @wraps(handler)
        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except ApiRefused as refusal:
                is_unknown = refusal.status == HTTPStatus.NOT_FOUND
                what, status = ("unknown", 404) if is_unknown else ("refused", 400)
            except HTTPException:
                what, status = "refused", 400
            except ApiUnavailable:
                what, status = "away", 503
            return self._render(request, "pay_error.html", {"what": what}, status)

        return handle

    def _data(self, handler: Handler) -> Handler:
        @wraps(handler)
        async def handle(request: Request) -> Response:
            try:
                response = await handler(request)
            except ApiRefused as refusal:
                error = {"code": refusal.code, "message": refusal.message}
                response = JSONResponse({"data": None, "error": error}, refusal.status)
            except (ApiUnavailable, TooManyStreams):
                error = {"code": "SERVICE_UNAVAILABLE", "message": ""}
                response = JSONResponse({"data": None, "error": error}, 503, headers=RETRY_AFTER)
            response.headers.update(policy(()))
            return response

        return handle


def policy(frame_origins: Sequence[str]) -> dict[str, str]:
    """Return the headers of the pay page: its own files, and the sites that may frame it.

    :param frame_origins: of the swap's app; none: no site may.
    """
    ancestors = " ".join(frame_origins) or "'none'"
    parts = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # wallets bring their icons so (EIP-6963)
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        f"frame-ancestors {ancestors}",
    )
    return {
        "content-security-policy": "; ".join(parts),
        # The address has the token of the link: no other site may receive it.
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "cross-origin" if frame_origins else "same-origin",
        "x-robots-tag": "noindex",
    }


def read_tag(request: Request) -> str:
    """Return the tag of what the browser has; what cannot be one of the api is left out.

    httpx encodes headers as ASCII: any other character would fail the whole request.
    """
    tag = request.headers.get("if-none-match", "")
    return tag if len(tag) <= TAG_MAX and tag.isascii() and tag.isprintable() else ""


def language_of(request: Request) -> str:
    requested = request.query_params.get("lang", "")
    return choose_language(requested, request.headers.get("accept-language", ""))


def problem_text(t: Mapping[str, Any], refusal: ApiRefused) -> str:
    """Return why an address is not taken, in the reader's language where it has words for it."""
    return str(t["problems"].get(refusal.code, refusal.message))


def repriced_text(t: Mapping[str, Any], swap: Mapping[str, Any]) -> str | None:
    """Return that another quote replaced the first one; None where that holds or was for any.

    None as well where no price applies any more: the money goes back, or nothing is paid for it.
    """
    first = swap.get("first_requested_amount")  # none from an api of an earlier version
    if not first or swap["status"] not in pay_view.PRICED:
        return None
    requested = Decimal(str(first))
    deposited = final_deposits_below(swap, requested)
    if deposited is None:
        is_late = requested == Decimal(str(swap["requested_amount"]))
        return str(t["repriced_late" if is_late else "repriced_other"])
    symbol = swap["source_token"]["symbol"]
    came, whole = (f"{localize(amount(one), t)} {symbol}" for one in (deposited, requested))
    text: str = t["repriced_part"]
    share = localize(share_of(deposited, requested), t)
    return text.format(came=came, requested=whole, share=share)


def localize(number: str, t: Mapping[str, Any]) -> str:
    """Write a number with the separators of a language."""
    return number.translate({ord(","): t["thousands"], ord("."): t["decimal"]})


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; the token of the link is in the address, and no cookie counts.

    :raises ApiRefused: when it is no form.
    """
    body = await body_of(request, bytes_max=BODY_MAX)
    try:
        return dict(parse_qsl(body.decode(), max_num_fields=FIELDS_MAX))
    except ValueError:
        raise ApiRefused(400, "VALIDATION_ERROR", "This is not a form") from None


def _with_language(request: Request, tag: str) -> str:
    token = request.query_params.get("token", "")[:TOKEN_MAX]
    return urlencode({**({"token": token} if token else {}), "lang": tag})
