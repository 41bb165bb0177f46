"""A real node's report of a transaction's place, from the mempool to a reorg."""

from __future__ import annotations

import pytest

from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.transaction_lookup import (
    UNKNOWN_TRANSACTION,
    LocatedTransaction,
    TransactionState,
    locate_transactions,
)
from swap_chains.ports import Call

pytestmark = pytest.mark.connected


async def test_a_transaction_is_pending_mined_reverted_or_unknown(anvil, anvil_url):
    transfer = anvil.transfer(anvil.treasury, 5)
    # The Treasury has no such function, so this one is mined and moves nothing.
    refused = Call(anvil.treasury, 0, b"\xff\xff\xff\xff", 100_000)
    sent = await anvil.send(anvil.user, transfer, refused)
    succeeded, reverted = (transaction.transaction_hash for transaction in sent)
    hashes = [succeeded, reverted, "0x" + "5f" * 32]
    async with open_session() as session:
        rpc = Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session)

        waiting = await locate_transactions(rpc, hashes)
        await anvil.mine(1)
        number = (await anvil.reader.head()).number
        mined = await locate_transactions(rpc, hashes)
        await anvil.reorg(1, [])
        gone = await locate_transactions(rpc, hashes)

    in_mempool = LocatedTransaction(TransactionState.IN_MEMPOOL)
    assert list(waiting.values()) == [in_mempool, in_mempool, UNKNOWN_TRANSACTION]
    assert list(mined.values()) == [
        LocatedTransaction(TransactionState.MINED, number),
        LocatedTransaction(TransactionState.REVERTED, number),
        UNKNOWN_TRANSACTION,
    ]
    assert set(gone.values()) == {UNKNOWN_TRANSACTION}
