from __future__ import annotations

import json

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    OWNER,
    PAYOUT,
    PLENTY,
    POLYGON,
    REQUESTED,
    UNKNOWN_TOKEN,
    USDC,
    a_deposit_message,
    a_payout_message,
    a_refund_address,
    a_request,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeUnitOfWork
from services.settler.tests.settler_harness import Settler
from swap_contracts.swaps import AuthorizationSubmitted, SwapRequested
from swap_contracts.topics import SWAP_REQUESTS
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import UnknownNetwork
from swap_domain.lifecycle import Status
from swap_runtime.errors import Unavailable, Unprocessable
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.model.ledger.accounts import AccountKind
from swap_settler.model.swap import DepositState, IntentState
from swap_settler.settling.usecases.request_swaps import SWEPT_WITHIN


@pytest.fixture
def world() -> FakeUnitOfWork:
    return FakeUnitOfWork()


@pytest.fixture
def run(world: FakeUnitOfWork) -> Settler:
    return Settler(world)


def completions() -> float:
    """Return how many durations of completed swaps are counted."""
    labels = {"source": ETHEREUM, "destination": POLYGON}
    name = "swap_settler_swap_completion_seconds_count"
    return REGISTRY.get_sample_value(name, labels) or 0


def sent(world: FakeUnitOfWork, topic: str) -> list[dict[str, object]]:
    return [json.loads(o.payload) for o in world.sent if o.topic == topic]


