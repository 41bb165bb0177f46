"""Looks for test swaps that mean something, and plays each of them once."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from swap_stack.demo.partner import Partner, Refused
from swap_stack.sandbox.outcomes import meant_by
from swap_stack.sandbox.plays import WAITING, Play
from swap_stack.sandbox.purse import Purse
from swap_stack.sandbox.settings import Settings

LOOK_SECONDS = 0.5
RETRY_SECONDS = 2.0
PAGE_SIZE = 100
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
        session: aiohttp.ClientSession,
        purses: Mapping[str, Purse],
        others: Mapping[str, Purse],
    ) -> None:
        self._settings = settings
        self._session = session
        self._purses = purses
        self._others = others
        self._journal = Journal(settings)
        self._plays: dict[str, dict[str, asyncio.Task[None]]] = defaultdict(dict)  # by key

    async def run(self) -> None:
        """Look and play for ever."""
        self._journal.open()
        while True:
            for key in self._settings.list_keys():
                partner = Partner(self._session, self._settings.gateway, key)
                try:
                    await self._look(partner, self._plays[key])
                except Refused as refused:
                    self._forget_if_closed(key, refused)
                except Exception:
                    logger.exception("the service does not answer as it should")
            await asyncio.sleep(LOOK_SECONDS)

    def _forget_if_closed(self, key: str, refused: Refused) -> None:
        """Play no more for an app that closed the key that it handed over."""
        logger.warning("%s", refused)
        if KEY_CLOSED in str(refused):
            self._settings.joined.forget(key)

    async def _look(self, partner: Partner, plays: dict[str, asyncio.Task[None]]) -> None:
        waiting = await swaps_waiting(partner)
        for swap_id in [one for one, play in plays.items() if play.done() and one not in waiting]:
            del plays[swap_id]
        for swap_id, swap in waiting.items():
            outcome = meant_by(swap["destination_address"])
            network = swap["source_network"]["name"]
            known = swap_id in plays or swap_id in self._journal.paid
            if outcome is None or known or network not in self._purses:
                continue
            play = Play(
                swap_id=swap_id,
                outcome=outcome,
                partner=partner,
                purse=self._purses[network],
                other=self._others[network],
                before_paying=self._journal.note,
            )
            logger.info("%s: %s", swap_id, outcome)
            plays[swap_id] = asyncio.create_task(played(play, self._journal.paid))


async def swaps_waiting(partner: Partner) -> Mapping[str, Mapping[str, Any]]:
    """Return every swap of an app that waits for its deposit, by id."""
    waiting: dict[str, Mapping[str, Any]] = {}
    for page in itertools.count(1):
        rows = await partner.list_swaps(statuses=WAITING, page=page, page_size=PAGE_SIZE)
        waiting |= {row["swap"]["id"]: row["swap"] for row in rows}
        if len(rows) < PAGE_SIZE:
            break
    return waiting


async def played(play: Play, paid: Collection[str], *, pause: float = RETRY_SECONDS) -> None:
    """Play, and log every exception: no caller awaits the task.

    What goes wrong before anything is paid is tried again for as long as the swap waits.
    """
    while True:
        try:
            return await play.run()
        except Exception:
            logger.exception("%s: %s", play.swap_id, play.outcome)
        await asyncio.sleep(pause)
        if play.swap_id in paid or await _is_over(play):
            return


async def _is_over(play: Play) -> bool:
    try:
        return not await play.is_waiting()
    except (Refused, aiohttp.ClientError, TimeoutError):
        return False
