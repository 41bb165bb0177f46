"""The spending door of a chain in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import orjson

from swap_chains.evm import codec
from swap_chains.fake.chain import NODE, FakeChain, read_transaction
from swap_chains.ports import Broadcast, Call, Fees, LookupResult, SignedTransaction


class FakeSender:
    """A ChainSender of a FakeChain. The raw bytes say what they do, and need no key."""

    def __init__(self, chain: FakeChain, address: str) -> None:
        self._chain = chain
        self._address = address

    @property
    def network(self) -> str:
        return self._chain.network

    @property
    def address(self) -> str:
        return self._address

    async def sign(self, call: Call, *, nonce: int, fees: Fees) -> SignedTransaction:
        raw = orjson.dumps(
            {
                "from": self._address,
                "nonce": nonce,
                "to": call.to,
                "value": str(call.value),
                "data": call.data.hex(),
                "gas": call.gas_limit,
                "fees": [str(fees.max_fee_per_gas), str(fees.max_priority_fee_per_gas)],
            }
        )
        return SignedTransaction("0x" + codec.keccak(raw).hex(), raw, nonce)

    async def broadcast(self, transactions: Sequence[SignedTransaction]) -> Sequence[Broadcast]:
        self._chain.check_reachable()
        return [self._submit(transaction) for transaction in transactions]

    def _submit(self, transaction: SignedTransaction) -> Broadcast:
        answer = self._chain.submit(read_transaction(transaction))
        return Broadcast(transaction.transaction_hash, (answer,))

    async def look_up(self, transaction_hashes: Collection[str]) -> Sequence[LookupResult]:
        self._chain.check_reachable()
        hashes = list(dict.fromkeys(transaction_hashes))
        known = {h for h in hashes if h in self._chain.pool or self._chain.find(h)}
        return [
            LookupResult(
                transaction_hash=h,
                known_to=(NODE,) if h in known else (),
                unknown_to=() if h in known else (NODE,),
                unreachable=(),
            )
            for h in hashes
        ]
