"""Blocks between those that a development chain makes by itself: what waits for blocks waits less.

Their times are the wall's, so that several may have the same one.
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
    """Whose turn it is on a chain: while anybody holds it still, nothing is mined between."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0


_HOLDERS: defaultdict[str, _ChainHolders] = defaultdict(_ChainHolders)  # by the chain's address


@contextmanager
def interval_mining_only(url: str) -> Iterator[None]:
    """Let a chain have its own blocks alone for the while."""
    turn = _HOLDERS[url]
    with turn.lock:
        turn.holders += 1
    try:
        yield
    finally:
        with turn.lock:
            turn.holders -= 1


class Ticker:
    """Mines on every chain, each in a thread of its own, until it is ended."""

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
                        continue  # the chain is being ended
