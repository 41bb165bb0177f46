"""The watcher's readers as they are wired."""

from __future__ import annotations

from datetime import timedelta

import pytest
from watch_factories import a_network

from swap_chain_watcher.adapters.chains import EvmChain
from swap_chains.evm.rpc import open_session
from swap_runtime.postgres.database import Engine, TransactionOpen, transaction

pytestmark = pytest.mark.connected


@pytest.mark.fault("P10")
async def test_ask_no_node_inside_a_transaction(engine: Engine) -> None:
    async with open_session() as session:
        chain = EvmChain(
            a_network(),
            ["http://127.0.0.1:1", "http://127.0.0.1:2"],
            session,
            poll_interval=timedelta(seconds=1),
            node_timeout=timedelta(seconds=1),
            range_blocks_max=10,
        )
        async with transaction(engine):
            for reader in (chain.reader, chain.second_reader):
                with pytest.raises(TransactionOpen, match="rpc"):
                    await reader.head()
