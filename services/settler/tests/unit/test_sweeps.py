"""Money at deposit addresses: when it is swept, and how the received amount is booked."""

from __future__ import annotations

from dataclasses import replace
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest

from services.settler.tests.factories import ETHEREUM, NOON, RECIPIENT, TREASURY, USDC
from swap_settler.model.chain_facts import BALANCE_MAX, SweptFact
from swap_settler.model.ledger.accounts import (
    Account,
    AccountKind,
    Holder,
    LedgerTransaction,
    Posting,
)
from swap_settler.model.swap import (
    SWEPT_WITHOUT_SWAP,
    Deposit,
    DepositState,
    Intent,
    IntentKind,
    IntentState,
    Method,
)
from swap_settler.model.treasury import DueSweep, UnbookedSweep
from swap_settler.sweeping.decide.sweeps import (
    address_key,
    bookable,
    booking,
    booking_without_swap,
    quarantined_deposit,
    sweep_intent,
)

ADDRESS, OTHER = RECIPIENT, "0x" + "ad" * 20
HERE, TOKEN = TREASURY[ETHEREUM], USDC[ETHEREUM]
DOLLAR = 10**18
DUE = DueSweep(
    network=ETHEREUM,
    address=ADDRESS,
    token=TOKEN,
    sequence_number=7,
    base_units=3_001,
    is_out=False,
    decimals=6,
    token_usd_e18=DOLLAR,
    native_usd_e18=3_000 * DOLLAR,
)
SWEPT = UnbookedSweep(
    id=UUID(int=1),
    network=ETHEREUM,
    token=TOKEN,
    from_address=ADDRESS,
    base_units=100,
    block_number=9,
    booked_base_units=100,
    is_assigned=True,
    transaction_hash="0x11",
    block_hash="0xb9",
    block_time=NOON,
)
SWEEP_WITHOUT_SWAP = replace(SWEPT, is_assigned=False, booked_base_units=0)
PLACE = (ETHEREUM, ADDRESS)


def custody(holder: Holder, address: str) -> Account:
    return Account(AccountKind.CUSTODY, ETHEREUM, TOKEN, holder=holder, address=address)


class TestWorth:
    """Gas of 1,000 at 1 gwei costs 10**12 wei: at 3,000 dollars a coin, 3,000 base units."""

    @pytest.mark.parametrize(
        ("due", "is_worth"),
        [
            (DUE, True),
            (replace(DUE, base_units=3_000), False),  # its value equals its cost
            (replace(DUE, token_usd_e18=2 * DOLLAR, base_units=1_501), True),
            (replace(DUE, token_usd_e18=2 * DOLLAR, base_units=1_500), False),
            (replace(DUE, decimals=8, base_units=300_001), True),
            (replace(DUE, decimals=8, base_units=300_000), False),
            (replace(DUE, decimals=None), False),  # without a price
            (replace(DUE, decimals=None, is_ordered=True), True),
            (replace(DUE, base_units=0, is_ordered=True), True),
        ],
    )
    def test_is_more_than_the_gas_or_an_operators_order(
        self, due: DueSweep, *, is_worth: bool
    ) -> None:
        assert due.is_worth(gas=1_000, max_fee_per_gas=10**9, native_decimals=18) is is_worth

    def test_counts_the_cost_rounded_up(self) -> None:
        due = replace(DUE, base_units=1)

        assert not due.is_worth(gas=1, max_fee_per_gas=1, native_decimals=18)


def test_an_order_empties_the_address_into_the_treasury_and_charges_no_swap() -> None:
    name = f"sweep/{ETHEREUM}/{ADDRESS}/{TOKEN}/{NOON.isoformat()}"

    assert sweep_intent(DUE, treasury=HERE, at=NOON) == Intent(
        id=uuid5(NAMESPACE_URL, name),
        paid_id=None,
        swap_id=None,
        deposit_id=None,
        kind=IntentKind.SWEEP,
        network=ETHEREUM,
        token=TOKEN,
        to_address=HERE,
        base_units=3_001,
        charged_base_units=0,
        usd_micros=0,
        state=IntentState.RESERVED,
        due_at=NOON,
        created_at=NOON,
    )


def test_lock_of_an_address_is_named_by_network_and_address() -> None:
    assert address_key(PLACE) == f"address/{ETHEREUM}/{ADDRESS}"


@pytest.mark.parametrize(
    ("units", "is_quarantined"), [(BALANCE_MAX, False), (BALANCE_MAX + 1, True)]
)
def test_more_than_any_token_has_is_never_booked(units: int, *, is_quarantined: bool) -> None:
    fact = SweptFact(UUID(int=1), 1, "confirmed", *PLACE, ADDRESS, units, "0x", 1, "0x", NOON)

    assert fact.is_quarantined is is_quarantined
    assert BALANCE_MAX == 2**128


