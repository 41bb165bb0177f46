"""Makes additional blocks on development chains, so that work that waits for blocks ends sooner.

Their times are those of the wall clock, so several may have the same time.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import httpx

EVERY_SECONDS: Final = 0.25
MINE: Final = {"jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": []}


class _ChainHolders:
    """A chain's lock and its number of holders; with any holder, no additional block is mined."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0


_HOLDERS: defaultdict[str, _ChainHolders] = defaultdict(_ChainHolders)  # by the chain's URL


@contextmanager
def interval_mining_only(url: str) -> Iterator[None]:
    """Stop additional blocks of a chain while the block runs."""
    turn = _HOLDERS[url]
    with turn.lock:
        turn.holders += 1
    try:
        yield
    finally:
        with turn.lock:
            turn.holders -= 1


class Ticker:
    """Mines on every chain, each in its own thread, until it is stopped."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._tick, args=(url, _HOLDERS[url]), daemon=True)
            for url in urls
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _tick(self, url: str, turn: _ChainHolders) -> None:
        with httpx.Client(timeout=10, verify=False) as client:
            while not self._ended.wait(EVERY_SECONDS):
                with turn.lock:
                    if turn.holders:
                        continue
                    try:
                        client.post(url, json=MINE)
                    except httpx.TransportError:
                        continue  # the chain is stopping
