"""Checks that factories compute deposit addresses as we do, before one is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import aiohttp

from swap_api import observe
from swap_api.model.refusals import ApiRefusal
from swap_chains.errors import ChainMismatch, ChainUnavailable
from swap_chains.evm.check import Derivation, check_derivation
from swap_chains.evm.rpc import Rpc
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.postgres.database import forbid_open_transaction

NODE_SECONDS: Final = 3.0


class CheckedDepositAddresses:
    """Checks each network's factory once; its code does not change."""

    def __init__(
        self,
        catalogue: Catalogue,
        nodes: Mapping[str, tuple[str, ...]],
        session: aiohttp.ClientSession,
    ) -> None:
        self._networks = {
            network.name: network
            for network in catalogue.networks.values()
            if network.contracts.deposit_addresses is not None
        }
        self._nodes = nodes
        self._session = session
        self._verified: set[str] = set()

    async def verify_all(self) -> None:
        """Check every factory; one without an answering node is checked when it is needed.

        :raises ChainMismatch: when an address that we would show were not the factory's.
        """
        waiting = [n for n in self._networks.values() if n.name not in self._verified]
        await asyncio.gather(*(self._verify_if_it_answers(network) for network in waiting))

    async def verify(self, network: Network) -> None:
        """
        :raises ApiRefusal: while no node answers, or when the factory computes other addresses.
        """
        if network.name in self._verified:
            return
        try:
            await self._check(network)
        except (ChainUnavailable, ChainMismatch) as error:
            observe.deposit_addresses_unverified(network.name, error)
            raise ApiRefusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                f"Deposit addresses on {network.display_name} cannot be given for the moment",
                headers={"retry-after": "5"},
            ) from error

    async def _verify_if_it_answers(self, network: Network) -> None:
        try:
            await self._check(network)
        except ChainUnavailable as error:
            observe.deposit_addresses_unverified(network.name, error)

    async def _check(self, network: Network) -> None:
        addresses = network.contracts.deposit_addresses
        assert addresses is not None, "who asks has looked"
        rpc = Rpc.to_urls(
            network.name,
            self._nodes.get(network.name) or network.public_nodes,
            self._session,
            timeout_seconds=NODE_SECONDS,
            before_call=lambda: forbid_open_transaction("rpc"),
            chain_id=network.chain_id,
        )
        treasury = network.contracts.treasury
        await check_derivation(
            rpc, Derivation(addresses.factory, addresses.init_code_hash, treasury)
        )
        self._verified.add(network.name)
