"""The prose of the OpenAPI document about the service, its parts and its endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ABOUT: Final = """
Moves value between networks: ask for a quote, create a swap, let the user fund it as the deposit
actions say, and be told by webhook when it was paid out.

Every answer is an envelope of `data` and `error`; one of the two is null. Amounts that decide
something are in base units, as text; the doubles beside them are for showing. Moments are RFC 3339.
Null and empty values count as absent. A member or query parameter that is at most two edits from
one the endpoint takes is refused; any other unknown name is ignored and listed in `X-Ignored`.
Every answer carries `X-Request-Id`, and answers to a key `RateLimit-Limit`, `RateLimit-Remaining`
and `RateLimit-Reset`. HEAD is answered wherever GET is, with the same headers and no body.
""".strip()

TAGS: Final[Mapping[str, str]] = {
    "swaps": "Create swaps, read them, and see what is to be done next.",
    "transaction_status": "How far a transaction is.",
    "quote": "What a swap costs and brings. Nothing is kept of it.",
    "limits": "How little and how much a route takes.",
    "detailed_quote": "What a route costs between which amounts.",
    "swap_rate": "What a route costs, for clients of the first version.",
    "networks": "The networks and tokens of this deployment.",
    "sources": "What a swap can start from.",
    "destinations": "What a swap can end at.",
    "source_exchanges": "Exchanges to fund a swap from.",
    "exchange_withdrawal_networks": "Where exchanges withdraw to.",
    "experimental": "Reads whose shape may change.",
    "status": "How every network is.",
    "errors": "Every code that an error can have.",
    "health": "Whether the process answers.",
    "pay": "What the holder of a pay link reaches without a key: one swap.",
    "management": "An organization's apps, keys, members and webhook endpoints.",
    "webhooks": "What is pushed to an app's endpoints.",
}
ANY_TAG: Final = "Beyond the usual."

# By method and path. An endpoint without an entry is described by its summary.
ENDPOINTS: Final[Mapping[str, str]] = {
    "POST /api/v2/swaps": (
        "Creates a swap at the price of now, and says how to fund it. With an `Idempotency-Key` "
        "the same request is answered with the same swap for 24 hours, however often it is sent."
    ),
    "GET /api/v2/swaps": (
        "Lists the app's swaps; a publishable key must name an `address`. Expired ones are left "
        "out unless asked for. Past the end the list is empty."
    ),
    "GET /api/v2/swaps/internal": (
        "As the list of swaps, with `addresses` in place of `address`, and empty without one."
    ),
    "GET /api/v2/swaps/{swapId}": (
        "Reads one swap as it is now. A swap of another app is answered like an unknown one. "
        "The `ETag` changes when the answer does: send it back as `If-None-Match`, and what has "
        "not changed is answered with 304 and no body."
    ),
    "GET /api/v2/transaction_status": (
        "Says how far a transaction is. Where no swap of the app has it, a node of the network is "
        "asked: a reverted transaction is `failed`, one that waits or that is mined is `pending`. "
        "One that only a `deposit_speedup` names is `pending` with `is_found` false. A request "
        "counts as two."
    ),
    "GET /api/v2/swaps/by_transaction_hash/{transactionHash}": (
        "Finds the app's swap by its deposit, payout, refuel or refund, whatever the case of the "
        "hash. With what is to be done next."
    ),
    "POST /api/v2/swaps/{swapId}/deposit_speedup": (
        "A hint: the blocks of the swap's source network are read now. One transaction counts "
        "once, and at most ten for a swap; more are ignored. A transaction that is unknown "
        "yet is no error: it is searched for again for ten minutes."
    ),
    "GET /api/v2/swaps/{swapId}/events": (
        "Lists what happened to a swap, in order. With `Accept: text/event-stream` it follows the "
        "swap live: every event is sent when it happens. Its `id` is its sequence number, its "
        "`data` the same as in the list. The stream ends now and then: reconnect with "
        "`Last-Event-ID`."
    ),
    "GET /api/v2/experimental/swaps/{swapId}": (
        "Reads one swap with `next_action`, the single thing that the user has to do now, in place "
        "of `deposit_actions`. With `source_address` an approval that this wallet has to give "
        "comes first."
    ),
    "GET /api/v2/swaps/{swapId}/deposit_actions": (
        "Lists every step of the user, each with its status. Only the current step has the data to "
        "send or to sign."
    ),
    "GET /api/v2/swaps/{swapId}/attach_deposit": (
        "Shows the transfers of a transaction that named no swap. Each has the `text` that its "
        "sender signs (`personal_sign`) to attach it to this swap. Show the whole text: it names "
        "the recipient. It changes once, when a refund address is set. A transfer that was "
        "`submitted` is `attached` in a moment."
    ),
    "POST /api/v2/swaps/{swapId}/attach_deposit": (
        "Gives a transfer that named no swap to this one: `signature` is the sender's over `text`, "
        "or what its wallet takes by EIP-1271. From then on it is a deposit like any other, as if "
        "it had come now. Sent again it changes nothing. Where the sender is a contract that "
        "signs nothing, the operator of the service attaches it."
    ),
    "POST /api/v2/swaps/{swapId}/refund_address": (
        "Names the address that the money goes back to if the swap cannot be completed. Once given "
        "it stays."
    ),
    "GET /api/v2/swaps/{swapId}/pay_link": (
        "Reads the link to the pay page of a swap, always the same one. Its holder sees the swap "
        "as the payer does, until the deployment replaces the key of its links. With "
        "`may_set_refund_address` the link also sets the refund address, while that is unset."
    ),
    "GET /pay/v1/swaps/{swapId}": (
        "Reads one swap with its timeline and `next_action`, by the token of its pay link "
        "(`Authorization: Bearer`). A wrong token is answered like an unknown swap."
    ),
    "GET /pay/v1/swaps/{swapId}/events": (
        "Lists what happened to the swap of a pay link, in order; `Accept: text/event-stream` "
        "follows it live, as the events of swaps do."
    ),
    "POST /pay/v1/swaps/{swapId}/authorize": (
        "Submits the signature of a gasless swap by the token of its pay link. It is taken once."
    ),
    "POST /pay/v1/swaps/{swapId}/refund_address": (
        "Sets the refund address by the token of a link that may. Any other token is answered with "
        "404. Once set it stays."
    ),
    "GET /api/v2/quote": (
        "Prices a swap: what arrives, what it costs, how long it takes. Nothing is reserved. With "
        "`receive_amount`, it finds the smallest amount that brings so much. With "
        "`explain=true` the answer has an `explanation` beside the quote: the amount after "
        "rounding, prices with sources and ages, gas, the row of the fee table, inventory and "
        "limits. It has every integer from these to the quote, too, and the funding methods that "
        "are not offered, with the reason. "
        "This needs a secret key: it shows what the service holds and earns."
    ),
    "GET /api/v2/limits": "Says between which amounts a swap of this route can be created now.",
    "GET /api/v2/networks": (
        "Lists every network with its tokens, its public nodes and its explorer."
    ),
    "GET /api/v2/errors": (
        "Lists every code with its HTTP status, whether asking again may help, and who must act."
    ),
    "GET /api/v2/health": "Answers from the process alone, whatever is away behind it.",
}

PARAMETERS: Final[Mapping[str, str]] = {
    "swapId": "The id of the swap.",
    "transactionHash": "The hash of one of the swap's transactions.",
    "organizationId": "The id of the organization.",
    "appId": "The id of the app.",
    "keyId": "The id of the API key, which is not the key.",
    "memberId": "The id of the member.",
    "invitationId": "The id of the invitation, which is not its token.",
    "tokenId": "The id of the access token, which is not the token.",
    "webhookId": "The id of the webhook endpoint.",
    "messageId": "The id of the message: the header `webhook-id` of every attempt.",
    "source_address": "The wallet that will pay, where that is known.",
    "destination_address": "Who is paid.",
    "exclude_deposit_actions": "Leave `deposit_actions` empty.",
    "statuses": "Only swaps in one of these statuses; repeated or comma-joined.",
    "include_expired": "Also swaps that expired without a deposit.",
    "reference_id": "Only swaps with this label.",
    "created_after": "Only swaps created after this moment.",
    "created_before": "Only swaps created before this moment.",
    "page": "Which page, from 1.",
    "page_size": "How many a page has.",
}

WEBHOOK: Final = """
Sent for every change of a swap's status; to endpoints that ask for it also for progress inside one,
as `swap.updated`. The type is in the header `webhook-event-type`. The bytes are signed as Standard
Webhooks and Svix do, under both families of header names; every attempt has the same id and the
same bytes. Answer 2xx within 15 seconds, once it is written down.
""".strip()
# By type. Any other is described by `WEBHOOK`.
WEBHOOKS: Final[Mapping[str, str]] = {
    "webhook.test": (
        "Sent on request as a test that the endpoint receives and verifies messages. It has the "
        "shape and the signature of the others, and is about the swap "
        "`00000000-0000-0000-0000-000000000000`, which does not exist."
    ),
    "endpoint.disabled": (
        "Sent to the other endpoints of the app that asked for notices, when an endpoint is "
        "disabled."
    ),
}
