"""Looks for test swaps that mean something, and plays each of them once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from swap_stack.demo.partner import Partner
from swap_stack.sandbox.outcomes import meant_by
from swap_stack.sandbox.plays import Play
from swap_stack.sandbox.purse import Purse
from swap_stack.sandbox.settings import Settings

LOOK_SECONDS = 0.5
PAGE_SIZE = 100

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
        session: aiohttp.ClientSession,
        purses: Mapping[str, Purse],
        others: Mapping[str, Purse],
    ) -> None:
        self._settings = settings
        self._session = session
        self._purses = purses
        self._others = others
        self._journal = Journal(settings)
        self._plays: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Look and play for ever."""
        self._journal.open()
        while True:
            for key in self._settings.list_keys():
                partner = Partner(self._session, self._settings.gateway, key)
                try:
                    await self._look(partner)
                except Exception:
                    logger.exception("the service does not answer as it should")
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, partner: Partner) -> None:
        for row in await partner.list_swaps(statuses="user_transfer_pending", page_size=PAGE_SIZE):
            swap = row["swap"]
            outcome = meant_by(swap["destination_address"])
            network = swap["source_network"]["name"]
            known = swap["id"] in self._plays or swap["id"] in self._journal.paid
            if outcome is None or known or network not in self._purses:
                continue
            play = Play(
                swap_id=swap["id"],
                outcome=outcome,
                partner=partner,
                purse=self._purses[network],
                other=self._others[network],
                before_paying=self._journal.note,
            )
            logger.info("%s: %s", swap["id"], outcome)
            self._plays[swap["id"]] = asyncio.create_task(played(play))


async def played(play: Play) -> None:
    """Play, and say what went wrong whatever it is: nobody waits for the task."""
    try:
        await play.run()
    except Exception:
        logger.exception("%s: %s", play.swap_id, play.outcome)
