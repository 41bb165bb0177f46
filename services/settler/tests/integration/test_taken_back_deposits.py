"""W1: a confirmed deposit that every provider denies, in a block that stays canonical."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import pytest

from services.settler.tests.lane_harness import (
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
)
from swap_chains.evm.memos import encode_memo
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_settler.settling.decide.deposits import StillBooked

pytestmark = [pytest.mark.connected, pytest.mark.fault("W1")]


async def taken_back(world: World) -> None:
    await world.settle(a_deposit(1, version=3, state="reverted"))


async def sent(world: World) -> None:
    await world.confirmed_swaps(1)
    await world.send_everything()
    world.chain.mine()


async def confirmed(world: World) -> None:
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    await world.payout("confirmed", version=1, transaction_hash=attempt.transaction_hash)


async def balances(world: World) -> dict[str, int]:
    """Return the ledger's balances of the source, by kind of account."""
    rows = await world.rows(
        f"SELECT kind, sum(balance) AS units FROM account WHERE network = '{SOURCE}' "
        "GROUP BY kind HAVING sum(balance) <> 0"
    )
    return {row.kind: int(Decimal(row.units)) for row in rows}


async def statuses(world: World) -> list[str]:
    return [row.status for row in await world.rows("SELECT status FROM swap")]


async def test_deposit_reverted_before_its_payout_is_signed_leaves_no_balances(
    world: World,
) -> None:
    await world.confirmed_swaps(1)
    assert await world.intent_states() == ["reserved"]

    await taken_back(world)
    await world.send_everything()

    assert await balances(world) == {}
    assert await world.intent_states() == ["dead"]
    assert await world.rows("SELECT 1 FROM attempt") == []
    assert await statuses(world) == ["user_transfer_pending"]


async def test_after_its_payout_is_final_it_is_a_loss_and_not_owed(world: World) -> None:
    await sent(world)
    await confirmed(world)
    before = await balances(world)

    await taken_back(world)
    await taken_back(world)  # delivered twice

    after = await balances(world)
    assert after["loss"] - before.get("loss", 0) == REQUESTED
    assert before["custody"] - after.get("custody", 0) == REQUESTED
    assert {kind for kind in after if after[kind] != before.get(kind)} == {"loss"}
    assert await statuses(world) == ["completed"]


async def test_while_its_payout_is_out_the_end_of_the_payout_decides(world: World) -> None:
    await sent(world)
    await taken_back(world)
    assert "loss" not in await balances(world)

    await confirmed(world)

    assert (await balances(world))["loss"] == REQUESTED


class TestAFalseMemo:
    """No log of a token names its swap: a node may report a real transfer falsely."""

    async def test_is_moved_from_the_swap_that_it_named(self, world: World) -> None:
        """Both messages are in one batch, and each is about a different swap."""
        await both_requested(world)
        await world.settle(a_transfer(FALSE, 2, "confirmed"))
        assert await owners(world) == [FALSE]

        await world.settle(a_transfer(FALSE, 3, "reverted"), a_transfer(TRUE, 4, "seen"))

        assert await world.intent_states() == ["dead"]
        assert await balances(world) == {}
        [stored] = await world.rows(
            f"SELECT match_key, memo, sequence_number FROM deposit WHERE {OF_IT}"
        )
        assert stored.match_key.endswith(f"/{TRUE}")
        assert (stored.memo, stored.sequence_number) == (memo_of(TRUE), TRUE)
        await world.settle(a_transfer(TRUE, 5, "confirmed"))
        assert await owners(world) == [TRUE]
        assert sorted(await world.intent_states()) == ["dead", "reserved"]

    async def test_that_arrives_late_has_no_effect(self, world: World) -> None:
        await both_requested(world)
        await world.settle(a_transfer(FALSE, 2, "reverted"), a_transfer(TRUE, 3, "confirmed"))
        before = await balances(world)

        await world.settle(a_transfer(FALSE, 1, "confirmed"))

        assert (await balances(world), await owners(world)) == (before, [TRUE])

    async def test_may_have_hidden_that_it_names_none(self, world: World) -> None:
        await both_requested(world)
        await world.settle(a_transfer(FALSE, 2, "confirmed"))

        await world.settle(a_transfer(FALSE, 3, "reverted"), a_transfer(None, 4, "seen"))
        await world.settle(a_transfer(None, 5, "confirmed"))

        assert await world.intent_states() == ["dead"]
        assert await balances(world) == {"custody": REQUESTED, "suspense": -REQUESTED}
        [stored] = await world.rows(f"SELECT swap_id, match_key, memo FROM deposit WHERE {OF_IT}")
        assert tuple(stored) == (None, None, None)

    async def test_was_paid_for_and_the_true_swap_is_credited_beside_the_loss(
        self, world: World
    ) -> None:
        await both_requested(world)
        await world.settle(a_transfer(FALSE, 2, "confirmed"))
        await world.send_everything()
        world.chain.mine()
        await confirmed(world)

        await world.settle(a_transfer(FALSE, 3, "reverted"), a_transfer(TRUE, 4, "seen"))
        assert (await balances(world))["loss"] == REQUESTED
        await world.settle(a_transfer(TRUE, 5, "confirmed"))

        assert await owners(world) == [TRUE]
        assert (await balances(world))["loss"] == REQUESTED
        assert sorted(await statuses(world)) == ["completed", "ls_transfer_pending"]

    async def test_whose_payment_was_sent_credits_no_other_swap_before_it_is_final(
        self, world: World
    ) -> None:
        await both_requested(world)
        await world.settle(a_transfer(FALSE, 2, "confirmed"))
        await world.send_everything()
        world.chain.mine()
        await world.settle(a_transfer(FALSE, 3, "reverted"))

        with pytest.raises(StillBooked):
            await world.settle(a_transfer(TRUE, 4, "seen"))

        assert await owners(world) == [FALSE]
        await confirmed(world)
        assert (await balances(world))["loss"] == REQUESTED
        await world.settle(a_transfer(TRUE, 4, "seen"))  # released by an operator
        await world.settle(a_transfer(TRUE, 5, "confirmed"))
        assert await owners(world) == [TRUE]


OF_IT = f"transaction_hash = '0x{7:064x}'"
FALSE, TRUE = 1, 2  # the swap of the node's report, and that of the owner


async def both_requested(world: World) -> None:
    await world.request_swap(FALSE)
    await world.request_swap(TRUE)
    await world.settle(a_funding(10**24))


def a_transfer(
    names: int | None, version: int, state: Literal["seen", "confirmed", "reverted"]
) -> Envelope[DepositChanged]:
    return a_deposit(
        7,
        version=version,
        state=state,
        kind="native_received",
        sequence_number=None,
        memo=None if names is None else memo_of(names),
    )


def memo_of(number: int) -> str:
    return f"0x{encode_memo(number).hex()}"


async def owners(world: World) -> list[int]:
    """Return the numbers of the swaps that have deposits."""
    rows = await world.rows(
        "SELECT swap.sequence_number AS number FROM deposit JOIN swap ON swap.id = swap_id"
    )
    return [row.number for row in rows]
