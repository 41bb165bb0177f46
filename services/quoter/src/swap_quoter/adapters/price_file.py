"""Prices from a JSON file that an external program updates.

`{"ETH": "3000.00", "USDC": {"usd": "1", "at": "2026-01-01T00:00:00Z"}}`: dollars as digits, by
price symbol. A price without a time is as old as the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson

from swap_quoter.domain.market import PriceInvalid, TimedValue, to_usd_e18
from swap_quoter.ports import PricesUnreadable

Stamp = tuple[int, int, int]  # what changes when the file does


class PriceFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: Stamp | None = None

    async def find_updates(self) -> Mapping[str, TimedValue] | None:
        """Read the file if it changed. Elsewhere than in the loop: a disk may hang.

        :raises PricesUnreadable: when it is missing or not understood.
        """
        try:
            return await asyncio.to_thread(self._updates)
        except (OSError, ValueError) as error:
            raise PricesUnreadable(f"{self._path.name}: {error}") from error

    def _updates(self) -> Mapping[str, TimedValue] | None:
        facts = self._path.stat()
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        if stamp == self._read:
            return None
        written_at = datetime.fromtimestamp(facts.st_mtime_ns // 1_000_000_000, UTC)
        prices = prices_from(self._path.read_bytes(), written_at)
        self._read = stamp
        return prices


def prices_from(content: bytes, written_at: datetime) -> dict[str, TimedValue]:
    """
    :raises ValueError: when the content does not have the module's format.
    """
    document = orjson.loads(content)
    if not isinstance(document, dict):
        raise PriceInvalid("not an object")
    return {
        symbol: _to_timed_value(symbol, value, written_at) for symbol, value in document.items()
    }


def _to_timed_value(symbol: str, value: object, written_at: datetime) -> TimedValue:
    members = value if isinstance(value, dict) else {"usd": value}
    dollars, at = members.get("usd"), members.get("at")
    if not isinstance(dollars, str):
        raise PriceInvalid(f"{symbol} is not dollars in quotes")
    if "at" in members and not isinstance(at, str):
        raise PriceInvalid(f"{symbol}: `at` is not a moment in quotes")
    moment = datetime.fromisoformat(at) if isinstance(at, str) else written_at
    if moment.tzinfo is None:
        raise PriceInvalid(f"{symbol}: the moment has no time zone")
    return TimedValue(to_usd_e18(dollars), moment)
