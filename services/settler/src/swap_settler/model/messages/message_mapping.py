"""Maps messages to the facts and terms that decisions use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from swap_chains.evm.codec import intent_id
from swap_chains.evm.deposit_addresses import deposit_address
from swap_chains.evm.memos import memo_number
from swap_contracts.deposits import DepositChanged
from swap_contracts.payouts import PayoutChanged
from swap_contracts.quoting import Quote
from swap_contracts.swaps import SwapRequested
from swap_domain.catalogue import Catalogue, Network
from swap_domain.lifecycle import Status
from swap_domain.money import Asset
from swap_runtime.errors import Unprocessable
from swap_settler.model.chain_facts import DepositFact, FactState, PayoutFact, SweptFact
from swap_settler.model.swap import (
    Deposit,
    DepositState,
    IntentKind,
    Leg,
    Method,
    QuoteTerms,
    Swap,
    Terms,
)
from swap_settler.model.targets import DepositTarget
from swap_settler.model.treasury import Withdrawal

MAIN_LEG: Final = "main"
METHODS: Final = {
    "deposited": Method.DEPOSITORY,
    "token_transfer": Method.DIRECT,
    "native_received": Method.DIRECT,
    "balance_rose": Method.DEPOSIT_ADDRESS,
}
FOREIGN_RECEIVER: Final = "foreign_receiver"
SWEPT: Final = "swept"
WITHDRAWN: Final = "withdrawn"
NO_DEPOSITS: Final = (SWEPT, WITHDRAWN)
Place = tuple[str, str]  # network and address
NOWHERE: Final[Mapping[Place, int]] = MappingProxyType({})


def paid_id_of(swap: Swap) -> int:
    """Return what the Treasury accepts once for the payout of the swap's main leg."""
    return intent_id(swap.id, IntentKind.OUTPUT.value, MAIN_LEG)


def refund_id_of(swap: Swap, leg: Leg) -> int:
    """Return what the Treasury accepts once for the refund of a leg."""
    return intent_id(swap.id, IntentKind.REFUND.value, MAIN_LEG if leg is None else str(leg))


def refuel_id_of(swap: Swap) -> int:
    """Return what the Treasury accepts once for the swap's refuel."""
    return intent_id(swap.id, IntentKind.REFUEL.value, MAIN_LEG)


def to_swap(body: SwapRequested, *, at: datetime) -> Swap:
    return Swap(
        id=body.swap_id,
        terms=Terms(
            sequence_number=body.sequence_number,
            app_id=body.app_id,
            method=Method(body.method),
            source=Asset(body.source.network, body.source.token, body.source.decimals),
            destination=Asset(
                body.destination.network, body.destination.token, body.destination.decimals
            ),
            source_address=body.source_address,
            destination_address=body.destination_address,
            refund_address=body.refund_address,
            reference_id=body.reference_id,
            created_at=body.created_at,
        ),
        quote=to_quote_terms(body.quote, expires_at=body.quote_expires_at),
        status=Status.DEPOSIT_PENDING,
        sequence=1,
        expires_at=body.expires_at,
        changed_at=at,
    )


def to_quote_terms(quote: Quote, *, expires_at: datetime) -> QuoteTerms:
    return QuoteTerms.of(quote.model_dump_json(), expires_at=expires_at)


