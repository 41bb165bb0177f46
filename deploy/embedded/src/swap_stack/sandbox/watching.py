"""Looks for test swaps that mean something, and plays each of them once."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from swap_sdk import ApiError, AsyncClient, Retries, SwapError
from swap_stack.sandbox.outcome_runs import WAITING, OutcomeRun
from swap_stack.sandbox.outcomes import find_outcome
from swap_stack.sandbox.sandbox_wallet import SandboxWallet
from swap_stack.sandbox.settings import Settings

LOOK_SECONDS = 0.5
RETRY_SECONDS = 2.0
PAGE_SIZE = 100
ONCE = Retries(attempts_max=1)
KEY_CLOSED = "API_KEY_FORBIDDEN"

logger = logging.getLogger("sandbox")


@dataclass(slots=True)
class Journal:
    """Which swaps were paid: on disk before they are, so that a restart pays none twice."""

    settings: Settings
    paid: set[str] = field(default_factory=set)

    def open(self) -> None:
        path = self.settings.journal
        path.parent.mkdir(parents=True, exist_ok=True)
        self.paid = set(path.read_text().split()) if path.exists() else set()

    def note(self, swap_id: str) -> None:
        with self.settings.journal.open("a") as file:
            file.write(f"{swap_id}\n")
        self.paid.add(swap_id)


class Sandbox:
    """Every app in it, and every play that is on."""

    def __init__(
        self,
        settings: Settings,
        sandbox_wallets: Mapping[str, SandboxWallet],
        others: Mapping[str, SandboxWallet],
    ) -> None:
        self._settings = settings
        self._partners: dict[str, AsyncClient] = {}  # by key
        self._sandbox_wallets = sandbox_wallets
        self._others = others
        self._journal = Journal(settings)
        self._outcome_runs: dict[str, dict[str, asyncio.Task[None]]] = defaultdict(dict)  # by key

    async def run(self) -> None:
        """Look and play for ever."""
        self._journal.open()
        while True:
            for key in self._settings.list_keys():
                try:
                    await self._look(self._partner(key), self._outcome_runs[key])
                except ApiError as refused:
                    self._forget_if_closed(key, refused)
                except Exception:
                    logger.exception("the service does not answer as it should")
            await asyncio.sleep(LOOK_SECONDS)

    def _partner(self, key: str) -> AsyncClient:
        if key not in self._partners:
            # The next look tries again, and an api that is away delays no other key.
            self._partners[key] = AsyncClient(self._settings.gateway, key, retries=ONCE)
        return self._partners[key]

    def _forget_if_closed(self, key: str, refused: ApiError) -> None:
        """Play no more for an app that closed the key that it handed over."""
        logger.warning("%s", refused)
        if refused.code == KEY_CLOSED:
            self._settings.joined.forget(key)
            del self._partners[key]  # plays that are on have it still

    async def _look(
        self, partner: AsyncClient, outcome_runs: dict[str, asyncio.Task[None]]
    ) -> None:
        waiting = await swaps_waiting(partner)
        for swap_id in [
            one
            for one, outcome_run in outcome_runs.items()
            if outcome_run.done() and one not in waiting
        ]:
            del outcome_runs[swap_id]
        for swap_id, swap in waiting.items():
            outcome = find_outcome(swap["destination_address"])
            network = swap["source_network"]["name"]
            known = swap_id in outcome_runs or swap_id in self._journal.paid
            if outcome is None or known or network not in self._sandbox_wallets:
                continue
            outcome_run = OutcomeRun(
                swap_id=swap_id,
                outcome=outcome,
                partner=partner,
                sandbox_wallet=self._sandbox_wallets[network],
                other=self._others[network],
                before_paying=self._journal.note,
            )
            logger.info("%s: %s", swap_id, outcome)
            outcome_runs[swap_id] = asyncio.create_task(
                run_until_paid(outcome_run, self._journal.paid)
            )


async def swaps_waiting(partner: AsyncClient) -> Mapping[str, Mapping[str, Any]]:
    """Return every swap of an app that waits for its deposit, by id."""
    waiting: dict[str, Mapping[str, Any]] = {}
    for page in itertools.count(1):
        rows = await partner.swaps(statuses=[WAITING], page=page, page_size=PAGE_SIZE)
        waiting |= {row["swap"]["id"]: row["swap"] for row in rows}
        if len(rows) < PAGE_SIZE:
            break
    return waiting


async def run_until_paid(
    outcome_run: OutcomeRun, paid: Collection[str], *, pause: float = RETRY_SECONDS
) -> None:
    """Play, and log every exception: no caller awaits the task.

    What goes wrong before anything is paid is tried again for as long as the swap waits.
    """
    while True:
        try:
            return await outcome_run.run()
        except Exception:
            logger.exception("%s: %s", outcome_run.swap_id, outcome_run.outcome)
        await asyncio.sleep(pause)
        if outcome_run.swap_id in paid or await _is_over(outcome_run):
            return


async def _is_over(outcome_run: OutcomeRun) -> bool:
    try:
        return not await outcome_run.is_waiting()
    except SwapError:
        return False
