"""The mapping of a chain's reports to movements that can be stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from swap_chain_watcher.domain.evidence import Key
from swap_chain_watcher.domain.movements import Kind, Movement, Subject, movement_id
from swap_chain_watcher.domain.policy import Policy
from swap_chains import events
from swap_chains.events import Block, ChainEvent
from swap_domain.catalogue import NATIVE

SEQUENCE_NUMBER_MAX: Final = 2**53 - 1
MEMO_BYTES_MAX: Final = 64  # a memo has 32; longer data is other call data


def to_movement(
    block: Block, fact: events.Movement, policy: Policy, targets: Collection[str]
) -> Movement | None:
    """Return the movement, or nothing where no value moved.

    `targets` are the deposit addresses among the senders, in lower case.
    """
    if fact.base_units == 0 and not isinstance(fact, events.Paid):
        return None  # anyone can make such logs for the price of gas
    match fact:
        case events.Deposited():
            return _to_deposit_movement(block, fact, policy)
        case events.TokenTransfer() | events.NativeReceived():
            return _receipt(block, fact, policy, targets)
        case events.Swept():
            return _to_sweep_movement(block, fact, policy)
        case events.Withdrawn():
            return _to_withdrawal_movement(block, fact, policy)
        case events.Paid():
            return _to_payment_movement(block, fact, policy)


def subjects(network: str, chain_events: Iterable[ChainEvent]) -> frozenset[Subject]:
    """Return what the batch may publish something about."""
    found: set[Subject] = set()
    for event in chain_events:
        if isinstance(event, events.BlockAdded):
            found.update(_subject(network, fact) for fact in event.movements)
    return frozenset(found)


def movement_keys(network: str, chain_events: Iterable[ChainEvent]) -> frozenset[Key]:
    """Return block and movement of all in the batch, whether anything is published or not."""
    return frozenset(
        (event.block.hash, movement_id(network, fact.id))
        for event in chain_events
        if isinstance(event, events.BlockAdded)
        for fact in event.movements
    )


def senders(chain_events: Iterable[ChainEvent]) -> frozenset[str]:
    """Return, in lower case, the sender of value without a Depository log."""
    return frozenset(
        fact.from_address.lower()
        for event in chain_events
        if isinstance(event, events.BlockAdded)
        for fact in event.movements
        if isinstance(fact, events.TokenTransfer | events.NativeReceived)
        and fact.claimed_by is None
    )


def _subject(network: str, fact: events.Movement) -> Subject:
    match fact:
        case events.Paid():
            return fact.intent_id
        case _:
            return movement_id(network, fact.id)


def _to_deposit_movement(block: Block, fact: events.Deposited, policy: Policy) -> Movement:
    sequence_number = int(fact.swap_key, 16)
    return Movement(
        id=movement_id(policy.network.name, fact.id),
        network=policy.network.name,
        block=block,
        kind=Kind.DEPOSITED,
        transaction_hash=fact.id.transaction_hash,
        token=fact.token,
        from_address=fact.from_address,
        to_address=fact.receiver,
        base_units=fact.base_units,
        sequence_number=sequence_number if 1 <= sequence_number <= SEQUENCE_NUMBER_MAX else None,
        quarantine=policy.quarantine(token=fact.token, receiver=fact.receiver),
    )


def _receipt(
    block: Block,
    fact: events.TokenTransfer | events.NativeReceived,
    policy: Policy,
    targets: Collection[str],
) -> Movement:
    network = policy.network.name
    is_token = isinstance(fact, events.TokenTransfer)
    token = fact.token if isinstance(fact, events.TokenTransfer) else NATIVE
    claim = fact.claimed_by
    return Movement(
        id=movement_id(network, fact.id),
        network=network,
        block=block,
        kind=Kind.TOKEN_TRANSFER if is_token else Kind.NATIVE_RECEIVED,
        transaction_hash=fact.id.transaction_hash,
        token=token,
        from_address=fact.from_address,
        to_address=fact.to_address,
        base_units=fact.base_units,
        claimed_by=None if claim is None else movement_id(network, claim),
        is_internal=claim is None and _is_own(fact, policy, targets),
        memo=f"0x{fact.memo.hex()}" if 0 < len(fact.memo) <= MEMO_BYTES_MAX else None,
        quarantine=policy.quarantine(token=token),
    )


def _is_own(
    fact: events.TokenTransfer | events.NativeReceived, policy: Policy, targets: Collection[str]
) -> bool:
    """Whether the Treasury got value of the service; what it pays to a deposit address has left."""
    is_to_treasury = fact.to_address.lower() == policy.network.contracts.treasury.lower()
    return is_to_treasury and policy.is_own(fact.from_address, targets)


def _to_sweep_movement(block: Block, fact: events.Swept, policy: Policy) -> Movement | None:
    """Anyone may sweep any token of any address, including one that emits false logs."""
    if policy.quarantine(token=fact.token) is not None:
        return None
    return Movement(
        id=movement_id(policy.network.name, fact.id),
        network=policy.network.name,
        block=block,
        kind=Kind.SWEPT,
        transaction_hash=fact.id.transaction_hash,
        token=fact.token,
        from_address=fact.from_address,
        to_address=policy.network.contracts.treasury,
        base_units=fact.base_units,
        is_internal=True,
    )


def _to_withdrawal_movement(block: Block, fact: events.Withdrawn, policy: Policy) -> Movement:
    return Movement(
        id=movement_id(policy.network.name, fact.id),
        network=policy.network.name,
        block=block,
        kind=Kind.WITHDRAWN,
        transaction_hash=fact.id.transaction_hash,
        token=fact.token,
        from_address=policy.network.contracts.treasury,
        to_address=fact.to_address,
        base_units=fact.base_units,
        is_internal=True,
        quarantine=policy.quarantine(token=fact.token),
    )


def _to_payment_movement(block: Block, fact: events.Paid, policy: Policy) -> Movement:
    return Movement(
        id=movement_id(policy.network.name, fact.id),
        network=policy.network.name,
        block=block,
        kind=Kind.PAID,
        transaction_hash=fact.id.transaction_hash,
        token=fact.token,
        from_address=policy.network.contracts.treasury,
        to_address=fact.to_address,
        base_units=fact.base_units,
        paid_id=fact.intent_id,
    )
