"""How many providers must report a deposit before it is confirmed, and the cap of a single one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    FUNDER,
    NETWORK,
    SMALL_TIER_BELOW,
    UNKNOWN_ADDRESS,
    USDC,
    Watcher,
    a_block,
    a_capped_policy,
    a_deposit,
    a_log,
    a_payout,
    a_policy,
    a_policy_of_two,
    a_sweep,
    a_transfer,
    a_withdrawal,
)

from swap_chain_watcher.domain.evidence import Evidence, EvidenceQuery
from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import Depth, State, movement_id
from swap_chain_watcher.domain.policy import Caps, Policy
from swap_chain_watcher.domain.second_look import (
    MissedMovements,
    MovementsDenied,
    StoredMovements,
    decide_missed,
)
from swap_chains import events
from swap_chains.events import BlockAdded, BlocksReverted

LARGE, HALF = SMALL_TIER_BELOW, SMALL_TIER_BELOW // 2
TOKEN = USDC.lower()
BLOCK = a_block(5)


def id_of(name: str) -> UUID:
    return movement_id(NETWORK, a_log(name))


def confirmed(watcher: Watcher) -> list[UUID]:
    return [t.movement.id for t in watcher.publications if t.state is State.CONFIRMED]


class TestSecondProvider:
    @pytest.mark.fault("W1")
    def test_a_large_deposit_waits_for_it_however_deep_it_is(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())

        step = watcher.mines(a_deposit("large", LARGE))
        watcher.mines()
        watcher.finalizes(2)

        assert watcher.published_versions() == [("seen", 1)]
        assert [tracked.movement.id for tracked in step.withheld_movements] == [id_of("large")]

    def test_a_small_one_does_not(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())

        step = watcher.mines(a_deposit("small", LARGE - 1))

        assert confirmed(watcher) == [id_of("small")]
        assert step.withheld_movements == ()

    def test_is_confirmed_with_the_next_block_once_it_is_verified(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())
        step = watcher.mines(a_deposit("large", LARGE))
        watcher.evidence = Evidence(verified_keys=frozenset(t.key for t in step.new_movements))

        watcher.mines()

        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    def test_deposit_verified_in_another_block_is_not_verified(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())
        step = watcher.mines(a_deposit("large", LARGE))
        watcher.evidence = Evidence(verified_keys=frozenset(t.key for t in step.new_movements))
        watcher.reverts_to(0)

        watcher.mines(a_deposit("large", LARGE), branch="b")

        assert confirmed(watcher) == []

    @pytest.mark.fault("W1")
    def test_small_ones_count_together_also_when_they_are_final(self) -> None:
        """Two providers call the block final, but only one has reported the log in it."""
        watcher = Watcher(policy=a_policy_of_two())
        watcher.evidence = Evidence(unverified_sums={TOKEN: HALF})

        watcher.mines(a_deposit("second", HALF))

        assert confirmed(watcher) == []

    @pytest.mark.fault("W1")
    def test_small_ones_of_one_batch_count_together(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())

        watcher.mines(a_deposit("first", HALF), a_deposit("second", HALF))

        assert confirmed(watcher) == [id_of("first")]

    def test_a_reorged_deposit_no_longer_counts(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())
        watcher.mines(a_deposit("gone", HALF))
        watcher.evidence = Evidence(unverified_sums={TOKEN: HALF})

        self.replace_block(watcher, a_deposit("new", LARGE - 1))

        assert confirmed(watcher)[-1] == id_of("new")

    def test_a_reorged_deposit_did_not_count_after_its_verification(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())
        step = watcher.mines(a_deposit("gone", HALF))
        watcher.evidence = Evidence(
            verified_keys=frozenset(t.key for t in step.new_movements),
            unverified_sums={TOKEN: HALF},
        )
        watcher.mines()

        self.replace_block(watcher, a_deposit("new", HALF))

        assert id_of("new") not in confirmed(watcher)

    @staticmethod
    def replace_block(watcher: Watcher, *movements: events.Movement) -> None:
        """Replace all mined blocks by one block, in one batch."""
        start, *gone = watcher.watch.recent
        block = a_block(1, branch="b", parent=start)
        watcher.receives(BlocksReverted(start, tuple(gone)), BlockAdded(block, movements))

    def test_transfers_of_a_funder_do_not_wait_for_it(self) -> None:
        watcher = Watcher(policy=a_policy_of_two())

        watcher.mines(a_transfer("funds", LARGE, from_address=FUNDER))

        assert confirmed(watcher) == [id_of("funds")]

    @pytest.mark.fault("W1")
    def test_a_payout_of_any_amount_waits_for_it(self) -> None:
        """An invented one would complete a swap that is not paid."""
        watcher = Watcher(policy=a_policy_of_two(payout_confirmations=1))

        step = watcher.mines(a_payout("paid", base_units=1))
        watcher.mines()
        assert confirmed(watcher) == []
        assert [tracked.movement.id for tracked in step.withheld_movements] == [id_of("paid")]

        watcher.evidence = Evidence(verified_keys=frozenset(t.key for t in step.new_movements))
        watcher.mines()
        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    @pytest.mark.parametrize("movement", [a_sweep("own"), a_withdrawal("own")])
    @pytest.mark.fault("W1")
    def test_internal_movements_wait_for_it(self, movement: events.Movement) -> None:
        """An invented withdrawal would remove inventory only from the ledger."""
        watcher = Watcher(policy=a_policy_of_two())

        step = watcher.mines(movement)
        watcher.finalizes(1)
        assert confirmed(watcher) == []

        [tracked] = [one for one in step.new_movements if one.movement.is_published]
        watcher.evidence = Evidence(verified_keys=frozenset({tracked.key}))
        watcher.mines()
        assert confirmed(watcher) == [id_of("own")]

    @pytest.mark.parametrize("movement", [a_sweep("own"), a_withdrawal("own")])
    def test_internal_movements_do_not_wait_where_one_provider_is_configured(
        self, movement: events.Movement
    ) -> None:
        watcher = Watcher(policy=a_policy())

        watcher.mines(movement)
        watcher.finalizes(1)

        assert confirmed(watcher) == [id_of("own")]

    @pytest.mark.parametrize("policy", [a_policy(small_tier=1), a_capped_policy(cap=0)])
    def test_a_payout_waits_for_no_provider_where_one_is_configured(self, policy: Policy) -> None:
        network = replace(policy.network, payout_confirmations=1)
        watcher = Watcher(policy=replace(policy, network=network))

        step = watcher.mines(a_payout("paid", base_units=LARGE))

        assert confirmed(watcher) == [id_of("paid")]
        assert step.trusted_movements == ()

    def test_is_not_needed_where_one_is_configured_without_a_cap(self) -> None:
        watcher = Watcher(policy=replace(a_policy_of_two(), has_second_provider=False))

        watcher.mines(a_deposit("large", LARGE))

        assert confirmed(watcher) == [id_of("large")]


class TestWhatHasToBeRead:
    OPEN = Watcher(policy=a_policy_of_two()).mines(a_deposit("large", LARGE)).after.open

    @pytest.mark.parametrize("has_deposits", [False, True])
    def test_with_two_providers_is_what_waits_for_the_second(self, *, has_deposits: bool) -> None:
        query = EvidenceQuery.of(
            a_policy_of_two(), self.OPEN.values(), has_deposits=has_deposits, at=BLOCK.time
        )

        expected = EvidenceQuery(frozenset({id_of("large")}), needs_unverified_sums=has_deposits)
        assert query == expected

    def test_under_a_cap_is_what_was_confirmed_in_its_span(self) -> None:
        at, policy = BLOCK.time, a_capped_policy()
        assert policy.caps is not None

        query = EvidenceQuery.of(policy, self.OPEN.values(), has_deposits=True, at=at)

        assert query == EvidenceQuery(single_provider_since=at - policy.caps.span)

    def test_without_a_rule_is_empty(self) -> None:
        query = EvidenceQuery.of(a_policy(), self.OPEN.values(), has_deposits=True, at=BLOCK.time)

        assert query == EvidenceQuery()

    def test_of_a_depth_is_the_strictest_in_each_respect(self) -> None:
        one, two = (
            Depth(3, is_finality=False, providers=1),
            Depth(2, is_finality=False, providers=2),
        )

        assert one.strictest(two) == Depth(3, is_finality=False, providers=2)
        assert two.strictest(one) == Depth(3, is_finality=False, providers=2)

    def test_a_cap_of_a_token_is_its_setting_or_its_first_tier(self) -> None:
        network = a_policy_of_two().network

        caps = Caps.of(network, {"USDC": 5}, timedelta(days=2))

        [coin] = [token for token in network.tokens if token.symbol == "ETH"]
        expected = {TOKEN: 5, coin.address.lower(): coin.one_provider_base_units}
        assert caps == Caps(expected, timedelta(days=2))


class TestCap:
    def test_deposits_of_one_provider_are_confirmed_up_to_the_cap(self) -> None:
        watcher = Watcher(policy=a_capped_policy())

        step = watcher.mines(
            a_deposit("first", HALF), a_deposit("second", HALF), a_deposit("third", 1)
        )

        assert confirmed(watcher) == [id_of("first"), id_of("second")]
        assert [t.movement.id for t in step.trusted_movements] == [id_of("first"), id_of("second")]
        assert [t.movement.id for t in step.withheld_movements] == [id_of("third")]

    def test_earlier_deposits_count_and_a_withheld_one_is_confirmed_below_the_cap(self) -> None:
        watcher = Watcher(policy=a_capped_policy())
        watcher.evidence = Evidence(single_provider_sums={TOKEN: HALF + 1})
        watcher.mines(a_deposit("waits", HALF))
        watcher.mines()
        assert watcher.published_versions() == [("seen", 1)]

        watcher.evidence = Evidence()
        watcher.mines()

        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    def test_younger_deposit_waits_behind_a_withheld_one(self) -> None:
        watcher = Watcher(policy=a_capped_policy())
        watcher.evidence = Evidence(single_provider_sums={TOKEN: HALF})

        watcher.mines(a_deposit("older", HALF + 1))
        watcher.mines(a_deposit("younger", 1))

        assert confirmed(watcher) == []

    def test_deposit_larger_than_the_cap_delays_no_other(self) -> None:
        watcher = Watcher(policy=a_capped_policy())

        watcher.mines(a_deposit("too large", LARGE + 1))
        watcher.mines(a_deposit("younger", 1))

        assert confirmed(watcher) == [id_of("younger")]

    def test_deposit_of_exactly_the_cap_is_confirmed(self) -> None:
        watcher = Watcher(policy=a_capped_policy())

        watcher.mines(a_deposit("whole", LARGE))

        assert confirmed(watcher) == [id_of("whole")]

    def test_withheld_deposit_is_marked_once(self) -> None:
        watcher = Watcher(policy=a_capped_policy(cap=0))

        first, second = watcher.mines(a_deposit("waits")), watcher.mines()

        assert (len(first.withheld_movements), len(second.withheld_movements)) == (1, 0)

    def test_a_token_without_a_cap_waits(self) -> None:
        policy = a_capped_policy()
        assert policy.caps is not None
        watcher = Watcher(policy=replace(policy, caps=replace(policy.caps, base_units={})))

        watcher.mines(a_deposit("waits", 1))

        assert confirmed(watcher) == []

    def test_is_no_matter_once_a_second_provider_is_configured(self) -> None:
        watcher = Watcher(policy=a_capped_policy(cap=0))
        watcher.mines(a_deposit("waits", 1))

        watcher.policy = a_policy_of_two()
        watcher.mines()

        assert confirmed(watcher) == [id_of("waits")]


def looked_again(
    *movements: events.Movement,
    stored: StoredMovements | None = None,
    evidence: Evidence | None = None,
    policy: object = None,
) -> MissedMovements:
    return decide_missed(
        NETWORK,
        [BlockAdded(BLOCK, movements)],
        stored=stored or StoredMovements(frozenset(), {}),
        policy=policy or a_policy_of_two(),  # type: ignore[arg-type]
        known={},
        evidence=evidence,
    )


def published_states(found: MissedMovements) -> list[str]:
    return [tracked.state.value for tracked in found.publications if tracked.state]


class TestSecondLook:
    @pytest.mark.fault("W1")
    def test_a_large_deposit_that_only_the_second_look_found_is_not_confirmed(self) -> None:
        """It has only one report too: the other provider did not have it."""
        found = looked_again(a_deposit("missed", LARGE))

        assert published_states(found) == ["seen"]
        assert found.leaves_open

    @pytest.mark.fault("W1")
    def test_small_ones_that_were_missed_count_together(self) -> None:
        found = looked_again(
            a_deposit("one", HALF),
            a_deposit("two", 1),
            evidence=Evidence(unverified_sums={TOKEN: HALF - 1}),
        )

        assert published_states(found) == ["seen", "confirmed", "seen"]

    def test_missed_deposit_below_the_tier_is_confirmed(self) -> None:
        found = looked_again(a_deposit("missed", LARGE - 1))

        assert published_states(found) == ["seen", "confirmed"]

    def test_unverified_sum_does_not_raise_the_depth_of_a_deposit(self) -> None:
        unverified = Evidence(unverified_sums={TOKEN: LARGE})

        found = looked_again(a_deposit("missed"), evidence=unverified, policy=a_policy())

        [missed] = found.new_movements
        assert missed.depth == Depth(2, is_finality=False, providers=1)

    @pytest.mark.fault("W1")
    def test_a_payout_that_only_the_second_look_found_is_not_confirmed(self) -> None:
        assert published_states(looked_again(a_payout("missed"))) == ["seen"]
        assert published_states(looked_again(a_payout("missed"), policy=a_capped_policy())) == [
            "seen",
            "confirmed",
        ]

    def test_missed_deposit_counts_under_the_cap_of_a_single_provider(self) -> None:
        assert published_states(looked_again(a_deposit("missed", 1), policy=a_capped_policy())) == [
            "seen"
        ]

    @pytest.mark.parametrize(
        ("name", "value"), [("memo", b"another"), ("from_address", UNKNOWN_ADDRESS)]
    )
    @pytest.mark.fault("W1")
    def test_memo_or_sender_that_differs_from_the_published_one_is_a_contradiction(
        self, name: str, value: object
    ) -> None:
        """Neither is in a log, so a node that lies about them credits another swap."""
        stored = stored_deposit(a_transfer("one", memo=b"memo"))

        with pytest.raises(MovementsDenied):
            looked_again(a_transfer("one", **{"memo": b"memo", name: value}), stored=stored)

    def test_deposit_that_is_reported_alike_is_verified(self) -> None:
        fact = a_transfer("one", memo=b"memo")
        stored = stored_deposit(fact)

        assert looked_again(fact, stored=stored).verified == ((BLOCK.hash, id_of("one")),)

    def test_a_receipt_that_another_log_explains_there_is_denied(self) -> None:
        stored = stored_deposit(a_transfer("one"))
        claimed = a_transfer("one", claimed_by=a_log("deposit"))

        with pytest.raises(MovementsDenied):
            looked_again(claimed, stored=stored)

    def test_memos_that_were_stored_before_they_were_compared_are_not(self) -> None:
        stored = replace(stored_deposit(a_transfer("one", memo=b"memo")), deposits=frozenset())

        assert looked_again(a_transfer("one"), stored=stored).verified == ()

    def test_transfer_to_a_deposit_address_is_verified_as_well(self) -> None:
        fact = a_transfer("one", to_address=DEPOSIT_ADDRESS)

        assert looked_again(fact, stored=stored_deposit(fact)).verified


def stored_deposit(fact: events.Movement) -> StoredMovements:
    movement = to_movement(BLOCK, fact, a_policy(), ())
    assert movement is not None
    key = BLOCK.hash, movement.id
    return StoredMovements(frozenset({movement.id}), {5: BLOCK.hash}, (movement,), frozenset({key}))
