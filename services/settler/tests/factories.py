"""Swaps, messages and a catalogue for the settler's tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from coincurve import PrivateKey

from swap_chains.evm.codec import checksum_address, keccak
from swap_chains.evm.personal_signatures import personal_digest
from swap_chains.evm.signatures import normalise
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_contracts.quoting import AssetRef, FundingMethod, Quote
from swap_contracts.swaps import DepositAttached, RefundAddressSet, SwapRequest, SwapRequested
from swap_contracts.topics import DEPOSIT_CHANGED, PAYOUT_CHANGED, SWAP_REQUESTS
from swap_domain.attaching import ReceivedTransfer, SwapAddresses, text_of
from swap_domain.catalogue import Catalogue
from swap_domain.catalogue_document import catalogue_from
from swap_settler.model.chain_facts import DepositFact, PayoutFact
from swap_settler.model.changes import Changes
from swap_settler.model.messages.message_mapping import MessageMapper, paid_id_of, to_swap
from swap_settler.model.swap import Deposit, Intent, IntentState, Swap
from tests.support import networks

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
QUOTED_UNTIL = NOON + 5 * MINUTE
DEADLINE = NOON + 6 * HOUR
LATER = NOON + 30 * MINUTE  # after the quote's expiry, before the swap's

ETHEREUM, POLYGON = "ETHEREUM_DEVNET", "POLYGON_DEVNET"
USDC = {ETHEREUM: "0x" + "a1" * 20, POLYGON: "0x" + "b1" * 20}
UNKNOWN_TOKEN = "0x" + "99" * 20
TREASURY = {ETHEREUM: "0x" + "e1" * 20, POLYGON: "0x" + "e2" * 20}
OWNER, RECIPIENT = "0x" + "f1" * 20, "0x" + "f3" * 20
USERS_KEY = PrivateKey(b"\xf2" * 32)
USER = checksum_address(
    "0x" + keccak(USERS_KEY.public_key.format(compressed=False)[1:])[-20:].hex()
)
SIGNER = "0x" + "c1" * 20
DEPOSIT_ADDRESSES = {"factory": "0x" + "da" * 20, "init_code_hash": "0x" + "db" * 32}
SOME = UUID(int=1)

REQUESTED, FEE, PAYOUT = 1_000_000, 1_000, 998_000
REFUEL, REFUEL_CHARGED = 10**15, 2_000
PLENTY = 10**12


def a_catalogue() -> Catalogue:
    return catalogue_from(a_catalogue_document(), to_address=str)


def a_catalogue_document() -> dict[str, Any]:
    return {
        "environment": "test",
        "networks": [
            _network(ETHEREUM, 31337, payout_confirmations=3),
            _network(POLYGON, 31338, payout_confirmations=None),
        ],
        "routes": [],
    }


def _network(name: str, chain_id: int, *, payout_confirmations: int | None) -> dict[str, Any]:
    return networks.a_network(
        name,
        chain_id,
        networks.ETH,
        {"symbol": "USDC", "contract": USDC[name], "decimals": 6},
        payout_confirmations=payout_confirmations,
        finality_blocks=64,
        contracts={
            "treasury": TREASURY[name],
            "depository": "0x" + "d1" * 20,
            "deposit_addresses": DEPOSIT_ADDRESSES,
        },
        signers=[SIGNER],
        funders=[OWNER.upper().replace("X", "x")],
        gas={
            "pay_native": 75_000,
            "pay_erc20": 95_000,
            "sweep_native": 90_000,
            "sweep_erc20": 110_000,
        },
        max_fee_per_gas=10**11,
    )


MAPPER = MessageMapper(a_catalogue())


def a_quote(
    *,
    requested: int = REQUESTED,
    fee: int = FEE,
    payout: int = PAYOUT,
    refuel: bool = False,
) -> Quote:
    return Quote(
        source=AssetRef(network=ETHEREUM, token=USDC[ETHEREUM], decimals=6),
        destination=AssetRef(network=POLYGON, token=USDC[POLYGON], decimals=6),
        requested_base_units=str(requested),
        receive_base_units=str(payout),
        min_receive_base_units=str(payout * 99 // 100),
        blockchain_fee_base_units=str(fee),
        service_fee_base_units="0",
        total_fee_base_units=str(fee),
        fee_discount_base_units="0",
        refuel_in_source_base_units=str(REFUEL_CHARGED) if refuel else None,
        refuel_base_units=str(REFUEL) if refuel else None,
        slippage_ppm=10_000,
        source_usd_e18=str(10**18),
        destination_usd_e18=str(10**18),
        source_native_usd_e18=str(10**18),
        destination_native_usd_e18=str(10**18),
        completion_milliseconds=1000,
        path=(),
    )


def swap_id(number: int) -> UUID:
    return uuid5(SOME, f"swap/{number}")


def a_request(
    number: int = 7, *, method: FundingMethod = "depository", **amounts: Any
) -> Envelope[SwapRequest]:
    quote = a_quote(**amounts)
    body = SwapRequested(
        swap_id=swap_id(number),
        app_id=SOME,
        sequence_number=number,
        reference_id="r",
        method=method,
        source=quote.source,
        destination=quote.destination,
        source_address=None,
        destination_address=RECIPIENT,
        refund_address=None,
        created_at=NOON,
        expires_at=DEADLINE,
        quote=quote,
        quote_expires_at=QUOTED_UNTIL,
    )
    return SWAP_REQUESTS.seal(body, version="requested", occurred_at=NOON, trace_id="asked")


def a_refund_address(number: int = 7, address: str = USER) -> Envelope[SwapRequest]:
    body = RefundAddressSet(swap_id=swap_id(number), refund_address=address)
    return SWAP_REQUESTS.seal(body, version=f"refund/{address}", occurred_at=NOON, trace_id="told")


def an_attachment(
    transfer: Envelope[DepositChanged],
    *,
    number: int = 7,
    refund_address: str | None = None,
    at: datetime = NOON,
    nth: int = 0,
    **overrides: Any,
) -> Envelope[SwapRequest]:
    """The api's message about a signature by the user's key; `overrides` replace its fields."""
    text = a_text(transfer.body, number=number, refund_address=refund_address)
    signature = USERS_KEY.sign_recoverable(personal_digest(text), hasher=None)
    body = DepositAttached.model_validate(
        {
            "swap_id": swap_id(number),
            "deposit_id": transfer.body.deposit_id,
            "signer": USER,
            "signature": "0x" + normalise(signature).hex(),
            "text": text,
            "signed_at": at,
        }
        | overrides
    )
    return SWAP_REQUESTS.seal(
        body, version=f"attached/{body.deposit_id}/{nth}", occurred_at=at, trace_id="signed"
    )


def a_text(body: DepositChanged, *, number: int = 7, refund_address: str | None = None) -> str:
    transfer = ReceivedTransfer(
        body.deposit_id,
        network=body.network,
        transaction_hash=body.transaction_hash or "",
        token=body.token,
        base_units=int(body.base_units),
        from_address=body.from_address or "",
        to_address=body.to_address,
    )
    destined = SwapAddresses(
        swap_id(number),
        source_network=ETHEREUM,
        destination_network=POLYGON,
        destination_address=checksum_address(RECIPIENT),
        refund_address=refund_address,
    )
    return text_of(transfer, destined, chain_id=31337)


def a_swap(number: int = 7, *, refund_address: str | None = None, **amounts: Any) -> Swap:
    body = a_request(number, **amounts).body
    assert isinstance(body, SwapRequested)
    with_address = body.model_copy(update={"refund_address": refund_address})
    return to_swap(with_address, at=NOON)


def a_deposit_message(
    state: str = "confirmed",
    *,
    version: int | None = None,
    number: int | None = 7,
    nth: int = 0,
    units: int = REQUESTED,
    **more: object,
) -> Envelope[DepositChanged]:
    newest = {"seen": 1, "confirmed": 2, "reverted": 3}[state] if version is None else version
    body = DepositChanged.model_validate(
        {
            "deposit_id": uuid5(SOME, f"{number}/{nth}"),
            "version": newest,
            "state": state,
            "kind": "deposited",
            "network": ETHEREUM,
            "transaction_hash": f"0x{nth:064x}",
            "block_number": 100 + newest,
            "block_hash": f"0x{newest:064x}",
            "block_time": NOON + MINUTE,
            "from_address": USER,
            "to_address": TREASURY[ETHEREUM],
            "token": USDC[ETHEREUM],
            "base_units": str(units),
            "confirmations_required": 2,
            "sequence_number": number,
        }
        | more
    )
    return DEPOSIT_CHANGED.seal(
        body, version=newest, occurred_at=NOON, trace_id=f"deposit/{newest}"
    )


def funding(
    network: str = POLYGON, units: int = PLENTY, *, token: str | None = None
) -> Envelope[DepositChanged]:
    return a_deposit_message(
        number=None,
        units=units,
        kind="token_transfer",
        network=network,
        token=token or USDC[network],
        to_address=TREASURY[network],
        from_address=OWNER,
        deposit_id=uuid5(SOME, f"funding/{network}/{token}/{units}"),
    )


def a_deposit_fact(
    state: str = "confirmed", *, received_at: datetime = NOON + MINUTE, **more: Any
) -> DepositFact:
    return MAPPER.deposit(a_deposit_message(state, **more).body, received_at=received_at)


def a_deposit(state: str = "seen", **more: Any) -> Deposit:
    return a_deposit_fact(state, **more).deposit


def a_payout_message(
    state: str = "confirmed",
    *,
    swap: Swap | None = None,
    version: int | None = None,
    transaction_hash: str = "0x" + "11" * 32,
    **more: object,
) -> Envelope[PayoutChanged]:
    newest = {"seen": 1, "confirmed": 2, "reverted": 3}[state] if version is None else version
    body = PayoutChanged.model_validate(
        {
            "intent_id": str(paid_id_of(swap or a_swap())),
            "version": newest,
            "state": state,
            "network": POLYGON,
            "transaction_hash": transaction_hash,
            "block_number": 500,
            "block_hash": "0x" + "22" * 32,
            "block_time": NOON + 2 * MINUTE,
            "token": USDC[POLYGON],
            "to_address": RECIPIENT,
            "base_units": str(PAYOUT),
        }
        | more
    )
    return PAYOUT_CHANGED.seal(body, version=newest, occurred_at=NOON, trace_id=f"payout/{newest}")


def a_payout(state: str = "confirmed", **more: Any) -> PayoutFact:
    return MAPPER.payout(a_payout_message(state, **more).body)


def with_signed_attempts(
    intent: Intent, *hashes: str, state: IntentState = IntentState.BROADCAST
) -> Intent:
    """Return the intent after the sender lane stored signed attempts on an open slot."""
    return replace(
        intent,
        state=state,
        slot_at=NOON,
        attempts=frozenset(hashes or {"0x" + "11" * 32}),
        has_open_attempt=True,
    )


def swap_of(change: Changes) -> Swap:
    assert change.swap is not None
    return change.swap


def output_of(swap: Swap) -> Intent:
    assert swap.output is not None
    return swap.output