class TestBookings:
    def test_a_sweep_moves_custody_from_the_address_to_the_treasury(self) -> None:
        assert booking(SWEPT, HERE) == LedgerTransaction(
            "swept",
            f"swept/{SWEPT.id}",
            None,
            ETHEREUM,
            9,
            (
                Posting(custody(Holder.TREASURY, HERE), 100),
                Posting(custody(Holder.DEPOSIT_ADDRESS, ADDRESS), -100),
            ),
        )

    @pytest.mark.parametrize(
        ("is_reversed", "kind", "units"),
        [(False, "swept_for_nobody", 100), (True, "swept_for_a_swap", -100)],
    )
    def test_sweep_without_a_swap_is_booked_in_suspense(
        self, kind: str, units: int, *, is_reversed: bool
    ) -> None:
        suspense = Account(AccountKind.SUSPENSE, ETHEREUM, TOKEN, deposit_id=SWEPT.id)

        assert booking_without_swap(
            SWEEP_WITHOUT_SWAP, HERE, is_reversed=is_reversed
        ) == LedgerTransaction(
            kind,
            f"{kind}/{SWEPT.id}",
            None,
            ETHEREUM,
            9,
            (
                Posting(custody(Holder.TREASURY, HERE), units),
                Posting(suspense, -units),
            ),
        )
        assert booking_without_swap(SWEEP_WITHOUT_SWAP, HERE) == booking_without_swap(
            SWEEP_WITHOUT_SWAP, HERE, is_reversed=False
        )

    @pytest.mark.parametrize(
        ("is_reversed", "state"),
        [(False, DepositState.QUARANTINED), (True, DepositState.REVERTED)],
    )
    def test_sweep_without_a_swap_is_a_quarantined_deposit(
        self, state: DepositState, *, is_reversed: bool
    ) -> None:
        assert quarantined_deposit(SWEEP_WITHOUT_SWAP, at=NOON, is_reversed=is_reversed) == Deposit(
            id=SWEPT.id,
            swap_id=None,
            version=1,
            state=state,
            method=Method.DEPOSIT_ADDRESS,
            network=ETHEREUM,
            token=TOKEN,
            base_units=100,
            returned_base_units=0,
            is_booked=not is_reversed,
            transaction_hash="0x11",
            block_number=9,
            block_hash="0xb9",
            block_time=NOON,
            from_address=None,
            to_address=ADDRESS,
            confirmations_required=1,
            sequence_number=None,
            memo=None,
            quarantine_reason=SWEPT_WITHOUT_SWAP,
            received_at=NOON,
        )
        assert quarantined_deposit(SWEEP_WITHOUT_SWAP, at=NOON) == quarantined_deposit(
            SWEEP_WITHOUT_SWAP, at=NOON, is_reversed=False
        )


def another(n: int, **changes: object) -> UnbookedSweep:
    return replace(SWEPT, id=UUID(int=n), **changes)  # type: ignore[arg-type]


class TestWhatCanBeBooked:
    @pytest.mark.parametrize(
        ("final", "booked"),
        [
            pytest.param([SWEPT], {1: False}, id="what was credited"),
            pytest.param([another(1, base_units=101)], {}, id="not more than was credited"),
            pytest.param(
                [another(1, base_units=60), another(2, base_units=40)],
                {1: False, 2: False},
                id="two that took what was credited",
            ),
            pytest.param(
                [another(1, base_units=60), another(2, base_units=41)],
                {1: False},
                id="the second waits for its credit",
            ),
            pytest.param(
                [another(1, base_units=101), another(2, base_units=100)],
                {2: False},
                id="one that waits holds up no other",
            ),
            pytest.param(
                [SWEPT, another(2, token="0x"), another(3, from_address=OTHER)],
                {1: False, 2: False, 3: False},
                id="each token at each address by itself",
            ),
            pytest.param([SWEEP_WITHOUT_SWAP], {1: True}, id="as nobody's, without a credit"),
            pytest.param(
                [replace(SWEEP_WITHOUT_SWAP, from_address=OTHER)],
                {},
                id="not of an address not locked",
            ),
            pytest.param(
                [replace(SWEEP_WITHOUT_SWAP, from_address=OTHER), another(2)],
                {2: False},
                id="one not locked holds up no other",
            ),
        ],
    )
    def test_is_what_the_ledger_has_at_the_address(
        self, final: list[UnbookedSweep], booked: dict[int, bool]
    ) -> None:
        booked_ids, entries = bookable(final, treasury=HERE, addresses_without_swap={PLACE})

        assert booked_ids == {UUID(int=n): is_without_swap for n, is_without_swap in booked.items()}
        by_id = {one.id: one for one in final}
        assert entries == tuple(
            (booking_without_swap if is_without_swap else booking)(by_id[id], HERE)
            for id, is_without_swap in booked_ids.items()
        )

    def test_of_a_swaps_address_always_belongs_to_the_swap(self) -> None:
        booked_ids, _ = bookable(
            [another(1, base_units=101)], treasury=HERE, addresses_without_swap={PLACE}
        )

        assert booked_ids == {}

    def test_excludes_sweeps_without_a_swap_unless_their_addresses_are_locked(self) -> None:
        assert bookable([SWEEP_WITHOUT_SWAP], treasury=HERE) == ({}, ())
