"""Chains, movements and policies for the tests of the chain-watcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from swap_chain_watcher.domain.decide import decide
from swap_chain_watcher.domain.evidence import Evidence
from swap_chain_watcher.domain.movements import PublishedVersion, Subject, TrackedMovement
from swap_chain_watcher.domain.policy import Caps, Policy
from swap_chain_watcher.domain.watch import Step, Watch
from swap_chains import events
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted, ChainEvent, LogId
from swap_chains.fake.execution import INIT_CODE_HASH
from swap_domain.catalogue import (
    NATIVE,
    ConfirmationTier,
    Contracts,
    DepositAddresses,
    GasUnits,
    Network,
    Token,
)

NETWORK = "ETHEREUM_DEVNET"
TREASURY = "0x00000000000000000000000000000000000000A1"
DEPOSITORY = "0x00000000000000000000000000000000000000A2"
USDC = "0x00000000000000000000000000000000000000B1"
FOREIGN_TOKEN = "0x00000000000000000000000000000000000000Bf"
USER = "0x00000000000000000000000000000000000000C1"
FUNDER = "0x00000000000000000000000000000000000000c2"
UNKNOWN_ADDRESS = "0x00000000000000000000000000000000000000C3"
DEPOSIT_ADDRESS = "0x00000000000000000000000000000000000000D1"
FACTORY = "0x00000000000000000000000000000000000000FA"
GENESIS_TIME = datetime(2026, 1, 1, tzinfo=UTC)
SMALL_TIER_BELOW = 1_000


def a_token(**changes: object) -> Token:
    values: dict[str, object] = {
        "network": NETWORK,
        "symbol": "USDC",
        "address": USDC,
        "decimals": 6,
        "precision": 6,
        "name": "USDC",
        "price_symbol": "USDC",
        "logo": "",
        "group": None,
        "listing_date": GENESIS_TIME,
        "source_rank": 1,
        "destination_rank": 1,
        "tiers": tiers(),
        **changes,
    }
    return Token(**values)  # type: ignore[arg-type]


def tiers(small: int | None = 2) -> tuple[ConfirmationTier, ...]:
    return (
        ConfirmationTier(below_base_units=SMALL_TIER_BELOW, confirmations=small),
        ConfirmationTier(below_base_units=None, confirmations=None),
    )


def tiers_by_providers() -> tuple[ConfirmationTier, ...]:
    """One block is always enough; one provider below a sum, and two above it."""
    return (
        ConfirmationTier(below_base_units=SMALL_TIER_BELOW, confirmations=1, providers=1),
        ConfirmationTier(below_base_units=None, confirmations=1, providers=2),
    )


def a_network(*, small_tier: int | None = 2, **changes: object) -> Network:
    native = a_token(
        symbol="ETH", address=NATIVE, decimals=18, precision=8, tiers=tiers(small_tier)
    )
    values: dict[str, object] = {
        "name": NETWORK,
        "display_name": "Ethereum Devnet",
        "type": "evm",
        "chain_id": 31337,
        "logo": "",
        "transaction_explorer_template": "",
        "account_explorer_template": "",
        "source_rank": 1,
        "destination_rank": 1,
        "listing_date": GENESIS_TIME,
        "public_nodes": ("http://127.0.0.1:8545",),
        "start_block": 0,
        "block_time": timedelta(seconds=1),
        "payout_confirmations": 2,
        "finality_blocks": 4,
        "contracts": Contracts(
            treasury=TREASURY,
            depository=DEPOSITORY,
            deposit_addresses=DepositAddresses(FACTORY, INIT_CODE_HASH),
        ),
        "signers": (),
        "funders": (FUNDER,),
        "gas": GasUnits(75_000, 95_000, sweep_native=90_000, sweep_erc20=95_000),
        "max_fee_per_gas": 10**11,
        "tokens": (native, a_token(tiers=tiers(small_tier))),
        **changes,
    }
    return Network(**values)  # type: ignore[arg-type]


def a_policy(**changes: object) -> Policy:
    return Policy(a_network(**changes))  # type: ignore[arg-type]


def a_policy_of_two(**changes: object) -> Policy:
    """Return a policy for nodes of two providers."""
    tokens = (
        a_token(symbol="ETH", address=NATIVE, decimals=18, tiers=tiers_by_providers()),
        a_token(tiers=tiers_by_providers()),
    )
    values = {"tokens": tokens, **changes}
    return Policy(a_network(**values), has_second_provider=True)  # type: ignore[arg-type]


def a_capped_policy(cap: int = SMALL_TIER_BELOW) -> Policy:
    """Return a policy for a live network with nodes of only one provider."""
    caps = Caps({USDC.lower(): cap, NATIVE: cap}, timedelta(days=1))
    return Policy(a_policy_of_two().network, has_second_provider=False, caps=caps)


def a_log(name: str, nth: int = 0) -> LogId:
    return LogId(_hash(f"transaction {name}"), _hash(f"log {name}"), nth)


def a_deposit(name: str, base_units: int = 10, **changes: object) -> events.Deposited:
    values: dict[str, object] = {
        "id": a_log(name),
        "swap_key": f"0x{7:064x}",
        "token": USDC,
        "receiver": TREASURY,
        "base_units": base_units,
        "from_address": USER,
        **changes,
    }
    return events.Deposited(**values)  # type: ignore[arg-type]


def a_transfer(name: str, base_units: int = 10, **changes: object) -> events.TokenTransfer:
    values: dict[str, object] = {
        "id": a_log(name),
        "token": USDC,
        "from_address": USER,
        "to_address": TREASURY,
        "base_units": base_units,
        "memo": b"",
        "claimed_by": None,
        **changes,
    }
    return events.TokenTransfer(**values)  # type: ignore[arg-type]


def a_native_receipt(name: str, base_units: int = 10, **changes: object) -> events.NativeReceived:
    values: dict[str, object] = {
        "id": a_log(name),
        "from_address": USER,
        "to_address": TREASURY,
        "base_units": base_units,
        "memo": b"",
        "claimed_by": None,
        **changes,
    }
    return events.NativeReceived(**values)  # type: ignore[arg-type]


def a_sweep(name: str, base_units: int = 10, **changes: object) -> events.Swept:
    values: dict[str, object] = {
        "id": a_log(name),
        "salt": f"0x{7:064x}",
        "token": USDC,
        "from_address": DEPOSIT_ADDRESS,
        "base_units": base_units,
        **changes,
    }
    return events.Swept(**values)  # type: ignore[arg-type]


def a_withdrawal(name: str, base_units: int = 10, **changes: object) -> events.Withdrawn:
    values: dict[str, object] = {
        "id": a_log(name),
        "token": USDC,
        "to_address": USER,
        "base_units": base_units,
        **changes,
    }
    return events.Withdrawn(**values)  # type: ignore[arg-type]


def a_payout(name: str, intent_id: int = 99, **changes: object) -> events.Paid:
    values: dict[str, object] = {
        "id": a_log(name),
        "intent_id": intent_id,
        "token": USDC,
        "to_address": USER,
        "base_units": 10,
        **changes,
    }
    return events.Paid(**values)  # type: ignore[arg-type]


def a_block(number: int, *, branch: str = "", parent: Block | None = None) -> Block:
    return Block(
        number=number,
        hash=_hash(f"block {number}{branch}"),
        parent_hash=parent.hash if parent else _hash(f"block {number - 1}{branch}"),
        time=GENESIS_TIME + timedelta(seconds=number),
    )


def _hash(text: str) -> str:
    return f"0x{sha256(text.encode()).hexdigest()}"


def a_watch(at: Block | None = None) -> Watch:
    first = at or a_block(0)
    return Watch(
        network=NETWORK,
        cursor=first,
        finalized_number=first.number,
        start_number=first.number,
        recent=(first,),
        open={},
    )


@dataclass
class Watcher:
    """A watch in memory that stores the published state, as the database does."""

    policy: Policy = field(default_factory=a_policy)
    watch: Watch = field(default_factory=a_watch)
    known: dict[Subject, PublishedVersion] = field(default_factory=dict)
    publications: list[TrackedMovement] = field(default_factory=list)
    evidence: Evidence = field(default_factory=Evidence)

    def receives(self, *chain_events: ChainEvent, targets: Sequence[str] = ()) -> Step:
        step = decide(
            self.watch,
            chain_events,
            policy=self.policy,
            known=self.known,
            targets=targets,
            evidence=self.evidence,
        )
        self.watch = step.after
        self.publications += step.publications
        for tracked in step.publications:
            assert tracked.depth is not None
            self.known[tracked.movement.subject] = PublishedVersion(tracked.version, tracked.depth)
        return step

    def mines(self, *movements: events.Movement, branch: str = "") -> Step:
        head = self.watch.cursor
        block = a_block(head.number + 1, branch=branch, parent=head)
        return self.receives(BlockAdded(block, movements))

    def reverts_to(self, number: int) -> Step:
        by_number: Mapping[int, Block] = {block.number: block for block in self.watch.recent}
        gone = tuple(block for block in self.watch.recent if block.number > number)
        return self.receives(BlocksReverted(by_number[number], gone))

    def finalizes(self, number: int) -> Step:
        upto = next(block for block in self.watch.recent if block.number == number)
        return self.receives(BlocksFinalized(upto))

    def published_versions(self) -> list[tuple[str, int]]:
        return [
            (tracked.state.value, tracked.version) for tracked in self.publications if tracked.state
        ]
