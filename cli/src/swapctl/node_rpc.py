"""Reads a chain through one JSON-RPC node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import httpx

TIMEOUT_SECONDS: Final = 5
ERROR_LENGTH_MAX: Final = 200
NATIVE: Final = "0x" + "0" * 40
BALANCE_OF: Final = "0x70a08231"  # balanceOf(address)


class NodeFailed(Exception):
    """A node did not answer, or answered with an error."""


@dataclass(frozen=True, slots=True)
class BlockHead:
    """A block, as a node reports it; `time` in seconds since 1970."""

    number: int
    hash: str
    time: int


class NodeRpc:
    def __init__(self, url: str) -> None:
        self._url = url

    def chain_id(self) -> int:
        """
        :raises NodeFailed: without an answer, or with an error for one.
        """
        return self._number("eth_chainId")

    def balance(self, address: str, block: int | None = None) -> int:
        """Return the native balance, in base units, at a block or at the newest one.

        :raises NodeFailed: without an answer, or with an error for one.
        """
        return self._number("eth_getBalance", address, _at(block))

    def token_balance(self, token: str, address: str, block: int | None = None) -> int:
        """Return the balance of a token, in base units; the zero address is the native coin.

        :raises NodeFailed: without an answer, or with an error for one.
        """
        if token == NATIVE:
            return self.balance(address, block)
        call = {"to": token, "data": BALANCE_OF + address[2:].lower().zfill(64)}
        return self._number("eth_call", call, _at(block))

    def gas_price(self) -> int:
        """
        :raises NodeFailed: without an answer, or with an error for one.
        """
        return self._number("eth_gasPrice")

    def block(self, tag: str | int) -> BlockHead:
        """Return a block by its number or tag (`latest`, `finalized`).

        :raises NodeFailed: without an answer, with an error for one, or without the block.
        """
        in_full = False
        name = _at(tag) if isinstance(tag, int) else tag
        found = self._ask("eth_getBlockByNumber", name, in_full)
        try:
            number, time = int(found["number"], 16), int(found["timestamp"], 16)
            return BlockHead(number, str(found["hash"]), time)
        except (ValueError, KeyError, TypeError) as error:
            raise NodeFailed(type(error).__name__) from error

    def _number(self, method: str, *parameters: Any) -> int:
        try:
            return int(self._ask(method, *parameters), 16)
        except (ValueError, TypeError) as error:
            raise NodeFailed(type(error).__name__) from error

    def _ask(self, method: str, *parameters: Any) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        try:
            answer = httpx.post(self._url, json=request, timeout=TIMEOUT_SECONDS).json()
        except (httpx.HTTPError, ValueError) as error:
            raise NodeFailed(type(error).__name__) from error
        if not isinstance(answer, dict) or "result" not in answer:
            raise NodeFailed(_error_of(answer))
        return answer["result"]


def _error_of(answer: object) -> str:
    """Return the message of a JSON-RPC error, or the beginning of what is none."""
    match answer:
        case {"error": {"message": str(message)}}:
            return message[:ERROR_LENGTH_MAX]
        case _:
            return f"no JSON-RPC answer: {str(answer)[:ERROR_LENGTH_MAX]}"


def _at(block: int | None) -> str:
    return "latest" if block is None else hex(block)
