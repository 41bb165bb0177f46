"""The catalogue's networks as chains: their readers, and the comparison with the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import aiohttp

from swap_chain_watcher import observe
from swap_chains.errors import BlockDiffers, ChainError
from swap_chains.evm.check import Derivation, check_chain
from swap_chains.evm.follower import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc
from swap_domain.catalogue import NATIVE, Network
from swap_runtime.postgres.database import forbid_open_transaction


class EvmChain:
    """One EVM network: a reader over its nodes."""

    def __init__(
        self,
        network: Network,
        urls: Sequence[str],
        session: aiohttp.ClientSession,
        *,
        poll_interval: timedelta,
        node_timeout: timedelta,
        range_blocks_max: int,
    ) -> None:
        self.network = network

        def rpc(on_failure: Callable[[ChainError], None] = self._on_failure) -> Rpc:
            return Rpc.to_urls(
                network.name,
                urls,
                session,
                timeout_seconds=node_timeout.total_seconds(),
                on_failure=on_failure,
                before_call=lambda: forbid_open_transaction("rpc"),
                chain_id=network.chain_id,
            )

        pace = Pace(poll_seconds=poll_interval.total_seconds(), range_blocks_max=range_blocks_max)
        self._rpc = rpc()
        self._is_checked = False
        self.watched: set[str] = set()  # deposit addresses, in lower case
        self.reader = _reader(network, self._rpc, pace, self.watched)
        # A single node that is queried later still reports the logs that it indexed late.
        self.providers = self._rpc.providers
        self.second_watched: set[str] = set()
        self.second_reader = _reader(network, rpc(), pace, self.second_watched)
        self.verified_watched: set[str] = set()
        # Near the head a node that lags has another block: there that is no contradiction.
        self.verifying_reader = _reader(
            network, rpc(self._on_node_failure), pace, self.verified_watched, needs_two=True
        )

    async def check(self) -> None:
        """Hold the chain against the catalogue, once.

        :raises WrongChain: when a node serves another chain.
        :raises ChainMismatch: when contracts or tokens differ from the catalogue.
        :raises ChainUnavailable: when no node answers; nothing is known then.
        """
        if self._is_checked:
            return
        network = self.network
        await check_chain(
            self._rpc,
            chain_id=network.chain_id,
            depository=network.contracts.depository,
            treasury=network.contracts.treasury,
            decimals={token.address: token.decimals for token in network.tokens},
            derivation=_derivation(network),
        )
        self._is_checked = True

    def _on_failure(self, error: ChainError) -> None:
        if isinstance(error, BlockDiffers):
            observe.nodes_differed(self.network.name, error)
        self._on_node_failure(error)

    def _on_node_failure(self, error: ChainError) -> None:
        observe.node_failed(self.network.name, error)


def _derivation(network: Network) -> Derivation | None:
    addresses = network.contracts.deposit_addresses
    if addresses is None:
        return None
    return Derivation(addresses.factory, addresses.init_code_hash, network.contracts.treasury)


def _reader(
    network: Network, rpc: Rpc, pace: Pace, watched: set[str], *, needs_two: bool = False
) -> EvmReader:
    addresses = network.contracts.deposit_addresses
    return EvmReader(
        rpc,
        # Nothing is ever emitted at the zero address: no Depository, none of its logs.
        depository=network.contracts.depository or NATIVE,
        treasury=network.contracts.treasury,
        tokens=[token.address for token in network.tokens if not token.is_native],
        factory=None if addresses is None else addresses.factory,
        watched=watched,
        pace=pace,
        needs_two=needs_two,
        has_blooms=network.has_blooms,
    )
