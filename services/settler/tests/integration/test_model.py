"""The settler against a model: users, chains, faults and operators in any order.

Every use case, statement and constraint is the real one, on a real PostgreSQL; hypothesis chooses
what happens. At the end all faults are repaired and the system runs until nothing is due. Then
every funded swap is paid out, refunded or claimable, once, and no SQL invariant is violated.

`MODEL_EXAMPLES` and `MODEL_STEPS` set the number of runs; `MODEL_SEED` chooses other examples.
The SQL invariants are checked after each step. A failing example is shrunk first, for five
minutes at the most.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import SecretStr

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.recovery_worlds import SIGNER_HERE
from services.settler.tests.integration.test_lane_schedules import POINTS, killed_at
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    REQUESTED,
    SOURCE,
    a_recipient,
)
from services.settler.tests.model_world import LATE, UNKNOWN_SWAP, Model
from swap_chains.errors import ChainError
from swap_runtime.postgres.database import create_engine
from tests.plugins.invariants import Audit

pytestmark = [pytest.mark.connected, pytest.mark.timeout(0)]

EXAMPLES: Final = int(os.environ.get("MODEL_EXAMPLES", "6"))
STEPS: Final = int(os.environ.get("MODEL_STEPS", "40"))
SEED: Final = os.environ.get("MODEL_SEED")
ANY: Final = st.integers(min_value=0, max_value=10**6)
NETWORKS: Final = st.sampled_from([SOURCE, DESTINATION])
METHODS: Final = st.sampled_from(["depository", "direct", "deposit_address"])
UNITS: Final = st.sampled_from(
    [REQUESTED, REQUESTED, REQUESTED, REQUESTED // 2, 2 * REQUESTED, REQUESTED + 1, 10**15]
)
SWAP: Final = st.tuples(METHODS, st.booleans(), UNITS, st.sampled_from(["", "", DESTINATION]))
PAID_OUT: Final = ("direct", True, REQUESTED, "")  # while one payout is funded
LANE_STEPS: Final = st.sampled_from(
    ["send", "send", "rebroadcast", "replace", "close", "report", "start_refunds"]
)


class SettlerMachine(RuleBasedStateMachine):
    url: str
    watcher_url: str
    audit: Audit
    ends: Counter[str]  # of the swaps of all examples

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._there = opened_world(self.url, DESTINATION)
        # Without chain ids, no-ops of one signer would have the same hash on both networks.
        self._here = opened_world(self.url, SOURCE, beside_another=True, signer=SIGNER_HERE)
        self.model = self._run(self._open())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    async def _open(self) -> Model:
        there, here = await self._there.__aenter__(), await self._here.__aenter__()
        self._watcher = create_engine(SecretStr(self.watcher_url), application_name="test")
        return Model(there, here, self._watcher, Random(0))

    @initialize(
        payouts=st.sampled_from([1, 4, 100]), seed=ANY, swaps=st.lists(SWAP, min_size=3, max_size=8)
    )
    def begin(self, payouts: int, seed: int, swaps: list[tuple[str, bool, int, str]]) -> None:
        """Fund a number of payouts, and request swaps to recipients that may refuse."""
        self.model.random.seed(seed)
        self._run(self.model.begin(funded=payouts * PAYOUT))
        for method, has_refund_address, units, refusing in swaps:
            self.create_and_pay(method, has_refund_address, units)
            if refusing:
                self.refuse(len(self.model.methods) - 1, refusing, refuses=True)

    # Users

    @rule(method=METHODS, has_refund_address=st.booleans(), units=UNITS)
    def create_and_pay(self, method: str, has_refund_address: bool, units: int) -> None:
        create = self.model.create(method, has_refund_address=has_refund_address)
        self._run(self.model.send(self._run(create), units))

    @rule(method=METHODS, has_refund_address=st.booleans())
    def create(self, method: str, has_refund_address: bool) -> None:
        self._run(self.model.create(method, has_refund_address=has_refund_address))

    @precondition(lambda self: self.model.methods)
    @rule(which=ANY, units=UNITS, is_late=st.booleans())
    def pay(self, which: int, units: int, is_late: bool) -> None:
        self._run(self.model.send(self._swap(which), units, is_late=is_late))

    @precondition(lambda self: self.model.methods)
    @rule(which=ANY)
    def pay_wrongly(self, which: int) -> None:
        kind = {"kind": "native_received", "network": DESTINATION}
        self._run(self.model.send(self._swap(which), REQUESTED, **kind))

    @rule()
    def pay_without_a_swap(self) -> None:
        unmatched = {"kind": "native_received", "sequence_number": None}
        self._run(self.model.send(UNKNOWN_SWAP, REQUESTED, **unmatched))

    @precondition(lambda self: self.model.methods)
    @rule(which=ANY)
    def name_refund_address(self, which: int) -> None:
        self._run(self.model.name_refund_address(self._swap(which)))

    # The source chain, as the watcher reports it

    @precondition(lambda self: self.model.sent)
    @rule(which=ANY, state=st.sampled_from(["reverted", "confirmed"]))
    def observe(self, which: int, state: str) -> None:
        index = which % len(self.model.sent)
        if self.model.sent[index].state != state and self._is_reversible(index):
            self._run(self.model.observe(index, state))

    def _is_reversible(self, index: int) -> bool:
        """Coins at an address exist only in the test's own chain, and stay there."""
        return str(self.model.sent[index].body.kind) != "balance_rose"

    # Messages: late, twice, in another order

    @precondition(lambda self: self.model.waiting)
    @rule(which=ANY, count=st.integers(min_value=1, max_value=4))
    def deliver(self, which: int, count: int) -> None:
        waiting = self.model.waiting
        chosen = [waiting.pop(which % len(waiting)) for _ in range(min(count, len(waiting)))]
        self._run(self.model.deliver(chosen))

    @precondition(lambda self: self.model.delivered)
    @rule(which=ANY)
    def redeliver(self, which: int) -> None:
        delivered = self.model.delivered
        self._run(self.model.deliver([delivered[which % len(delivered)]]))

    @precondition(lambda self: self.model.methods)
    @rule(which=ANY)
    def redeliver_request(self, which: int) -> None:
        self._run(self.model.create_again(self._swap(which)))

    # The lanes and their chains

    @rule(network=NETWORKS, step=LANE_STEPS)
    def step_lane(self, network: str, step: str) -> None:
        self._run(self._tried(getattr(self.model.sides[network], step)))

    @rule(network=NETWORKS, point=st.sampled_from(POINTS))
    def crash_lane(self, network: str, point: str) -> None:
        side = self.model.sides[network]

        async def crash() -> None:
            with killed_at(point):
                for step in (side.send, side.replace, side.start_refunds):
                    await self._tried(step)
            side.start_anew()

        self._run(crash())

    @rule(network=NETWORKS)
    def send_with_lost_lease(self, network: str) -> None:
        self._run(self.model.send_with_lost_lease(network))

    @rule(network=NETWORKS, step=st.sampled_from(["mine", "mine", "mine", "reorg", "forget"]))
    def change_chain(self, network: str, step: str) -> None:
        self._run(getattr(self.model.sides[network], step)())

    @rule(network=NETWORKS, is_high=st.booleans())
    def change_fees(self, network: str, is_high: bool) -> None:
        side = self.model.sides[network]
        self._run(side.raise_fees() if is_high else side.lower_fees())

    @precondition(lambda self: self.model.methods)
    @rule(which=ANY, network=NETWORKS, refuses=st.booleans())
    def refuse(self, which: int, network: str, refuses: bool) -> None:
        chain = self.model.sides[network].world.chain
        chain.refuse(a_recipient(self._swap(which)), refuses=refuses)

    @rule(network=NETWORKS, is_reachable=st.booleans())
    def node(self, network: str, is_reachable: bool) -> None:
        chain = self.model.sides[network].world.chain
        chain.make_available() if is_reachable else chain.make_unavailable()

    @rule(network=NETWORKS)
    def use_nonce_elsewhere(self, network: str) -> None:
        self._run(self.model.use_nonce_elsewhere(network))

    @rule()
    def work(self) -> None:
        self._run(self.model.work())

    @rule(which=ANY)
    def work_and_pay_claim(self, which: int) -> None:
        self._run(self.model.work())
        self._run(self.model.pay_claim(which % 7))

    # Prices, sweeps, time

    @rule(is_away=st.booleans())
    def requote(self, is_away: bool) -> None:
        self.model.prices.is_away = is_away
        self._run(self.model.requote())

    @rule()
    def sweep(self) -> None:
        self._run(self._tried(self.model.sweep))
        self._run(self._tried(self.model.report_sweeps))

    @rule()
    def let_quotes_expire(self) -> None:
        self.model.now_is(NOW + LATE)

    @rule()
    def expire(self) -> None:
        self._run(self.model.expire())

    @rule()
    def pass_deadline(self) -> None:
        self._run(self.model.pass_deadline())

    # Operators

    @rule(which=ANY)
    def pay_claim(self, which: int) -> None:
        self._run(self.model.pay_claim(which % 7))

    @rule(network=NETWORKS)
    def stop_payouts(self, network: str) -> None:
        self._run(self.model.stop(network))

    @rule()
    def lift_stops(self) -> None:
        self._run(self.model.lift())

    @rule(network=NETWORKS)
    def explain(self, network: str) -> None:
        self._run(self.model.explain(network))

    @invariant()
    def no_invariant_is_broken(self) -> None:
        self.audit.check()

    def teardown(self) -> None:
        try:
            self._run(self._finish())
            self.audit.check()
        finally:
            self._run(self._close())
            self._runner.close()

    async def _finish(self) -> None:
        await self.model.restore_services()
        await self.model.run_until_idle()
        self.ends.update(await self.model.check())

    async def _close(self) -> None:
        await self._here.__aexit__(None, None, None)
        await self._there.__aexit__(None, None, None)
        await self._watcher.dispose()

    async def _tried(self, step: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run a step as a lane does: a node that does not answer ends it, and nothing else."""
        try:
            await step()
        except ChainError:
            return

    def _swap(self, which: int) -> int:
        return which % len(self.model.methods) + 1


def bound(migrate_schema: Callable[[str], str], audit: Audit) -> type[SettlerMachine]:
    """Return the machine on the databases of this run."""
    watcher_url = migrate_schema("chain-watcher")
    there = {"url": migrate_schema("settler"), "watcher_url": watcher_url}
    return type(
        "BoundSettlerMachine", (SettlerMachine,), {**there, "audit": audit, "ends": Counter()}
    )


def test_every_funded_swap_is_paid_out_or_back_or_claimable(
    migrate_schema: Callable[[str], str], audit: Audit
) -> None:
    machine = bound(migrate_schema, audit)
    settings = hypothesis.settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        derandomize=SEED is None,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    if SEED is not None:
        machine = hypothesis.seed(int(SEED))(machine)
    run_state_machine_as_test(machine, settings=settings)
    ends = machine.ends
    print(f"MODEL_SEED={SEED} MODEL_EXAMPLES={EXAMPLES}: {dict(ends)}")  # noqa: T201
    assert len(ends) > 1, "examples that differ end differently"


class TestFound:
    """Failures that seeds found, as shrunk by hypothesis."""

    def test_a_later_deposit_goes_back_although_a_reorg_takes_the_accepted_one(
        self, migrate_schema: Callable[[str], str], audit: Audit
    ) -> None:
        """MODEL_SEED=32: the swap expires."""
        machine = bound(migrate_schema, audit)()
        machine.begin(payouts=1, seed=0, swaps=[PAID_OUT, ("depository", True, REQUESTED, "")])
        machine.pay(which=1, units=REQUESTED, is_late=False)
        machine.observe(which=1, state="reverted")
        machine.work()
        machine.teardown()

        assert machine.ends == {"completed": 1, "expired": 1}

    def test_a_claim_is_paid_before_its_deposit_address_is_swept(
        self, migrate_schema: Callable[[str], str], audit: Audit
    ) -> None:
        """MODEL_SEED=33: the Treasury's own money pays it."""
        machine = bound(migrate_schema, audit)()
        addressed, back = ("deposit_address", False), ("depository", True)
        machine.begin(
            payouts=1,
            seed=0,
            swaps=[PAID_OUT, *((*one, 2 * REQUESTED, "") for one in (addressed, back))],
        )
        machine.work_and_pay_claim(which=0)
        machine.teardown()

        assert machine.ends == {"completed": 1, "failed": 1, "refunded": 1}
