"""A funded key of a development stack, and a chain to use it on: plain JSON-RPC."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic, sleep
from typing import Any, Final

import httpx

from tests.conformance.signing import Account, RequirementMissing, needs_signing, sign

TIP: Final = 1_000_000_000
GAS_APPROVE: Final = 100_000
GAS_USUAL: Final = 200_000
RECEIPT_WITHIN_SECONDS: Final = 30
POLL_SECONDS: Final = 0.1
APPROVE: Final = "095ea7b3"  # approve(address,uint256)


class Chain:
    def __init__(self, rpc_url: str) -> None:
        self._http = httpx.Client(base_url=rpc_url, timeout=15)

    @classmethod
    def of(cls, network: Mapping[str, Any]) -> Chain:
        """Return a network's chain, at its public node.

        :raises RequirementMissing: where no node is configured.
        """
        if not network["node_url"]:
            raise RequirementMissing(f"nobody is told a node of {network['name']}")
        return cls(network["node_url"])

    def call(self, method: str, *params: Any) -> Any:
        """
        :raises RuntimeError: with the node's error.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = self._http.post("", json=body).json()
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return answer["result"]

    def receipt(self, transaction_hash: str) -> Mapping[str, Any]:
        ends_at = monotonic() + RECEIPT_WITHIN_SECONDS
        while monotonic() < ends_at:
            receipt = self.call("eth_getTransactionReceipt", transaction_hash)
            if receipt is not None:
                return dict(receipt)
            sleep(POLL_SECONDS)
        raise AssertionError(f"{transaction_hash} is not mined")


class Wallet:
    def __init__(self, chain: Chain, private_key: str) -> None:
        self.chain = chain
        self._account = Account.from_key(private_key)

    @property
    def address(self) -> str:
        return str(self._account.address)

    def deposit(self, action: Mapping[str, Any]) -> str:
        """Execute a deposit action, after an approval if a token needs one."""
        token = action["token"]["contract"]
        if action["encoded_args"] and token not in (None, action["to_address"]):
            self.approve(action)
        value = int(action["amount_in_base_units"])
        return self.send(
            to=action["to_address"],
            value=value,
            data=action["call_data"] or "0x",
            gas=int(action["gas_limit"] or GAS_USUAL),
        )

    def approve(self, action: Mapping[str, Any]) -> str:
        amount = int(action["encoded_args"][-1])
        spender = action["to_address"].removeprefix("0x").lower()
        data = f"0x{APPROVE}{spender:0>64}{amount:064x}"
        return self.send(to=action["token"]["contract"], value=0, data=data, gas=GAS_APPROVE)

    def send(self, *, to: str | None, value: int, data: str, gas: int) -> str:
        call, sender = self.chain.call, self._account.address
        transaction: dict[str, Any] = {
            "type": 2,
            "chainId": int(call("eth_chainId"), 16),
            "nonce": int(call("eth_getTransactionCount", sender, "pending"), 16),
            "maxFeePerGas": 2 * int(call("eth_gasPrice"), 16) + TIP,
            "maxPriorityFeePerGas": TIP,
            "gas": gas,
            "value": value,
            "data": data,
        }
        if to is not None:
            transaction["to"] = _to_checksum(to)
        signed = self._account.sign_transaction(transaction)
        raw = "0x" + bytes(signed.raw_transaction).hex()
        return str(call("eth_sendRawTransaction", raw))

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        """Return the signature of eth_signTypedData_v4."""
        return sign(self._account, typed_data)


class Wallets:
    """The funded keys of a stack.json, by network."""

    def __init__(self, stack: Mapping[str, Any]) -> None:
        self._networks = {network["name"]: network for network in stack.get("networks", ())}

    def on(self, network: str, number: int = -1) -> Wallet:
        """
        :raises RequirementMissing: where none is configured.
        """
        described = self._networks.get(network)
        if described is None or not described.get("users"):
            raise RequirementMissing(
                "no swap can be paid: give a wallet (stack.json), or the key of a sandbox"
            )
        needs_signing()
        return Wallet(Chain(described["rpc_urls"][0]), described["users"][number]["private_key"])


def _to_checksum(address: str) -> str:
    from eth_utils import to_checksum_address  # noqa: PLC0415  comes with eth-account

    return str(to_checksum_address(address))
