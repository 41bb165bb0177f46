"""One soak: traffic and faults at once, then recovery, an idle time and the checks."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from swap_stack.options import Options
from swap_stack.places import Places
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.outside import Outside
from tests.plugins.stack import Stack
from tests.soak.checks import list_problems, read_deliveries
from tests.soak.faults import SERVICES
from tests.soak.memory import MemorySamples, sample_memory
from tests.soak.nemesis import Nemesis
from tests.soak.proxies import Proxies
from tests.soak.report import Run, make_report
from tests.soak.traffic import PATIENCE, Traffic

PROGRESS_SECONDS: Final = 10.0
# `settler-0 was killed by signal 9, pid 12; starting it again now` in the supervisor's log.
ENDED: Final = re.compile(r"(\w+)-0 (?:was killed|ended with)")


async def soak(
    places: Places,
    options: Options,
    proxies: Proxies,
    *,
    seed: int,
    minutes: float,
    began: str,
    has_faults: bool,
    print_step: Callable[[str, str], None],
) -> Mapping[str, Any]:
    """Return the report of the run; its `problems` are empty if everything is correct.

    :param has_faults: without them no process is restarted, and the memory of all is compared.
    """
    stack, loop = Stack(places, options), asyncio.get_running_loop()
    run = Run(seed, minutes, stack.broker_kind, began)
    async with Outside(stack.description, patience=PATIENCE) as outside:
        nemesis = Nemesis(
            stack, proxies, outside, seed=seed, print_step=lambda what: print_step("nemesis", what)
        )
        traffic = Traffic(
            stack, outside, seed=seed, print_step=lambda what: print_step("traffic", what)
        )
        await traffic.prepare()
        operator = asyncio.create_task(nemesis.operate())
        progress = asyncio.create_task(_show(traffic, nemesis, print_step))
        samples = MemorySamples()
        sampling = asyncio.create_task(sample_memory(samples, SERVICES, stack.pid))
        swapping = asyncio.create_task(traffic.run(60 * minutes))
        await (nemesis.run(60 * minutes) if has_faults else asyncio.sleep(60 * minutes))
        healed_at = loop.time()
        print_step("healed", "waiting for every swap's end")
        await swapping
        sampling.cancel()
        problems = [*nemesis.broken.problems, *samples.problems()]
        try:
            await wait_until_idle(stack.description)
        except AssertionError as error:
            problems.append(str(error))
        quiet_after = loop.time() - healed_at
        print_step("quiet", f"after {quiet_after:.1f} s")
        for task in (operator, progress):
            task.cancel()
        problems += await list_problems(stack, outside, traffic.swapped)
    delivered, _ = read_deliveries(stack)
    return make_report(
        run,
        traffic.swapped,
        nemesis.broken,
        restarts=_restarts(places),
        quiet_after_seconds=quiet_after,
        webhooks=sum(len(messages) for messages in delivered.values()),
        memory=samples.report(),
        problems=problems,
    )


async def _show(traffic: Traffic, nemesis: Nemesis, print_step: Callable[[str, str], None]) -> None:
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        swapped, broken = traffic.swapped, nemesis.broken
        print_step(
            "progress",
            f"{len(swapped.ended)} of {swapped.started} swaps ended,"
            f" {broken.faults.total()} faults,"
            f" {len(swapped.problems) + len(broken.problems)} problems",
        )


def _restarts(places: Places) -> Mapping[str, int]:
    """Count how often each service ended while it should have run."""
    ended = Counter(ENDED.findall(places.log("supervisor").read_text()))
    return {service: ended[service] for service in SERVICES}
