"""The catalogue's data of one network, as the watcher needs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from swap_chain_watcher.domain.movements import Depth, Kind, Movement, Quarantine
from swap_domain.catalogue import Network, Token

# That must report what moves our own money, where so many are configured.
OWN_MONEY_PROVIDERS: Final = 2


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be confirmed by one provider's report within a span, by token in lower case."""

    base_units: Mapping[str, int]
    span: timedelta

    @classmethod
    def of(cls, network: Network, by_symbol: Mapping[str, int], span: timedelta) -> Caps:
        """Return those that are set, and for other tokens what their tiers leave to one."""
        return cls(
            {
                token.address.lower(): by_symbol.get(token.symbol, token.one_provider_base_units)
                for token in network.tokens
            },
            span,
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """What a network's reports need to be accepted, and how deep a movement must be.

    `caps` are those of a live network with nodes of one provider only.
    """

    network: Network
    has_second_provider: bool = False
    caps: Caps | None = None
    _tokens: dict[str, Token] = field(init=False)
    _own: frozenset[str] = field(init=False)
    _funders: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        contracts = self.network.contracts
        own = [address for address in (contracts.treasury, contracts.depository) if address]
        tokens = {token.address.lower(): token for token in self.network.tokens}
        object.__setattr__(self, "_tokens", tokens)
        object.__setattr__(self, "_own", _normalise(own))
        object.__setattr__(self, "_funders", _normalise(self.network.funders))

    def quarantine(self, *, token: str, receiver: str | None = None) -> Quarantine | None:
        """Return why the movement can credit nothing, or nothing when it may."""
        if token.lower() not in self._tokens:
            return Quarantine.UNKNOWN_TOKEN
        if receiver is not None and receiver.lower() != self.network.contracts.treasury.lower():
            return Quarantine.FOREIGN_RECEIVER
        return None

    def is_own(self, address: str, targets: Collection[str]) -> bool:
        """Whether value from there was the service's before: its contract or a deposit address."""
        return address.lower() in self._own or address.lower() in targets

    def adds_to_inflow(self, movement: Movement) -> bool:
        """Whether the movement adds to the inflow that a reorg could take back from us."""
        return (
            movement.is_published
            and movement.kind not in (Kind.PAID, Kind.SWEPT, Kind.WITHDRAWN)
            and movement.quarantine is None
            and (movement.from_address or "").lower() not in self._funders
        )

    def is_in_log_scope(self, movement: Movement, watched: Collection[str] = ()) -> bool:
        """Whether nodes are queried for the movement's log, by the present catalogue.

        :param watched: the deposit addresses that nodes are queried about, in lower case.
        """
        contracts = self.network.contracts
        ours = contracts.treasury.lower()
        match movement.kind:
            case Kind.DEPOSITED:
                return contracts.depository is not None
            case Kind.TOKEN_TRANSFER:
                to = movement.to_address.lower()
                is_known = self.quarantine(token=movement.token) is None
                return is_known and (to == ours or to in watched)
            case Kind.NATIVE_RECEIVED:
                return movement.to_address.lower() == ours
            case Kind.PAID | Kind.WITHDRAWN:
                return (movement.from_address or "").lower() == ours
            case Kind.SWEPT:
                return contracts.deposit_addresses is not None
            case Kind.BALANCE_ROSE:
                return False  # it has no log

    def depth(
        self, movement: Movement, pending_base_units: int, unverified_base_units: int
    ) -> Depth:
        """Return the depth a movement needs, given its token's not-yet-final inflow with it.

        The tier also defines how many providers must report a deposit. For that, final sums count
        too until a second provider has verified them.

        A sweep waits for the chain's own finality: then what it swept is final too. So does a
        withdrawal: what was paid in before it is final, and booked before it.

        A payout of any amount needs two providers where two are configured. It books the payment
        and completes the swap, and neither is ever reverted. So do sweeps and withdrawals: one that
        was made up would move inventory in the ledger alone.
        """
        match movement.kind:
            case Kind.PAID:
                return self._by_two_providers(self.payout_depth())
            case Kind.SWEPT | Kind.WITHDRAWN:
                return self._by_two_providers(self._depth(None))
            case _:
                depth = self.deposit_depth(movement.token, pending_base_units)
                if not self.adds_to_inflow(movement):
                    return depth
                token = self._tokens[movement.token.lower()]
                tier = token.tier_for(max(pending_base_units, unverified_base_units))
                return replace(depth, providers=tier.providers)

    def _by_two_providers(self, depth: Depth) -> Depth:
        return replace(depth, providers=OWN_MONEY_PROVIDERS if self.has_second_provider else 0)

    def deposit_depth(self, token: str, pending_base_units: int) -> Depth:
        """Return the depth a deposit needs, given the not-yet-final inflow with it included."""
        known = self._tokens.get(token.lower())
        return self._depth(known.tier_for(pending_base_units).confirmations if known else None)

    def payout_depth(self) -> Depth:
        return self._depth(self.network.payout_confirmations)

    def _depth(self, confirmations: int | None) -> Depth:
        if confirmations is None:
            return Depth(max(self.network.finality_blocks, 1), is_finality=True)
        return Depth(max(confirmations, 1), is_finality=False)


def _normalise(addresses: Collection[str]) -> frozenset[str]:
    return frozenset(address.lower() for address in addresses)
