"""Plans transfers between networks: balances, liabilities and caps in, moves and shortages out.

Pure: it sends nothing. `commands/treasury.py` makes the steps of a plan. A person carries
out each step manually: the owner of a Treasury, the funder, or anybody who has the gas coin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WITHDRAW = "withdraw(address,address,uint256)"
TRANSFER = "transfer(address,uint256)"


@dataclass(frozen=True, slots=True)
class Holding:
    """One token of one network: the Treasury's balance, liabilities and target.

    Amounts are base units of this token, which may have other decimals elsewhere.
    """

    symbol: str
    network: str
    token: str
    decimals: int
    treasury: str
    held: int
    owed: int  # to swaps, owners and apps
    target: int  # free balance that should remain after liabilities

    @property
    def surplus(self) -> int:
        """Return the units that may leave; a negative number is the missing amount."""
        return self.held - self.owed - self.target


@dataclass(frozen=True, slots=True)
class Move:
    """A transfer from one Treasury to another; each side in its own base units."""

    symbol: str
    source: Holding
    destination: Holding
    source_units: int
    destination_units: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """An amount that no other network can spare: it must come from outside."""

    holding: Holding
    missing: int


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction to be sent manually; `value` in wei."""

    network: str
    sender: str
    to: str
    value: str
    data: str
    why: str


@dataclass(frozen=True, slots=True)
class GasTank:
    """The native balance of a signer and the cost of its payouts. Amounts in wei."""

    network: str
    signer: str
    balance: int
    cost_per_payout: int

    def top_up(self, payouts: int) -> int:
        """Return the missing amount for this number of payouts."""
        return max(0, payouts * self.cost_per_payout - self.balance)


@dataclass(frozen=True, slots=True)
class Plan:
    moves: Sequence[Move]
    shortages: Sequence[Shortage]


def free_target(*, caps_per_window: Sequence[int], chosen: int | None) -> int:
    """Return the free balance to aim for: the chosen target, else the tightest cap.

    A network cannot pay out more than a cap within its window, so more is idle there.
    """
    if chosen is not None:
        return chosen
    return min(caps_per_window, default=0)


def make_plan(holdings: Sequence[Holding]) -> Plan:
    """Cover shortages with the spare inventory of other networks.

    The largest surplus covers the largest shortage, until one is used up. Liabilities are never
    moved, nor is the target.
    """
    moves: list[Move] = []
    shortages: list[Shortage] = []
    for symbol in sorted({one.symbol for one in holdings}):
        of_symbol = [one for one in holdings if one.symbol == symbol]
        for_symbol = list(_moves_of(of_symbol))
        moves += for_symbol
        for one in of_symbol:
            arrived = sum(move.destination_units for move in for_symbol if move.destination is one)
            if (missing := -one.surplus - arrived) > 0:
                shortages.append(Shortage(one, missing))
    return Plan(moves, shortages)


def _moves_of(holdings: Sequence[Holding]) -> Iterator[Move]:
    decimals = min(one.decimals for one in holdings)  # units that exist on every network
    surplus = {one.network: _scale(one.surplus, one.decimals, decimals) for one in holdings}
    by_network = {one.network: one for one in holdings}
    while True:
        giver = max(surplus, key=lambda name: (surplus[name], name))
        taker = min(surplus, key=lambda name: (surplus[name], name))
        units = min(surplus[giver], -surplus[taker])
        if units <= 0:
            return
        source, destination = by_network[giver], by_network[taker]
        yield Move(
            source.symbol,
            source,
            destination,
            units * 10 ** (source.decimals - decimals),
            units * 10 ** (destination.decimals - decimals),
        )
        surplus[giver] -= units
        surplus[taker] += units


def _scale(units: int, decimals: int, to: int) -> int:
    """Round down: a shortage is rounded up to the next unit, a spare amount is not."""
    return int(units // 10 ** (decimals - to))
