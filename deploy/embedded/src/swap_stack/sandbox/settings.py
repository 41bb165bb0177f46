"""Settings of the sandbox: the environment of one stack, and never a live one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from swap_stack.files import read_json
from swap_stack.node import Node
from swap_stack.parts.anvil import CHAINS
from swap_stack.sandbox.apps import JoinedApps

SANDBOX = "sandbox"  # its partner and its app
TEST = "test"  # the only environment of a catalogue and of a key that it plays in
TEST_KEYS = "svc_test_"
DEVELOPMENT_CHAINS = {chain.network: chain.chain_id for chain in CHAINS}


class NotASandbox(RuntimeError):
    """It was configured for a deployment where real money could be; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where everything is."""

    gateway: str
    nodes: Mapping[str, str]
    partners: Path  # as `swap_stack.partners` writes them
    keys: Path  # test keys of further apps, one a line
    journal: Path
    received: Path
    host: str
    port: int

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        return cls(
            gateway=environ["SANDBOX_GATEWAY"],
            nodes=orjson.loads(environ["SANDBOX_NODES"]),
            partners=Path(environ["SANDBOX_PARTNERS"]),
            keys=Path(environ["SANDBOX_KEYS"]),
            journal=Path(environ["SANDBOX_JOURNAL"]),
            received=Path(environ["RECEIVED"]),
            host=environ.get("SANDBOX_HOST", "127.0.0.1"),
            port=int(environ["SANDBOX_PORT"]),
        )

    @property
    def joined(self) -> JoinedApps:
        return JoinedApps(self.keys.with_name("joined.json"))

    @property
    def partner(self) -> Mapping[str, Any]:
        """Return the sandbox's own partner."""
        rows: list[Mapping[str, Any]] = read_json(self.partners)
        return next(row for row in rows if row["name"] == SANDBOX)

    def list_keys(self) -> list[str]:
        """Return the keys of every app whose swaps are played, read anew each time.

        :raises NotASandbox: when one of them is not a test key.
        """
        further = self.keys.read_text().split() if self.keys.exists() else []
        keys = [str(self.partner["api_key"]), *further, *self.joined.keys_by_app().values()]
        require_test_keys(keys)
        return keys


def require_test_keys(keys: list[str]) -> None:
    """
    :raises NotASandbox: when one of them is not a test key.
    """
    for key in keys:
        if not key.startswith(TEST_KEYS):
            raise NotASandbox(f"the sandbox plays with {TEST_KEYS}… keys alone")


async def require_development_chain(network: str, node: Node) -> None:
    """
    :raises NotASandbox: when it is any other chain, or something else than a development node.
    """
    chain_id = await node.number("eth_chainId")
    version = str(await node.call("web3_clientVersion"))
    if DEVELOPMENT_CHAINS.get(network) != chain_id or not version.lower().startswith("anvil"):
        raise NotASandbox(f"{network} is chain {chain_id} on {version}: no development chain")