class TestRequestSwaps:
    async def test_begins_a_swap_and_publishes_it(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.requests(a_request())

        swap = world.swap(swap_id(7))
        assert (swap.status, swap.sequence) == (Status.DEPOSIT_PENDING, 1)
        [sent_messages] = sent(world, "swap.changed.v1")
        assert sent_messages["trace_id"] == trace_id_of(swap.id)

    async def test_the_same_swap_begins_once(self, world: FakeUnitOfWork, run: Settler) -> None:
        again = a_request().model_copy(update={"message_id": swap_id(99)})

        await run.requests(a_request(), again)

        assert len(world.sent) == 1

    @pytest.mark.fault("M6")
    async def test_takes_the_first_refund_address(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.requests(
            a_request(), a_refund_address(address="0x1"), a_refund_address(address="0x2")
        )

        swap = world.swap(swap_id(7))
        assert (swap.terms.refund_address, swap.sequence) == ("0x1", 2)

    @pytest.mark.parametrize("what", ["authorization", "unknown swap"])
    async def test_refuses_what_it_cannot_serve(
        self, world: FakeUnitOfWork, run: Settler, what: str
    ) -> None:
        await run.requests(a_request(8))
        messages = {
            "authorization": SWAP_REQUESTS.seal(
                AuthorizationSubmitted(
                    swap_id=swap_id(8), typed_data="{}", signature="0x", signer="0x"
                ),
                version="authorization",
                occurred_at=run.now,
                trace_id="t",
            ),
            "unknown swap": a_refund_address(9),
        }

        run.now += SWEPT_WITHIN
        with pytest.raises(Unprocessable):
            await run.requests(messages[what])

        assert list(world.swaps) == [swap_id(8)]

    async def test_waits_for_a_swap_that_a_lost_topic_brings_late(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        sent_messages = a_refund_address(address="0x1")
        with pytest.raises(Unavailable):
            await run.requests(sent_messages)

        await run.requests(a_request())
        await run.requests(sent_messages)

        assert world.swap(swap_id(7)).terms.refund_address == "0x1"

    async def test_credits_deposits_received_before_the_request(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        half = REQUESTED // 2
        await run.deposits(
            funding(),
            a_deposit_message("confirmed", units=half),
            a_deposit_message("seen", units=half, nth=1),
        )

        await run.requests(a_request())
        assert world.swap(swap_id(7)).status is Status.DEPOSIT_PENDING
        assert world.balance(AccountKind.SUSPENSE) == 0

        await run.deposits(a_deposit_message("confirmed", units=half, nth=1))
        assert world.swap(swap_id(7)).status is Status.PAYOUT_PENDING

    async def test_only_what_is_new_has_to_be_of_a_network_that_is_known(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        known, request = a_request(), a_request(8).body
        assert isinstance(request, SwapRequested)
        source = request.source.model_copy(update={"network": "NOWHERE"})
        elsewhere = {"method": "deposit_address", "source": source}
        lost = a_request(8).model_copy(update={"body": request.model_copy(update=elsewhere)})
        with pytest.raises(UnknownNetwork):
            await run.requests(known, lost)
        world.inbox |= {lost.message_id}

        await run.requests(known, lost)

        assert world.swaps.keys() == {swap_id(7)}


class TestSettleDeposits:
    async def test_the_owners_money_is_funding_and_publishes_the_inventory(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding(units=5))

        assert world.balance(AccountKind.EQUITY, network=POLYGON) == -5
        [sent_messages] = sent(world, "inventory.changed.v1")
        assert sent_messages["body"] == {
            "network": POLYGON,
            "token": USDC[POLYGON],
            "version": 1,
            "available_base_units": "5",
        }

    async def test_owners_transfer_through_the_depository_is_a_deposit(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(a_deposit_message(from_address=OWNER))

        assert world.balance(AccountKind.EQUITY) == 0
        assert world.balance(AccountKind.SUSPENSE) == -REQUESTED

    async def test_several_facts_of_one_swap_in_one_batch_build_on_each_other(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding())
        await run.requests(a_request())

        await run.deposits(
            a_deposit_message("seen"),
            a_deposit_message("confirmed"),
            a_deposit_message("confirmed", nth=1),
        )

        swap = world.swap(swap_id(7))
        assert (swap.status, swap.sequence) == (Status.PAYOUT_PENDING, 4)
        sent_messages = sent(world, "swap.changed.v1")
        moved = sent(world, "inventory.changed.v1")[1:]
        assert [one["trace_id"] for one in sent_messages] == [trace_id_of(swap.id)] * 4
        assert [one["trace_id"] for one in moved] == [trace_id_of(swap.id)] * 2

    async def test_swaps_of_one_batch_share_the_remaining_inventory(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding(units=2 * PAYOUT - 1))
        await run.requests(a_request(1), a_request(2))

        await run.deposits(a_deposit_message(number=1), a_deposit_message(number=2))

        assert [world.swap(swap_id(n)).status for n in (1, 2)] == [
            Status.PAYOUT_PENDING,
            Status.FAILED,
        ]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"token": UNKNOWN_TOKEN},
            {"to_address": "0x" + "77" * 20},
            {"quarantine_reason": "foreign_receiver", "to_address": "0x" + "77" * 20},
        ],
    )
    async def test_deposit_that_the_treasury_did_not_receive_is_not_booked(
        self, world: FakeUnitOfWork, run: Settler, wrong: dict[str, str]
    ) -> None:
        await run.requests(a_request())

        await run.deposits(a_deposit_message(**wrong))  # type: ignore[arg-type]

        assert world.swap(swap_id(7)).sequence == 1
        assert +world.balances == {}
        [deposit] = world.deposits.values()
        assert deposit.is_booked is False

    async def test_only_what_is_new_has_to_be_of_a_network_that_is_known(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        """The catalogue may have dropped it since: an old message must raise no alarm."""
        known, lost = a_deposit_message(), a_deposit_message(number=8, network="NOWHERE")
        with pytest.raises(UnknownNetwork):
            await run.deposits(known, lost)
        world.inbox |= {lost.message_id}

        await run.deposits(known, lost)

        assert world.deposits.keys() == {known.body.deposit_id}


class TestSettlePayouts:
    async def test_completes_its_swap(self, world: FakeUnitOfWork, run: Settler) -> None:
        await run.paid_for()
        [intent] = world.intents.values()
        world.sign(intent.id, "0x" + "11" * 32)
        before = completions()

        await run.payouts(a_payout_message("seen"), a_payout_message("confirmed"))

        assert world.swap(swap_id(7)).status is Status.COMPLETED
        assert completions() == before + 1
        assert world.intents[intent.id].state is IntentState.CONFIRMED
        assert world.balance(AccountKind.CUSTODY, network=POLYGON) == PLENTY - PAYOUT

    async def test_an_unexplained_payment_halts_its_network(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.deposits(funding())

        await run.payouts(a_payout_message("confirmed"))

        assert set(world.halted) == {POLYGON}
        assert world.balance(AccountKind.PAYOUT_SUSPENSE) == PAYOUT

    async def test_a_payment_of_a_token_outside_the_catalogue_only_halts(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.payouts(a_payout_message("confirmed", token=UNKNOWN_TOKEN))

        assert set(world.halted) == {POLYGON}
        assert world.ledger == {}

    async def test_a_reorg_after_the_payout_is_a_loss_and_no_second_credit(
        self, world: FakeUnitOfWork, run: Settler
    ) -> None:
        await run.paid_for()
        [intent] = world.intents.values()
        world.sign(intent.id, "0x" + "11" * 32)
        await run.payouts(a_payout_message("confirmed"))

        await run.deposits(a_deposit_message("reverted"))
        assert world.balance(AccountKind.LOSS) == REQUESTED

        await run.deposits(
            a_deposit_message("seen", version=4), a_deposit_message("confirmed", version=5)
        )
        assert world.balance(AccountKind.LOSS) == 0
        assert world.balance(AccountKind.CUSTODY, network=ETHEREUM) == REQUESTED
        assert world.swap(swap_id(7)).status is Status.COMPLETED
        assert [d.state for d in world.swap(swap_id(7)).deposits.values()] == [
            DepositState.CREDITED
        ]


class TestExpireSwaps:
    async def test_expires_unfunded_swaps_and_reads_on_after_a_full_batch(
        self, world: FakeUnitOfWork
    ) -> None:
        run = Settler(world, now=DEADLINE + HOUR)
        await run.requests(*(a_request(n) for n in range(1, 4)))
        world.block_times[ETHEREUM] = run.now
        run.expire_swaps._limit = 2

        assert await run.expire_swaps() is True
        assert await run.expire_swaps() is False

        assert {swap.status for swap in world.swaps.values()} == {Status.EXPIRED}
