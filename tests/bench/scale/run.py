"""One process of each service, then two of each in turn, then two of all, then one again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from swap_stack.places import Places
from tests.bench.progress import Progress
from tests.bench.scale.copies import started_copies
from tests.bench.session import SERVICES, Phase, Session, open_session
from tests.bench.settings import Settings

ONE = "one of each"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The measurements with second processes of some services."""

    name: str
    doubled: Collection[str]
    paced: Phase
    full: Phase
    proportional: int  # bytes of all processes of the five services after the phases


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """All arrangements of one stack, in the order of their measurement."""

    settings: Settings
    broker: str
    arrangements: list[Arrangement]
    faults: list[str]


def arrangements() -> Mapping[str, Collection[str]]:
    """Return the services with a second process, by the arrangement's name.

    The last repeats the first: their difference is the change of the machine's speed.
    """
    two = {f"two of {name}": (name,) for name in SERVICES}
    return {ONE: (), **two, "two of all": SERVICES, f"{ONE}, again": ()}


async def run(
    stack: Mapping[str, Any], places: Places, settings: Settings, progress: Progress
) -> ScaleResult:
    """Measure each arrangement on one stack."""
    measured: list[Arrangement] = []
    async with open_session(stack, places, settings, progress) as session:
        await session.warm_up()
        for name, doubled in arrangements().items():
            measured.append(await _measure(session, places, name, doubled))
        faults = await session.faults()
    return ScaleResult(settings, str(stack["broker"]), measured, faults)


async def _measure(
    session: Session, places: Places, name: str, doubled: Collection[str]
) -> Arrangement:
    gateway = session.load.gateway
    async with started_copies(places, doubled) as copies:
        gateway.spread(session.gateway_url, *(c.public_url for c in copies if c.name == "api"))
        await session.warm_up()
        paced = await session.run_evenly_without_parts(f"{name}, {session.settings.rate}/s")
        full = await session.full()
        gateway.spread(session.gateway_url)
        return Arrangement(name, doubled, paced, full, session.memory().proportional)
