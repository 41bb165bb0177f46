"""Reads a chain through one JSON-RPC node."""

from __future__ import annotations

from typing import Final

import httpx

TIMEOUT_SECONDS: Final = 5


class NodeFailed(Exception):
    """A node did not answer, or answered with an error."""


class NodeRpc:
    def __init__(self, url: str) -> None:
        self._url = url

    def chain_id(self) -> int:
        """
        :raises NodeFailed: without an answer.
        """
        return self._number("eth_chainId")

    def balance(self, address: str) -> int:
        """
        :raises NodeFailed: without an answer.
        """
        return self._number("eth_getBalance", address, "latest")

    def gas_price(self) -> int:
        """
        :raises NodeFailed: without an answer.
        """
        return self._number("eth_gasPrice")

    def _number(self, method: str, *parameters: str) -> int:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        try:
            answer = httpx.post(self._url, json=request, timeout=TIMEOUT_SECONDS).json()
            return int(answer["result"], 16)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise NodeFailed(type(error).__name__) from error
