"""A node's report of a transaction's place, and answers that do not count as a report."""

from __future__ import annotations

import pytest

from swap_chains.errors import ChainError, ChainUnavailable
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.transaction_lookup import (
    UNKNOWN_TRANSACTION,
    LocatedTransaction,
    TransactionState,
    locate_transactions,
)

HASH, OTHER_HASH = "0x" + "ab" * 32, "0x" + "cd" * 32


def reporting(node, *, receipt=None, transaction=None):
    """Let a node answer for `HASH` with these two results, and for others with none."""

    results = {"eth_getTransactionReceipt": receipt, "eth_getTransactionByHash": transaction}

    def answer(method, params):
        return results[method] if params == [HASH] else None

    node.chain.answer = answer


def receipt_of(status, **changes):
    return {"transactionHash": HASH, "blockNumber": "0x7", "status": status, **changes}


def transaction_of(**changes):
    return {"hash": HASH, "blockNumber": None, **changes}


@pytest.fixture
async def node(serve):
    return await serve()


def rpc_of(session, *nodes):
    urls = [node.url for node in nodes]
    return Rpc.to_urls("TESTNET", urls, session, timeout_seconds=0.5, rounds=1)


@pytest.mark.parametrize(
    ("receipt", "transaction", "located"),
    [
        (None, None, UNKNOWN_TRANSACTION),
        (None, transaction_of(), LocatedTransaction(TransactionState.IN_MEMPOOL)),
        (
            None,
            transaction_of(blockNumber="0x7"),
            LocatedTransaction(TransactionState.MINED, 7),
        ),
        (
            receipt_of("0x1"),
            transaction_of(blockNumber="0x7"),
            LocatedTransaction(TransactionState.MINED, 7),
        ),
        (
            receipt_of("0x0", transactionHash=HASH.upper().replace("X", "x")),
            None,
            LocatedTransaction(TransactionState.REVERTED, 7),
        ),
        (receipt_of(None), None, LocatedTransaction(TransactionState.MINED, 7)),
    ],
    ids=["unknown", "mempool", "receipt not indexed yet", "mined", "reverted", "without status"],
)
async def test_a_transaction_is_where_the_node_reports_it(
    session, node, receipt, transaction, located
):
    reporting(node, receipt=receipt, transaction=transaction)

    found = await locate_transactions(rpc_of(session, node), [HASH, OTHER_HASH, HASH])

    assert found == {HASH: located, OTHER_HASH: UNKNOWN_TRANSACTION}


@pytest.mark.parametrize(
    "receipt",
    [
        {"code": -32000, "message": "transaction indexing is in progress"},
        receipt_of("0x0", transactionHash=OTHER_HASH),
        receipt_of("nonsense"),
        {"status": "0x0"},
    ],
    ids=["refused", "of another transaction", "no status", "no place"],
)
async def test_an_answer_that_is_no_report_is_replaced_by_the_next_node(
    session, serve, node, receipt
):
    other = await serve()
    reporting(node, receipt=receipt)
    reporting(other, receipt=receipt_of("0x0"))

    with pytest.raises(ChainError):
        await locate_transactions(rpc_of(session, node), [HASH])
    found = await locate_transactions(rpc_of(session, node, other), [HASH])

    assert found[HASH].state is TransactionState.REVERTED


async def test_lookup_fails_when_no_node_answers(session, node):
    reporting(node, receipt={"code": -32005, "message": "limit"})

    with pytest.raises(ChainUnavailable):
        await locate_transactions(rpc_of(session, node), [HASH])
