"""Deploying our contracts and sending their owners' transactions: for local stacks and tests.

The only module that stands on web3. Nothing on the way of a swap imports it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from eth_account import Account
from web3 import AsyncHTTPProvider, AsyncWeb3

from swap_chains.evm.codec import keccak

_CREATE_GAS_MAX: Final = 8_000_000
_CALL_GAS_MAX: Final = 1_000_000
_RECEIPT_TIMEOUT_SECONDS: Final = 30
# On every anvil and on most public networks; call data is a salt and init code.
CREATE2_DEPLOYER: Final = "0x4e59b44847b379578588920cA78FbF26c0B4956C"


class DeploymentFailed(Exception):
    """A deployment or an owner's transaction reverted."""

    def __init__(self, what: str, transaction_hash: str) -> None:
        super().__init__(f"{what} reverted in {transaction_hash}")
        self.what = what
        self.transaction_hash = transaction_hash


class Deployer:
    """One key on one node, without other users meanwhile: it counts its nonces itself."""

    def __init__(self, url: str, private_key: str) -> None:
        # The provider's own retries would send a transaction twice and then report a failure.
        provider = AsyncHTTPProvider(url, exception_retry_configuration=None)
        self._web3: AsyncWeb3[Any] = AsyncWeb3(provider)
        self._provider = provider
        self._account = Account.from_key(private_key)
        self._nonce: int | None = None

    async def __aenter__(self) -> Deployer:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._provider.disconnect()

    def __repr__(self) -> str:
        return f"Deployer({self.address})"

    @property
    def address(self) -> str:
        return str(self._account.address)

    async def deploy(self, artifact: Path, *arguments: Any) -> str:
        """Deploy an artifact (`{abi, bytecode}`) and return the contract's address."""
        content = _read(artifact)
        factory = self._web3.eth.contract(abi=content["abi"], bytecode=content["bytecode"])
        data = factory.constructor(*arguments).data_in_transaction
        receipt = await self._send({"data": data, "gas": _CREATE_GAS_MAX}, artifact.stem)
        return str(receipt["contractAddress"])

    async def create2(self, artifact: Path) -> None:
        """Put a contract where the CREATE2 deployer puts it with salt zero, if it is not there."""
        code, salt = bytes.fromhex(_read(artifact)["bytecode"].removeprefix("0x")), bytes(32)
        named = b"\xff" + bytes.fromhex(CREATE2_DEPLOYER[2:]) + salt + keccak(code)
        place = self._web3.to_checksum_address("0x" + keccak(named)[-20:].hex())
        if not await self._web3.eth.get_code(place):
            call = {"to": CREATE2_DEPLOYER, "data": salt + code, "value": 0}
            await self._send({**call, "gas": _CREATE_GAS_MAX}, artifact.stem)

    async def transact(
        self, artifact: Path, address: str, function: str, *arguments: Any, value: int = 0
    ) -> str:
        """Call a function of a deployed artifact and return the mined transaction's hash."""
        abi = _read(artifact)["abi"]
        contract = self._web3.eth.contract(address=self._web3.to_checksum_address(address), abi=abi)
        data = contract.encode_abi(function, args=list(arguments))
        fields = {"to": contract.address, "data": data, "value": value, "gas": _CALL_GAS_MAX}
        receipt = await self._send(fields, f"{artifact.stem}.{function}")
        return str(receipt["transactionHash"].to_0x_hex())

    async def send_native(self, to_address: str, base_units: int) -> str:
        """Send native money and return the mined transaction's hash."""
        fields = {"to": to_address, "value": base_units, "gas": _CALL_GAS_MAX}
        receipt = await self._send(fields, f"a transfer to {to_address}")
        return str(receipt["transactionHash"].to_0x_hex())

    async def _send(self, fields: dict[str, Any], what: str) -> Any:
        eth = self._web3.eth
        if self._nonce is None:
            self._nonce = await eth.get_transaction_count(self._account.address)
        tip = await eth.max_priority_fee
        head = await eth.get_block("latest")
        transaction = {
            **fields,
            "type": 2,
            "chainId": await eth.chain_id,
            "nonce": self._nonce,
            "maxPriorityFeePerGas": tip,
            "maxFeePerGas": 2 * head["baseFeePerGas"] + tip,
        }
        signed = self._account.sign_transaction(transaction)
        sent = await eth.send_raw_transaction(signed.raw_transaction)
        self._nonce += 1
        receipt = await eth.wait_for_transaction_receipt(
            sent, timeout=_RECEIPT_TIMEOUT_SECONDS, poll_latency=0.02
        )
        if receipt["status"] != 1:
            raise DeploymentFailed(what, sent.to_0x_hex())
        return receipt


def _read(artifact: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(artifact.read_text())
    return content


async def deploy_contracts(
    deployer: Deployer, artifacts: Path, *, operators: Sequence[str] = ()
) -> tuple[str, str]:
    """Deploy a Treasury and the Depository that lists it; return (depository, treasury)."""
    owner = deployer.address
    treasury = await deployer.deploy(artifacts / "Treasury.json", owner, list(operators))
    depository = await deployer.deploy(artifacts / "Depository.json", owner, [treasury])
    return depository, treasury


async def deploy_fiat_token(
    deployer: Deployer, artifacts: Path, *, admin: str, name: str = "USD Coin"
) -> str:
    """Deploy Circle's FiatToken 2.2 behind its proxy; the deployer mints and blacklists.

    :param admin: who may replace the implementation: an address that never calls the token.
    """
    owner, fiat = deployer.address, artifacts / "FiatTokenV2_2.json"
    await deployer.create2(artifacts / "SignatureChecker.json")
    implementation = await deployer.deploy(fiat)
    proxy = artifacts / "FiatTokenProxy.json"
    token = await deployer.deploy(proxy, implementation)
    await deployer.transact(proxy, token, "changeAdmin", admin)
    roles = (owner,) * 4
    await deployer.transact(fiat, token, "initialize", name, "USDC", "USD", 6, *roles)
    await deployer.transact(fiat, token, "initializeV2", name)
    await deployer.transact(fiat, token, "initializeV2_1", owner)
    await deployer.transact(fiat, token, "initializeV2_2", [], "USDC")
    await deployer.transact(fiat, token, "configureMinter", owner, 2**256 - 1)
    return token


async def deploy_factory(deployer: Deployer, artifacts: Path, treasury: str) -> str:
    """Deploy the factory of a Treasury's deposit addresses."""
    return await deployer.deploy(artifacts / "DepositAddressFactory.json", treasury)
