"""The contracts of one development chain: deployed once, funded once, remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from eth_utils.address import to_checksum_address

from swap_stack.daemon import StackError
from swap_stack.files import change_json, read_json
from swap_stack.keys import DevelopmentKeys
from swap_stack.node import Node
from swap_stack.parts.anvil import DevelopmentChain
from swap_stack.wallet import Wallet, call_data

NATIVE = "0x0000000000000000000000000000000000000000"
COIN = 10**18
OUTFLOW_WINDOW_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class DevelopmentToken:
    """A token of the development chains, the same everywhere. Amounts are whole tokens."""

    symbol: str
    name: str
    decimals: int
    inventory: int = 20_000_000
    per_user: int = 1_000_000

    def base_units(self, whole: int) -> int:
        return whole * int(10**self.decimals)


TOKENS = (DevelopmentToken("USDC", "USD Coin", 6), DevelopmentToken("DAI", "Dai Stablecoin", 18))
NATIVE_INVENTORY = {"ETH": 20_000 * COIN, "POL": 20_000_000 * COIN}
SIGNER_GAS_MONEY = 1_000 * COIN


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the contracts of one chain are. `genesis` tells the chain from one made anew."""

    genesis: str
    treasury: str
    depository: str
    tokens: Mapping[str, str]


def load_artifact(root: Path, name: str) -> Mapping[str, Any]:
    """
    :raises StackError: when the contract was never compiled.
    """
    path = root / "evm" / "artifacts" / f"{name}.json"
    if not path.is_file():
        raise StackError(f"evm/artifacts/{name}.json is missing: `cd evm && npm run artifacts`.")
    artifact: Mapping[str, Any] = orjson.loads(path.read_bytes())
    return artifact


async def find_deployment(path: Path, chain: DevelopmentChain, node: Node) -> Deployment | None:
    """Return what was deployed on this chain earlier.

    :raises StackError: when the chain no longer has it: then the database knows what never was.
    """
    told = (read_json(path) or {}).get(chain.network)
    if told is None:
        return None
    deployment = Deployment(**told)
    has_code = await node.call("eth_getCode", deployment.treasury, "latest") != "0x"
    if not has_code or await _genesis(node) != deployment.genesis:
        raise StackError(
            f"{chain.network} has lost its contracts, and the database remembers what was paid "
            "through them. `make up FRESH=1` starts from nothing."
        )
    return deployment


async def deploy_and_fund(
    path: Path, root: Path, chain: DevelopmentChain, node: Node, keys: DevelopmentKeys
) -> Deployment:
    """Make the contracts and put money where it belongs."""
    deployment = await _deploy(root, node, keys, chain)
    await _fund(deployment, chain, node, keys)
    change_json(path, lambda rows: {**(rows or {}), chain.network: asdict(deployment)})
    return deployment


async def _deploy(
    root: Path, node: Node, keys: DevelopmentKeys, chain: DevelopmentChain
) -> Deployment:
    owner = await Wallet.open(node, keys.owner.private_key)

    async def contract(name: str, *arguments: object) -> str:
        sent = await owner.deploy(load_artifact(root, name), *arguments)
        return to_checksum_address((await _mined(node, sent))["contractAddress"])

    treasury = await contract("Treasury", owner.address, [keys.signer.address])
    depository = await contract("Depository", owner.address, [treasury])
    tokens: dict[str, str] = {}
    for token in TOKENS:
        supply = token.base_units(token.inventory + token.per_user * len(keys.users))
        arguments = (token.name, token.symbol, token.decimals, keys.funder.address, supply)
        tokens[token.symbol] = await contract("DevToken", *arguments)

    limits = {NATIVE: NATIVE_INVENTORY[chain.native]}
    limits |= {tokens[token.symbol]: token.base_units(token.inventory) for token in TOKENS}
    for address, limit in limits.items():
        allow = "setOutflowLimit(address,uint256,uint64)"
        data = call_data(allow, address, limit, OUTFLOW_WINDOW_SECONDS)
        await _mined(node, await owner.send(treasury, data=data))
    return Deployment(await _genesis(node), treasury, depository, tokens)


async def _genesis(node: Node) -> str:
    in_full = False
    return str((await node.call("eth_getBlockByNumber", "0x0", in_full))["hash"])


async def _fund(
    deployment: Deployment, chain: DevelopmentChain, node: Node, keys: DevelopmentKeys
) -> None:
    """Send inventory as the funder: the books take it for funding, not for a deposit."""
    funder = await Wallet.open(node, keys.funder.private_key)
    sent = [
        await funder.pay(keys.signer.address, SIGNER_GAS_MONEY),
        await funder.pay(deployment.treasury, NATIVE_INVENTORY[chain.native]),
    ]
    for token in TOKENS:
        amounts = {user.address: token.base_units(token.per_user) for user in keys.users}
        amounts[deployment.treasury] = token.base_units(token.inventory)
        for to, amount in amounts.items():
            data = call_data("transfer(address,uint256)", to, amount)
            sent.append(await funder.send(deployment.tokens[token.symbol], data=data))
    for transaction_hash in sent:
        await _mined(node, transaction_hash)


async def _mined(node: Node, transaction_hash: str) -> Mapping[str, Any]:
    """Have a block made now, not in a second, and return the receipt."""
    if await node.call("eth_getTransactionReceipt", transaction_hash) is None:
        await node.call("evm_mine")
    return await node.receipt(transaction_hash)