class MessageMapper:
    """Maps messages to facts, with the addresses and tokens of the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def serves_network(self, network: str) -> bool:
        return network in self._catalogue.networks

    def require(self, network: str) -> None:
        """
        :raises UnknownNetwork: when the catalogue does not name it.
        """
        self._catalogue.network(network)

    def place(self, body: DepositChanged) -> Place | None:
        """Return where it came to, if that is no Treasury: perhaps a deposit address."""
        treasury = self._catalogue.network(body.network).contracts.treasury
        return None if body.to_address == treasury else (body.network, body.to_address)

    def deposit(
        self, body: DepositChanged, *, received_at: datetime, numbers: Mapping[Place, int] = NOWHERE
    ) -> DepositFact:
        """
        :param numbers: the swap's number of each address that is a deposit address.
        :raises UnknownNetwork: when the catalogue does not name it.
        """
        network = self._catalogue.network(body.network)
        number = numbers.get((body.network, body.to_address))
        reason, method = body.quarantine_reason, METHODS[body.kind]
        if number is not None:
            method = Method.DEPOSIT_ADDRESS
        else:
            number, reason = _sequence_number(body), reason or _route_mismatch(body, network)
        if reason is None and method is Method.DIRECT and _is_funder(network, body.from_address):
            method = Method.FUNDING
        deposit = Deposit(
            id=body.deposit_id,
            swap_id=None,
            version=body.version,
            state=DepositState.QUARANTINED if reason else DepositState.SEEN,
            method=method,
            network=body.network,
            token=body.token,
            base_units=int(body.base_units),
            returned_base_units=0,
            is_booked=False,
            transaction_hash=body.transaction_hash,
            block_number=body.block_number,
            block_hash=body.block_hash,
            block_time=body.block_time,
            from_address=body.from_address,
            to_address=body.to_address,
            confirmations_required=body.confirmations_required,
            sequence_number=number,
            memo=body.memo,
            quarantine_reason=reason,
            received_at=received_at,
            came_after=body.came_after,
        )
        return DepositFact(FactState(body.state), deposit)

    def is_ours(self, deposit: Deposit) -> bool:
        """Whether it is a catalogue's token in our custody: what the ledger can book."""
        network = self._catalogue.network(deposit.network)
        is_known = any(token.address == deposit.token for token in network.tokens)
        is_at_address = deposit.method is Method.DEPOSIT_ADDRESS and not deposit.quarantine_reason
        return is_known and (is_at_address or deposit.to_address == network.contracts.treasury)

    def withdrawal(self, body: DepositChanged) -> Withdrawal | None:
        """Return what was taken out; None for a token that is not in the ledger."""
        treasury = self.treasury(body.network, body.token)
        if treasury is None:
            return None
        assert body.transaction_hash is not None
        return Withdrawal(
            id=body.deposit_id,
            version=body.version,
            state=body.state,
            network=body.network,
            token=body.token,
            treasury=treasury,
            to_address=body.to_address,
            base_units=int(body.base_units),
            transaction_hash=body.transaction_hash,
            block_number=body.block_number,
            block_hash=body.block_hash,
            block_time=body.block_time,
        )

    def to_swept_fact(self, body: DepositChanged) -> SweptFact | None:
        """Return what was swept; None for a token that is not in the ledger.

        Anyone may sweep any token, including one that emits false logs.
        """
        if self.treasury(body.network, body.token) is None:
            return None
        assert body.from_address is not None
        assert body.transaction_hash is not None
        return SweptFact(
            id=body.deposit_id,
            version=body.version,
            state=body.state,
            network=body.network,
            token=body.token,
            from_address=body.from_address,
            base_units=int(body.base_units),
            transaction_hash=body.transaction_hash,
            block_number=body.block_number,
            block_hash=body.block_hash,
            block_time=body.block_time,
        )

    def target(self, body: SwapRequested) -> DepositTarget | None:
        """Return the deposit address of a swap that requested one.

        :raises Unprocessable: when its network has none.
        """
        if body.method != Method.DEPOSIT_ADDRESS.value:
            return None
        network = self._catalogue.network(body.source.network)
        addresses = network.contracts.deposit_addresses
        if addresses is None:
            raise Unprocessable(f"{network.name} has no deposit addresses")
        number = body.sequence_number
        address = deposit_address(addresses.factory, addresses.init_code_hash, number)
        return DepositTarget(network.name, address, number, body.created_at)

    def payout(self, body: PayoutChanged) -> PayoutFact:
        return PayoutFact(
            paid_id=int(body.intent_id),
            version=body.version,
            state=FactState(body.state),
            network=body.network,
            transaction_hash=body.transaction_hash,
            block_number=body.block_number,
            block_hash=body.block_hash,
            block_time=body.block_time,
            token=body.token,
            to_address=body.to_address,
            base_units=int(body.base_units),
        )

    def treasury_of(self, network: str) -> str:
        """
        :raises UnknownNetwork: when the catalogue does not name it.
        """
        return self._catalogue.network(network).contracts.treasury

    def treasury(self, network: str, token: str) -> str | None:
        """Return who holds a catalogue's token; None for any other."""
        entry = self._catalogue.network(network)
        is_known = any(known.address == token for known in entry.tokens)
        return entry.contracts.treasury if is_known else None


def _sequence_number(body: DepositChanged) -> int | None:
    """Return the swap that it names: by the Depository's log, else by its memo."""
    if body.sequence_number is not None or body.memo is None:
        return body.sequence_number
    return memo_number(bytes.fromhex(body.memo.removeprefix("0x")))


def _route_mismatch(body: DepositChanged, network: Network) -> str | None:
    """A swap is credited only with what the Treasury got, or its own deposit address."""
    return None if body.to_address == network.contracts.treasury else FOREIGN_RECEIVER


def _is_funder(network: Network, address: str | None) -> bool:
    return address is not None and address.lower() in {f.lower() for f in network.funders}
