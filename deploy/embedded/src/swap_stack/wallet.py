"""A key that sends transactions to a development chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_checksum_address

from swap_stack.node import Node

GWEI = 10**9
TIP = GWEI
GAS_CALL = 300_000
GAS_DEPLOY = 7_000_000


def call_data(signature: str, *arguments: object) -> str:
    """Return an encoded contract call: `call_data("transfer(address,uint256)", to, amount)`."""
    types = signature[signature.index("(") + 1 : -1].split(",")
    encoded = encode([kind for kind in types if kind], arguments)
    return "0x" + (function_signature_to_4byte_selector(signature) + encoded).hex()


def creation_code(artifact: Mapping[str, Any], arguments: Sequence[object]) -> str:
    """Return what deploys a compiled contract with these constructor arguments."""
    constructors = (member for member in artifact["abi"] if member["type"] == "constructor")
    types = [item["type"] for member in constructors for item in member["inputs"]]
    return str(artifact["bytecode"]) + encode(types, arguments).hex()


@dataclass(slots=True)
class Wallet:
    """Signs and sends one after the other, without waiting for what was sent to be mined.

    Not safe for concurrent sends: the nonce grows after the node accepted.
    """

    node: Node
    private_key: str
    address: str
    chain_id: int
    nonce: int
    max_fee_per_gas: int

    @classmethod
    async def open(cls, node: Node, private_key: str) -> Wallet:
        address = str(Account.from_key(private_key).address)
        gas_price = await node.number("eth_gasPrice")
        return cls(
            node=node,
            private_key=private_key,
            address=address,
            chain_id=await node.number("eth_chainId"),
            nonce=await node.number("eth_getTransactionCount", address, "pending"),
            max_fee_per_gas=2 * gas_price + TIP,
        )

    async def send(
        self, to: str | None, *, value: int = 0, data: str = "0x", gas: int = GAS_CALL
    ) -> str:
        """Return the hash of a transaction that the node accepted."""
        transaction: dict[str, object] = {
            "type": 2,
            "chainId": self.chain_id,
            "nonce": self.nonce,
            "value": value,
            "data": data,
            "gas": gas,
            "maxFeePerGas": self.max_fee_per_gas,
            "maxPriorityFeePerGas": TIP,
        }
        if to is not None:
            transaction["to"] = to_checksum_address(to)
        signed = Account.sign_transaction(transaction, self.private_key)
        sent = await self.node.call("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
        self.nonce += 1
        return str(sent)

    async def pay(self, to: str, value: int) -> str:
        """Send the chain's own coin, with enough gas for a contract that logs the receipt."""
        return await self.send(to, value=value, gas=GAS_CALL)

    async def deploy(self, artifact: Mapping[str, Any], *arguments: object) -> str:
        """Return the hash of the transaction that makes the contract."""
        return await self.send(None, data=creation_code(artifact, arguments), gas=GAS_DEPLOY)
