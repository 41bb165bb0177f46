"""Whether Depositories take deposits now, read at the head from any node that answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import aiohttp

from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.depositories import depository_findings
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

TIMEOUT_SECONDS: Final = 3.0


class EvmDepositories:
    def __init__(self, catalogue: Catalogue, nodes: Nodes, session: aiohttp.ClientSession) -> None:
        self._rpcs = open_nodes(catalogue, nodes, session, timeout_seconds=TIMEOUT_SECONDS)

    async def findings(self, network: Network) -> Sequence[str]:
        contracts = network.contracts
        assert contracts.depository is not None, "who asks has looked"
        try:
            return await depository_findings(
                self._rpcs[network.name],
                chain_id=network.chain_id,
                depository=contracts.depository,
                treasury=contracts.treasury,
            )
        except ChainError as error:
            raise Unavailable(str(error)) from error
