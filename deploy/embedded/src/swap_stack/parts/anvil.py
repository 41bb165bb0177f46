"""A development chain that makes a block every second and keeps its state on disk."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from swap_stack.daemon import Daemon, StackError, words
from swap_stack.node import Node, NodeError
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

PROGRAM = "evm/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
# Enough for any development: what an account has at block 0, in whole coins.
GENESIS_BALANCE = 100_000_000


@dataclass(frozen=True, slots=True)
class DevelopmentChain:
    """A chain of the local stack, and what its own coin is called."""

    network: str
    display_name: str
    chain_id: int
    native: str


CHAINS = (
    DevelopmentChain("ETHEREUM_DEVNET", "Ethereum (development)", 31337, "ETH"),
    DevelopmentChain("BASE_DEVNET", "Base (development)", 31338, "ETH"),
    DevelopmentChain("POLYGON_DEVNET", "Polygon (development)", 31339, "POL"),
)


class Anvil(Daemon):
    """One chain; up to two seconds of it are lost by kill -9."""

    # On SIGINT it writes its state before it goes.
    stop_signal = signal.SIGINT

    def __init__(
        self,
        chain: DevelopmentChain,
        places: Places,
        ports: Ports,
        registry: Registry,
        arguments: Sequence[str] = (),
    ) -> None:
        super().__init__(f"anvil-{chain.network.lower()}", places, registry)
        self.port = ports.take(self.name)
        self.chain = chain
        self._arguments = tuple(arguments)
        self._state = places.var / "anvil" / f"{chain.network}.json"

    @property
    def rpc_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        program = self.places.root / PROGRAM
        if not program.is_file():
            raise StackError(f"{PROGRAM} is missing: `make install` fetches it.")
        self._state.parent.mkdir(parents=True, exist_ok=True)
        # The program itself, never the wrapper of its package: killing that leaves the chain alive.
        options = {
            "--host": "127.0.0.1",
            "--port": self.port,
            "--chain-id": self.chain.chain_id,
            "--balance": GENESIS_BALANCE,
            "--block-time": 1,
            "--slots-in-an-epoch": 1,
            "--state": self._state,
            "--state-interval": 2,
        }
        switches = ("--preserve-historical-states", "--quiet", *self._arguments)
        self.spawn([str(program), *words(options), *switches])

    async def probe(self) -> bool:
        """Ask for the chain id: another chain on our port would answer with its own."""
        try:
            return await Node(self.rpc_url).number("eth_chainId") == self.chain.chain_id
        except (aiohttp.ClientError, OSError, TimeoutError, NodeError):
            return False
