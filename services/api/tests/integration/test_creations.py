"""Concurrent creations share one statement, and each gets its own result."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_factories import ALICE, BOB, a_swap
from api_harness import Harness

from swap_api.admission.decide.idempotency import Claim
from swap_api.model.gasless import SignRequest
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.swaps import RenderedSwap, SwapRow
from swap_api.swaps.store.creations import (
    CREATE_SWAPS,
    NamesOwnAddress,
    NewSwap,
    PostgresCreations,
    SequenceNumberTaken,
)
from swap_contracts.public.errors import ErrorCode
from swap_domain.gasless import GaslessStandard
from swap_runtime.messaging.outbox import Outgoing

pytestmark = pytest.mark.connected
OWN = "0x" + "a1" * 20


def a_new_swap(
    *,
    claim: Claim | None = None,
    deposit_address: str | None = None,
    is_signed: bool = False,
    **changes: Any,
) -> NewSwap:
    swap = a_swap(sequence=0, **changes)
    rendered = RenderedSwap(b"{}", (), None, "action_required")
    return NewSwap(
        row=SwapRow(swap, rendered, is_unpaid=True, deposit_address=deposit_address),
        outgoing=Outgoing(uuid4(), "swap.requests.v1", str(swap.swap_id).encode(), b"{}"),
        claim=claim,
        answer=b"the answer",
        sign_request=SignRequest(swap.swap_id, BOB, 1, GaslessStandard.EIP3009, 7, 0, 9)
        if is_signed
        else None,
    )


async def a_claim(api: Harness, key: str, *, is_lost: bool = False) -> Claim:
    claim = Claim(uuid4(), key, b"body", uuid4())
    assert await api.parts.admission.idempotency.claim(claim) is None
    if is_lost:
        async with api.service.engine.begin() as connection:
            await connection.execute(f"UPDATE idempotency SET claim = uuidv7() WHERE key = '{key}'")
    return claim


async def add(api: Harness, *batch: NewSwap) -> list[BaseException | None]:
    """Create them concurrently, and return the result of each."""
    creations = PostgresCreations(api.service.engine)
    return await asyncio.gather(*(creations.add(new) for new in batch), return_exceptions=True)


async def test_each_creation_has_its_own_result_and_is_atomic(api: Harness) -> None:
    first = a_new_swap(sequence_number=7, deposit_address=OWN)
    assert await add(api, first) == [None]
    lost, live = await a_claim(api, "lost", is_lost=True), await a_claim(api, "kept")
    other_kept = await a_claim(api, "own")
    made, gasless = a_new_swap(claim=live), a_new_swap(is_signed=True)
    batch = [
        a_new_swap(claim=lost),
        made,
        a_new_swap(sequence_number=7, is_signed=True),
        gasless,
        a_new_swap(claim=other_kept, destination_address=OWN),
        a_new_swap(refund_address="0x" + OWN[2:].upper()),
        a_new_swap(source_address=OWN, refund_address=ALICE),
    ]

    with api.statements() as seen:
        outcomes = await add(api, *batch)

    assert (seen.texts.count(CREATE_SWAPS.text), seen.commits) == (1, 1)
    in_progress, none, repeated_number, also_none, *own = outcomes
    assert isinstance(in_progress, ApiRefusal)
    assert in_progress.code is ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS
    assert none is also_none is None
    assert isinstance(repeated_number, SequenceNumberTaken)
    assert [getattr(error, "addresses", error) for error in own] == [frozenset({OWN})] * 3
    assert {type(error) for error in own} == {NamesOwnAddress}
    there = {first.row.swap.swap_id, made.row.swap.swap_id, gasless.row.swap.swap_id}
    assert await ids(api, "SELECT id FROM swap") == there
    assert await ids(api, "SELECT convert_from(key, 'UTF8')::uuid AS id FROM outbox") == there
    assert await ids(api, "SELECT swap_id FROM sign_request") == {gasless.row.swap.swap_id}
    answered = await api.rows("SELECT key, swap_id, answer FROM idempotency WHERE answer <> ''")
    assert [tuple(row) for row in answered] == [("kept", made.row.swap.swap_id, b"the answer")]


async def test_messages_are_stored_in_the_order_of_the_swaps(api: Harness) -> None:
    batch = [a_new_swap() for _ in range(20)]

    assert await add(api, *batch) == [None] * 20

    rows = await api.rows("SELECT message_id FROM outbox ORDER BY id")
    assert [row.message_id for row in rows] == [new.outgoing.message_id for new in batch]


async def test_lookups_of_a_creation_use_indexes(api: Harness) -> None:
    plan = "\n".join(await api.plan(CREATE_SWAPS.text))

    assert "Seq Scan" not in plan
    assert "swap_deposit_address" in plan
    assert plan.count("idempotency_pkey") == 2


async def ids(api: Harness, statement: str) -> set[UUID]:
    return {row[0] for row in await api.rows(statement)}
