"""For every error code: what usually causes it, what to do, and an example.

`docs/errors.md` and the page at `/docs/errors` are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swap_contracts.public.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class ErrorHelp:
    cause: str
    what_to_do: str
    example: str


HELP: Final[dict[ErrorCode, ErrorHelp]] = {
    ErrorCode.VALIDATION_ERROR: ErrorHelp(
        "A parameter is missing, has the wrong type, or its name is unknown and at most two edits "
        "from a known one.",
        "Read `metadata.field_errors`: it names each parameter and what it must be.",
        '`{"amount": "abc"}` gives `"field_errors": {"amount": "must be a number"}`.',
    ),
    ErrorCode.API_KEY_REQUIRED: ErrorHelp(
        "The request has no `X-SVC-APIKEY` header, or a proxy removed it.",
        "Send the key of your app in the header with every request.",
        'curl --header "X-SVC-APIKEY: $API_KEY" "$BASE_URL/api/v2/networks"',
    ),
    ErrorCode.API_KEY_FORBIDDEN: ErrorHelp(
        "The key is mistyped, revoked or expired, or a publishable key called what needs a "
        "secret one. Or the request's `Origin` is absent or not among the key's allowed origins.",
        "Check the key with `GET /api/v2/networks`. Call endpoints for secret keys from your "
        "server. Add the web page's origin to the key's allowed origins. Browsers send no `Origin` "
        "with a GET to the page's own host: call the API at its own host.",
        "A publishable key that reads `GET /api/v2/swaps/{swapId}/ledger` gets this answer.",
    ),
    ErrorCode.NOT_FOUND: ErrorHelp(
        "The id belongs to another app, to another environment, or to nothing; or the path "
        "is misspelled.",
        "Use the id from the answer that created it, with a key of the same app.",
        "A test key that reads a swap of a live app gets this answer.",
    ),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorHelp(
        "The path exists, but not with this HTTP method.",
        "Use a method of the `Allow` header of the answer.",
        "`PUT /api/v2/swaps` answers with `Allow: GET, HEAD, OPTIONS, POST`.",
    ),
    ErrorCode.IDEMPOTENCY_KEY_REUSED: ErrorHelp(
        "The same `Idempotency-Key` was sent within 24 hours with another body or path.",
        "Use one key per intended effect: repeat a request with its key, and a new request "
        "with a new key.",
        "`order-1001` with `amount` 1, then `order-1001` with `amount` 2.",
    ),
    ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS: ErrorHelp(
        "A retry arrived before the first request ended.",
        "Wait for `Retry-After` seconds and send the same request with the same key.",
        "A client that times out after one second and repeats at once gets this answer.",
    ),
    ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT: ErrorHelp(
        "The first request created something with a secret that is shown once and never stored.",
        "Look the object up by `metadata.id`; rotate it where its secret was lost.",
        "`POST …/keys` repeated with the same key: the key exists, its secret is not shown again.",
    ),
    ErrorCode.PAYLOAD_TOO_LARGE: ErrorHelp(
        "The body is larger than any valid request.",
        "Send only the documented members.",
        "A body with an embedded file instead of a swap request.",
    ),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: ErrorHelp(
        "The `Content-Type` header is missing or is not JSON.",
        "Send `Content-Type: application/json`.",
        "`curl --data` without a header sends `application/x-www-form-urlencoded`.",
    ),
    ErrorCode.RATE_LIMITED: ErrorHelp(
        "The app, or one client of a publishable key, made more requests than its limit.",
        "Wait for `Retry-After` seconds; follow `RateLimit-Remaining`, and use webhooks "
        "instead of polling.",
        "A loop that reads a swap every 10 ms gets this answer.",
    ),
    ErrorCode.UNEXPECTED_ERROR: ErrorHelp(
        "A defect of the service. The request may or may not have taken effect.",
        "Repeat it with the same idempotency key; report `metadata.request_id` if it stays.",
        "The operator finds the request in the logs by its `request_id`.",
    ),
    ErrorCode.SERVICE_UNAVAILABLE: ErrorHelp(
        "A database, a node or another service of the deployment does not answer now.",
        "Repeat with backoff and the same idempotency key; `GET /api/v2/status` shows each "
        "network.",
        "During a database failover every write gets this answer for some seconds.",
    ),
    ErrorCode.ROUTE_NOT_FOUND_ERROR: ErrorHelp(
        "A network or token is misspelled or of another environment, the pair is closed, or "
        "has no price.",
        "Compare with `GET /api/v2/networks` and `GET /api/v2/destinations`; `Rate not "
        "available` passes by itself.",
        '`ETHEREUM_DEVENT` gives `"source_network": "is not served; the nearest is '
        'ETHEREUM_DEVNET"`.',
    ),
    ErrorCode.LESS_THAN_MIN_ERROR: ErrorHelp(
        "The amount is below the route's minimum, which covers the cost of a refund. Or it is zero "
        "once it is cut to the token's precision.",
        "Send at least `metadata.AmountLimit`; the message names it with its token. "
        "`GET /api/v2/limits` gives both limits of a route.",
        "`The amount is below the minimum of this route: the smallest is 1.5 USDC`",
    ),
    ErrorCode.GREATER_THAN_MAX_ERROR: ErrorHelp(
        "The amount is above the route's maximum.",
        "Send at most `metadata.AmountLimit`, or create several swaps.",
        "`The amount is above the maximum of this route: the largest is 50000 USDC`",
    ),
    ErrorCode.INVALID_ADDRESS_ERROR: ErrorHelp(
        "The address has the wrong length or checksum for its network, or is a contract of "
        "the service.",
        "Read `metadata.field_errors`, and copy the address from the wallet again.",
        "An address with one wrong letter fails its checksum.",
    ),
    ErrorCode.BLACKLISTED_ADDRESS: ErrorHelp(
        "The operator's policy or a sanctions list refuses the address.",
        "Use another address, or ask the operator of the deployment. A retry gives the same "
        "answer.",
        "`metadata.field_errors` names the member, such as `destination_address`.",
    ),
    ErrorCode.PRICE_IMPACT_TOO_HIGH: ErrorHelp(
        "Fees and price leave too little of the amount. No route of this version gives this "
        "answer.",
        "Send a larger amount, or wait for lower gas prices.",
        "A transfer of a few cents to a network with expensive gas.",
    ),
    ErrorCode.INSUFFICIENT_LIQUIDITY: ErrorHelp(
        "The inventory on the destination network is smaller than the payout.",
        "Send at most `metadata.AmountLimit`, or try again later: the operator refills the "
        "inventory.",
        "`GET /api/v2/limits` shows a maximum that follows the inventory.",
    ),
    ErrorCode.CONFLICTING_FUNDING_METHODS: ErrorHelp(
        "`use_deposit_address` is true together with `use_depository` or `use_gasless`.",
        "Send one of them, or none for a direct transfer.",
        '`{"use_depository": true, "use_deposit_address": true}`',
    ),
    ErrorCode.UNSUPPORTED_DEPOSITORY: ErrorHelp(
        "The source network has no Depository contract, or the operator closed it.",
        "Leave `use_depository` out, or choose another method of `deposit_methods`.",
        '`{"use_depository": true}` from a network without `contracts.depository`.',
    ),
    ErrorCode.QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS: ErrorHelp(
        "The source network has no factory of deposit addresses, or the token cannot be swept.",
        "Leave `use_deposit_address` out; `GET /api/v2/sources` shows where it works.",
        '`{"use_deposit_address": true}` from a network that has no factory.',
    ),
    ErrorCode.UNSUPPORTED_GASLESS: ErrorHelp(
        "The token has neither EIP-3009 nor EIP-2612 here, or is the network's own coin.",
        "Leave `use_gasless` out; tokens name their `gasless_standard` in `GET /api/v2/networks`.",
        '`{"source_token": "ETH", "use_gasless": true}`',
    ),
    ErrorCode.REFUND_ADDRESS_REQUIRED: ErrorHelp(
        "The route goes through a swap provider, which may fail after the deposit.",
        "Send `refund_address`, an address of the user on the source network.",
        '`"field_errors": {"refund_address": "is missing"}`',
    ),
    ErrorCode.SOURCE_ADDRESS_REQUIRED: ErrorHelp(
        "The data to sign names its signer, and the request does not.",
        "Pass the address of the connected wallet as `source_address`.",
        "`GET /api/v2/swaps/{swapId}/deposit_actions?source_address=0x…`",
    ),
    ErrorCode.AUTHORIZATION_NOT_REQUESTED: ErrorHelp(
        "A signature was sent before the data to sign was read.",
        "Read `deposit_actions`, let the wallet sign its `typed_data`, then send the signature.",
        "`POST …/authorize` as the first request after the creation.",
    ),
    ErrorCode.AUTHORIZATION_ALREADY_SUBMITTED: ErrorHelp(
        "The swap has a valid signature already; it is being sent or was sent.",
        "Read the swap; there is nothing more to sign.",
        "A user who clicks twice gets this answer the second time.",
    ),
    ErrorCode.AUTHORIZATION_EXPIRED: ErrorHelp(
        "The signature's `valid_before` passed before it could be sent.",
        "Read `deposit_actions` again and let the user sign the new data.",
        "A wallet dialog that stayed open for an hour.",
    ),
    ErrorCode.SIGNATURE_INVALID: ErrorHelp(
        "The signature is of another wallet, of other data, or of another chain id.",
        "Sign the `typed_data` unchanged, with the wallet that `source_address` names.",
        "`eth_sign` of a hash instead of `eth_signTypedData_v4`.",
    ),
    ErrorCode.INSUFFICIENT_SIGNER_BALANCE: ErrorHelp(
        "The wallet holds less of the token than the deposit amount at this moment.",
        "Let the user add the token, then send the same signature again.",
        "A signature over 120 USDC by a wallet that holds 100 USDC.",
    ),
    ErrorCode.SWAP_NOT_PAYABLE: ErrorHelp(
        "The swap is paid, expired or closed, so it takes no deposit and no signature.",
        "Read its status; create a new swap where the user still wants one.",
        "`POST …/authorize` an hour after the swap expired.",
    ),
    ErrorCode.DEPOSIT_NOT_ATTACHABLE: ErrorHelp(
        "The transfer belongs to a swap, was refunded or claimed, or has another token or "
        "receiver.",
        "Check the transaction's network, token and receiver; ask the operator with its hash.",
        "A transfer that the operator has already refunded.",
    ),
    ErrorCode.TOO_MANY_PENDING_SWAPS: ErrorHelp(
        "The app has as many unpaid swaps or open deposit addresses as its limit.",
        "Create a swap when the user is about to pay; unpaid swaps expire and free their place.",
        "A page that creates a swap on every keystroke.",
    ),
    ErrorCode.PAYOUTS_PAUSED: ErrorHelp(
        "Payouts to the destination, or for deposits on the source, are stopped or halted. "
        "Or one of the networks is closed to new swaps.",
        "Try again after `Retry-After`; `GET /api/v2/status` shows both networks. "
        "Swaps that are already paid are paid out afterwards.",
        "`Payouts to Base are paused for the moment; try again later`",
    ),
    ErrorCode.ACCESS_TOKEN_REQUIRED: ErrorHelp(
        "A path below `/management/v1` was called without a member's token.",
        "Send `Authorization: Bearer TOKEN`; an API key does not open these paths.",
        "`swapctl token create laptop` makes a token.",
    ),
    ErrorCode.ACCESS_TOKEN_FORBIDDEN: ErrorHelp(
        "The token is unknown, revoked or expired, or its member was removed.",
        "Create a new token, or ask an owner for a new invitation.",
        "A token of a member who left the organization.",
    ),
    ErrorCode.ROLE_TOO_LOW: ErrorHelp(
        "The action needs a higher role than the member has.",
        "Ask an owner or admin to do it, or to raise the role.",
        "A viewer who creates an API key.",
    ),
    ErrorCode.INVITATION_INVALID: ErrorHelp(
        "The invitation was used, revoked, or is older than its lifetime.",
        "Ask an owner or admin for a new invitation.",
        "`swapctl member join` with the same invitation twice.",
    ),
    ErrorCode.LAST_OWNER: ErrorHelp(
        "The change would remove the last owner, so no member could manage the organization.",
        "Make another member an owner first.",
        "The only owner lowers their own role.",
    ),
    ErrorCode.KEY_CLOSED: ErrorHelp(
        "The key was revoked, or its expiry passed.",
        "Create a new key.",
        "`swapctl key rotate` of a key that was revoked.",
    ),
    ErrorCode.LIMIT_REACHED: ErrorHelp(
        "The organization, app or swap has the largest allowed number of these objects.",
        "Remove one that is not used, or use one that exists; `metadata.limit` names the bound and "
        "`metadata.most` its value.",
        "A further webhook endpoint when the app has the most it may have.",
    ),
    ErrorCode.DISABLED_BY_OPERATOR: ErrorHelp(
        "The operator disabled the webhook endpoint, for example because it failed for days.",
        "Repair the receiver, then ask the operator to enable the endpoint.",
        "`swapctl webhook enable` with a member's token.",
    ),
}
