"""The drill: dump, pay, restore the dump, start again; and what must be true of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from swap_stack.daemon import StackError
from swap_stack.down import SUPERVISOR, down
from swap_stack.drill.backup import dump, restore
from swap_stack.drill.payments import count_of, read_payments, refuels_of
from swap_stack.drill.recovery import RecoveryStatus, until_ended
from swap_stack.drill.swaps import FORGOTTEN, NEW, PAID_OUT, SENT_BACK, UNPAID
from swap_stack.options import Options
from swap_stack.partners import Operator
from swap_stack.places import Places
from swap_stack.processes import Registry, end
from swap_stack.report import Report
from swap_stack.services import PROCESSES
from swap_stack.swaps import PlannedSwap, Swaps, open_swaps
from swap_stack.up import up

BACKUP: Final = "drill.dump"
PrintStep = Callable[[str, str], None]
# While it is open no service runs; it yields nothing, and what it was opened for runs again after.
StopServices = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class DrillResult:
    """What the drill has shown."""

    status: RecoveryStatus  # of the recovery, when it had ended
    statuses: Mapping[PlannedSwap, str]  # in the end
    paid: Counter[int]  # by the Treasuries' logs
    ids: Mapping[PlannedSwap, str]

    def faults(self) -> Sequence[str]:
        """Return what should not be; nothing when nothing was paid twice."""
        found = [f"id {id} was paid {n} times" for id, n in self.paid.items() if n > 1]
        for planned, swap_id in self.ids.items():
            if (count := count_of(self.paid, swap_id)) != 1:
                found.append(f"{planned.name}: its leg was paid {count} times")
        if (refuels := refuels_of(self.paid, self.ids[PAID_OUT])) != 1:
            found.append(f"{PAID_OUT.name}: its refuel was paid {refuels} times")
        for planned in (NEW, UNPAID, PAID_OUT):
            if self.statuses[planned] != "completed":
                found.append(f"{planned.name}: it is {self.statuses[planned]}")
        return [*found, *self._missing_entries()]

    def _missing_entries(self) -> Sequence[str]:
        shown = {(one["swap_id"], one["kind"]) for one in self.status["forgotten"]}
        wanted = {
            (self.ids[PAID_OUT], "output"),
            (self.ids[PAID_OUT], "refuel"),
            (self.ids[SENT_BACK], "refund"),
            (None, "unknown"),
        }
        held = {one["swap_id"] for one in self.status["retained"]}
        missing = {self.ids[PAID_OUT], self.ids[SENT_BACK]} - held
        return [
            *(f"not shown as forgotten: {kind} of {swap}" for swap, kind in wanted - shown),
            *(f"not held after the recovery: {swap}" for swap in missing),
        ]


async def run_drill(
    stack: Mapping[str, Any], *, file: Path, stopped: StopServices, print_step: PrintStep
) -> DrillResult:
    """Do it on a running stack.

    :param file: where the backup goes.
    :raises StackError: when something does not happen in time.
    """
    async with open_swaps(stack) as swaps:
        for planned in (PAID_OUT, SENT_BACK, UNPAID):
            await swaps.create(planned)
            print_step("created", f"{swaps.id_of(planned)}, {planned.name}")
        await dump(stack["postgres"]["url"], file)
        print_step("backup", file.name)
        await swaps.create(FORGOTTEN)
        for planned in (PAID_OUT, FORGOTTEN, SENT_BACK):
            await swaps.pay(planned)
        for planned in (PAID_OUT, FORGOTTEN, SENT_BACK):
            print_step(await swaps.follow(planned), f"{swaps.id_of(planned)}, {planned.name}")
        before = await read_payments(stack)
        operator = Operator.of_stack(stack)
        async with stopped():
            await restore(stack["postgres"]["url"], file)
            print_step("restored", f"the database has forgotten {before.total()} payments")
        ending = asyncio.create_task(
            until_ended(operator, lambda line: print_step("recovery", line))
        )
        try:
            return await _after(stack, swaps, operator, ending, print_step)
        finally:
            ending.cancel()


async def _after(
    stack: Mapping[str, Any],
    swaps: Swaps,
    operator: Operator,
    ending: asyncio.Task[RecoveryStatus],
    print_step: PrintStep,
) -> DrillResult:
    await swaps.create(NEW)
    await swaps.pay(NEW)
    await swaps.pay(UNPAID)
    print_step(
        "paid for", f"{swaps.id_of(NEW)}, {NEW.name}, and {swaps.id_of(UNPAID)}, {UNPAID.name}"
    )
    status = await ending
    for planned in (NEW, UNPAID):
        print_step(await swaps.follow(planned), f"{swaps.id_of(planned)}, {planned.name}")
    for one in status["forgotten"]:
        of = one["swap_id"] or "a swap that is forgotten"
        print_step(
            "forgotten", f"{one['kind']} of {of}, {one['transaction_hash']} on {one['network']}"
        )
    for one in status["retained"]:
        print_step("held still", f"{one['kind']} of {one['swap_id'] or one['deposit_id']}")
    # A refuel is ordered by its output, and explained after it.
    for one in sorted(status["forgotten"], key=lambda one: one["kind"] != "output"):
        if one["swap_id"] == swaps.id_of(PAID_OUT):
            transaction = (one["network"], one["transaction_hash"])
            reason = "it was made before the restore"
            operator.run("payouts", "explain", *transaction, "--reason", reason)
            print_step("explained", f"{one['kind']} of {one['swap_id']}, by its transaction")
    planned_ones = (PAID_OUT, SENT_BACK, UNPAID, FORGOTTEN, NEW)
    await swaps.follow(PAID_OUT)
    statuses = {p: await swaps.status(p) for p in planned_ones if p is not FORGOTTEN}
    ids = {planned: swaps.id_of(planned) for planned in planned_ones}
    return DrillResult(status, statuses, await read_payments(stack), ids)


async def drill(places: Places, options: Options, report: Report) -> None:
    """Play it on a stack of its own, from nothing, and stop.

    :raises StackError: when anything was paid twice, or went differently than promised.
    """
    fresh = replace(options, fresh=True)
    stack = await up(places, fresh, report)

    @asynccontextmanager
    async def stop_services() -> AsyncIterator[None]:
        registry = Registry(places.processes_file)
        for names in ((SUPERVISOR,), PROCESSES):
            for record in registry.list_alive():
                if record.name in names or record.name.rpartition("-")[0] in names:
                    await end(record)
        yield
        await up(places, replace(options, fresh=False), report)

    try:
        file = places.var / BACKUP
        drill_result = await run_drill(
            stack, file=file, stopped=stop_services, print_step=report.print_step
        )
    finally:
        await down(places, report)
    if faults := drill_result.faults():
        raise StackError("\n".join(faults))
    report.print_step("nothing twice", "each swap was paid once, by the Treasuries' own logs")
