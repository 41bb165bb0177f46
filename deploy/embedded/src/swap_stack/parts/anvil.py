"""A development chain that makes a block every second and keeps its state on disk."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp
import orjson

from swap_stack.daemon import Daemon, StackError, words
from swap_stack.node import Node, NodeError
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry

PROGRAM = "evm/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
# Enough for any development: what an account has at block 0, in whole coins.
GENESIS_BALANCE = 100_000_000
ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"


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
    """One chain; kill -9 takes its last two seconds, and all of it in the moment of writing."""

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
        if self._state.exists() and not self.has_whole_state():
            raise StackError(
                f"{self.chain.network} was killed while it wrote "
                f"{self.places.display_path(self._state)}, and the database remembers what "
                "happened on it. `make up FRESH=1` starts from nothing."
            )
        # The program itself, never the wrapper of its package: killing that leaves the chain alive.
        # Only past blocks are written, not states. These would grow by the whole state every
        # second, and writing them would soon use the whole machine.
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
        self.spawn([str(program), *words(options), "--quiet", *self._arguments])

    def has_whole_state(self) -> bool:
        """Return whether what is on disk was written to its end."""
        try:
            orjson.loads(self._state.read_bytes())
        except (FileNotFoundError, orjson.JSONDecodeError):
            return False
        return True

    async def probe(self) -> bool:
        """Ask for the chain id: another chain on our port would answer with its own.

        After a restart the state of the final block is there once that block is a new one.
        """
        node = Node(self.rpc_url)
        try:
            await node.call("eth_getBalance", ZERO_ADDRESS, "finalized")
            return await node.number("eth_chainId") == self.chain.chain_id
        except (aiohttp.ClientError, OSError, TimeoutError, NodeError):
            return False
