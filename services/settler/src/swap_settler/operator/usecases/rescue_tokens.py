"""Unsolicited tokens at addresses of the service: where they are, and how they are returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.errors import ChainError
from swap_chains.evm.codec import (
    ZERO_ADDRESS,
    encode_balance_of,
    encode_withdraw,
)
from swap_chains.evm.deposit_addresses import Sweep, encode_sweep
from swap_chains.ports import Call, ChainReader, ReportedTransfer, ReportedTransfers
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.operator import observe
from swap_settler.operator.decide.rescues import ReturnOrder
from swap_settler.operator.store.rescues import PostgresRescues, UnmatchedDeposit
from swap_settler.operator.usecases.recipients import recipient_of
from swap_settler.records import Record

VIEW_GAS: Final = 100_000
WORD: Final = 32
LISTED_MAX: Final = 500
# An order names each transfer that it returns. More come from airdrops to many addresses.
RETURNED_MAX: Final = 50
IN_CATALOGUE: Final = "a token of the catalogue: "
NOT_YET: Final = (
    f"{IN_CATALOGUE}its swap has it (swapctl trail), or it is not final yet (swapctl claimable)"
)
ASK: Final = "find the owner, then again with --to and --reason; a second operator approves"
CHANGED: Final = "the transfer or its recipient has changed since: order it again"
BY_OWNER: Final = "the owner of the Treasury sends the calls in turn; no one else can return it"


@dataclass(frozen=True, slots=True)
class ReturnedTransfer:
    """A transfer that an order returns, and to whom the latest order before it did."""

    token: str
    from_address: str
    to_address: str
    base_units: int
    returned_to: str | None


@dataclass(frozen=True, slots=True)
class Return:
    """The recipient of a token that is in no catalogue, the operator and the reason: one token of
    one sender.
    """

    to_address: str
    by: str
    reason: str
    token: str | None = None  # None: there is one
    from_address: str | None = None
    # What the order is bound to: with others, nothing is ordered. None: whichever there are.
    transfers: Sequence[ReturnedTransfer] | None = None

    def is_of(self, one: ReportedTransfer) -> bool:
        return _is_same(self.token, one.token) and _is_same(self.from_address, one.from_address)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """What a transaction brought to addresses of the service."""

    network: Network
    transaction_hash: str
    received: Sequence[ReportedTransfer]
    numbers: Mapping[str, int]  # of the swaps, by deposit address
    is_final: bool

    @property
    def unknown(self) -> Sequence[ReportedTransfer]:
        """Return the transfers of tokens outside the catalogue."""
        return [one for one in self.received if not _is_known(self.network, one.token)]


class RescueTokens:
    """Look a transaction up, and say of each token that it brought how its owner gets it.

    A token outside the catalogue is in no ledger: no lane pays it, because its contract may do
    anything. The owner of the Treasury returns it by the calls that are listed here, after two
    operators have named the recipient. The operators and their reasons are stored and returned to
    later requests.
    """

    def __init__(
        self, rescues: PostgresRescues, *, catalogue: Catalogue, chains: Mapping[str, ChainReader]
    ) -> None:
        self._rescues = rescues
        self._catalogue = catalogue
        self._chains = chains

    async def __call__(
        self, network_name: str, transaction_hash: str, *, back: Return | None = None
    ) -> Sequence[Record]:
        """
        :param back: for tokens outside the catalogue.
        :raises RequestRefused: when it brought nothing, there is nothing to return yet, or no
            recipient is named. Also when it changed since the order, or money would be lost.
        :raises Unavailable: when no node answers.
        """
        network, chain = self._find_network(network_name)
        try:
            arrival = await self._find(network, chain, transaction_hash)
            if back is not None:
                await self._order(arrival, back)
            held = await _current_balances(chain, arrival.unknown)
        except ChainError as error:
            raise Unavailable(str(error)) from error
        deposits = await self._rescues.unmatched_deposits(network.name, transaction_hash)
        orders = await self._rescues.find_ordered(network.name, transaction_hash)
        return [
            {
                "token": one.token,
                "symbol": _symbol(network, one.token),
                "base_units": str(one.base_units),
                "from": one.from_address,
                "to": one.to_address,
                "is_final": arrival.is_final,
                "held_there": held.get(one),
                **_return_record(
                    network, one, deposits, orders, arrival.numbers.get(one.to_address)
                ),
            }
            for one in arrival.received
        ]

    async def find_returned(
        self, network_name: str, transaction_hash: str, back: Return
    ) -> Sequence[ReturnedTransfer]:
        """Return what an order would return now, and order nothing.

        :raises RequestRefused: as above.
        :raises Unavailable: when no node answers.
        """
        network, chain = self._find_network(network_name)
        try:
            arrival = await self._find(network, chain, transaction_hash)
        except ChainError as error:
            raise Unavailable(str(error)) from error
        chosen, _ = self._choose(arrival, back)
        orders = await self._rescues.find_ordered(network.name, transaction_hash)
        return _to_returned(chosen, orders)

    async def list_orders(self, *, before: int | None, limit: int) -> Sequence[ReturnOrder]:
        """Return what was ordered of all transactions, newest first.

        :param before: only orders with a lower id.
        """
        return await self._rescues.newest(before=before, limit=min(limit, LISTED_MAX))

    def _find_network(self, name: str) -> tuple[Network, ChainReader]:
        network, chain = self._catalogue.networks.get(name), self._chains.get(name)
        if network is None or chain is None:
            raise RequestRefused(f"{name} is not a network of the catalogue")
        return network, chain

    async def _find(self, network: Network, chain: ChainReader, transaction_hash: str) -> _Arrival:
        transfers = await chain.reported_transfers(transaction_hash)
        final = (await chain.final_block()).number
        numbers, received = await self._read_arrivals(network, transaction_hash, transfers)
        assert transfers is not None
        is_final = transfers.block.number <= final
        return _Arrival(network, transaction_hash, received, numbers, is_final)

    async def _read_arrivals(
        self, network: Network, transaction_hash: str, transfers: ReportedTransfers | None
    ) -> tuple[Mapping[str, int], Sequence[ReportedTransfer]]:
        if transfers is None:
            raise RequestRefused(f"{transaction_hash} is in no block")
        if not transfers.succeeded:
            raise RequestRefused(f"{transaction_hash} failed: it moved nothing")
        receivers = {one.to_address for one in transfers.transfers}
        numbers = await self._rescues.deposit_addresses(network.name, receivers)
        ours = {network.contracts.treasury, *numbers}
        received = [one for one in transfers.transfers if one.to_address in ours and one.base_units]
        if not received:
            raise RequestRefused(f"{transaction_hash} transfers no token to an address of ours")
        return numbers, received

    def _choose(self, arrival: _Arrival, back: Return) -> tuple[Sequence[ReportedTransfer], str]:
        """Return the transfers that go back, and the checked address of their owner."""
        to = recipient_of(self._catalogue, arrival.network.name, back.to_address)
        if not arrival.unknown:
            raise RequestRefused("all of it is of tokens of the catalogue: see swapctl claimable")
        if not arrival.is_final:
            raise RequestRefused(f"{arrival.transaction_hash} is not final yet")
        return _transfers_to_return(arrival.unknown, back, to), to

    async def _order(self, arrival: _Arrival, back: Return) -> None:
        chosen, to = self._choose(arrival, back)
        name, transaction_hash = arrival.network.name, arrival.transaction_hash

        def require_unchanged(orders: Sequence[ReturnOrder]) -> None:
            if back.transfers not in (None, _to_returned(chosen, orders)):
                raise RequestRefused(CHANGED)

        order = {"returned_to": to, "by": back.by, "reason": back.reason}
        await self._rescues.order(
            name, transaction_hash, chosen, **order, require_unchanged=require_unchanged
        )
        observe.rescue_ordered(name, transaction_hash, to, by=back.by, reason=back.reason)


def _to_returned(
    chosen: Sequence[ReportedTransfer], orders: Sequence[ReturnOrder]
) -> Sequence[ReturnedTransfer]:
    return [
        ReturnedTransfer(
            one.token,
            one.from_address,
            one.to_address,
            one.base_units,
            next((order.returned_to for order in reversed(orders) if _is_of(order, one)), None),
        )
        for one in chosen
    ]


def _is_of(order: ReturnOrder, one: ReportedTransfer) -> bool:
    """Whether an order is about a transfer. Equal transfers of a transaction share their orders."""
    return (order.token, order.from_address, order.to_address, order.base_units) == (
        one.token,
        one.from_address,
        one.to_address,
        one.base_units,
    )


def _return_record(
    network: Network,
    one: ReportedTransfer,
    deposits: Sequence[UnmatchedDeposit],
    orders: Sequence[ReturnOrder],
    number: int | None,
) -> Record:
    place = (one.token, one.to_address, one.base_units)
    record = next((k for k in deposits if (k.token, k.to_address, k.base_units) == place), None)
    shown: dict[str, object] = {"recorded": record and (record.quarantine_reason or record.state)}
    if _is_known(network, one.token):
        waits = record is not None and record.claimable_id is not None
        pay = f"{IN_CATALOGUE}swapctl claimable pay {record and record.claimable_id} --to ADDRESS"
        return {**shown, "act": pay if waits else NOT_YET, "ordered": [], "calls": []}
    ordered = [order for order in orders if _is_of(order, one)]
    calls = _calls(network, one, ordered[-1].returned_to, number) if ordered else []
    orders_shown = [
        {"to": o.returned_to, "by": o.by, "reason": o.reason, "at": o.at.isoformat()}
        for o in ordered
    ]
    return {**shown, "act": BY_OWNER if ordered else ASK, "ordered": orders_shown, "calls": calls}


def _calls(
    network: Network, one: ReportedTransfer, to: str, number: int | None
) -> Sequence[Mapping[str, str]]:
    """Return what brings it to the Treasury, if it is elsewhere, and from there to its owner."""
    treasury, addresses = network.contracts.treasury, network.contracts.deposit_addresses
    calls = []
    if number is not None and addresses is not None:
        calls.append((addresses.factory, encode_sweep([Sweep(number, one.token)])))
    calls.append((treasury, encode_withdraw(one.token, to, one.base_units)))
    return [{"to": where, "data": f"0x{data.hex()}"} for where, data in calls]


async def _current_balances(
    chain: ChainReader, transfers: Sequence[ReportedTransfer]
) -> Mapping[ReportedTransfer, str]:
    """Return the present balances; a token without a valid answer is left out."""
    if not transfers:
        return {}
    calls = [Call(t.token, 0, encode_balance_of(t.to_address), VIEW_GAS) for t in transfers]
    answers = await chain.simulate(calls, sender=ZERO_ADDRESS)
    return {
        transfer: str(int.from_bytes(answer.data, "big"))
        for transfer, answer in zip(transfers, answers, strict=True)
        if answer.succeeded and len(answer.data) == WORD
    }


def _transfers_to_return(
    unrelated: Sequence[ReportedTransfer], back: Return, to: str
) -> Sequence[ReportedTransfer]:
    """Return what goes back: two owners' transfers may share a transaction."""
    chosen = [one for one in unrelated if back.is_of(one)]
    places = {f"{one.token} from {one.from_address}" for one in chosen or unrelated}
    if len(places) > 1 or not chosen:
        raise RequestRefused(f"say which by --token and --from: {', '.join(sorted(places))}")
    if to == chosen[0].token:
        raise RequestRefused(f"{to} is a contract that would keep it")
    if len(chosen) > RETURNED_MAX:
        raise RequestRefused(
            f"{len(chosen)} transfers, and an order returns {RETURNED_MAX} at most: "
            "the owner of the Treasury returns them without an order"
        )
    return chosen


def _is_same(wanted: str | None, address: str) -> bool:
    return wanted is None or wanted.lower() == address.lower()


def _symbol(network: Network, token: str) -> str | None:
    found = network.find_token(token)
    return None if found is None else found.symbol


def _is_known(network: Network, token: str) -> bool:
    return network.find_token(token) is not None
