"""The contracts of one development chain: deployed once, funded once, remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from eth_utils.address import to_checksum_address

from swap_stack.daemon import StackError
from swap_stack.deploying import Contracts, mine_transaction
from swap_stack.fiat_token import deploy_fiat_token
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
    standard: str = "eip2612"  # how it is deposited by a signature
    version: str = "1"  # of its EIP-712 domain

    def base_units(self, whole: int) -> int:
        return whole * int(10**self.decimals)


# Circle's own contract, and one of OpenZeppelin's with permits.
USDC = DevelopmentToken("USDC", "USD Coin", 6, standard="eip3009", version="2")
TOKENS = (USDC, DevelopmentToken("DAI", "Dai Stablecoin", 18))
NATIVE_INVENTORY = {"ETH": 20_000 * COIN, "POL": 20_000_000 * COIN}
SIGNER_GAS_MONEY = 1_000 * COIN


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where the contracts of one chain are.

    `deployed_in` is the hash of the block with the Treasury's creation: another chain has no such
    block. The hash of block 0 identifies nothing. At every start anvil makes a new block 0, writes
    it beside the earlier ones, and answers with any of them.
    """

    deployed_in: str
    treasury: str
    depository: str
    paymaster: str
    tokens: Mapping[str, str]
    deposit_address_factory: str
    deposit_init_code_hash: str


async def find_deployment(path: Path, chain: DevelopmentChain, node: Node) -> Deployment | None:
    """Return what was deployed on this chain earlier.

    :raises StackError: when the chain no longer has it: the database has payments that this
        chain never made.
    """
    stored = (read_json(path) or {}).get(chain.network)
    if stored is None:
        return None
    if set(stored) != {field.name for field in fields(Deployment)}:
        raise StackError(
            f"The contracts on {chain.network} are of another release. `make up FRESH=1` starts "
            "from nothing."
        )
    deployment = Deployment(**stored)
    if not await _is_on(node, deployment):
        raise StackError(
            f"{chain.network} has lost its contracts, and the database remembers what was paid "
            "through them. `make up FRESH=1` starts from nothing."
        )
    return deployment


async def _is_on(node: Node, deployment: Deployment) -> bool:
    in_full = False
    block = await node.call("eth_getBlockByHash", deployment.deployed_in, in_full)
    code = await node.call("eth_getCode", deployment.treasury, "latest")
    return block is not None and code != "0x"


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
    contracts = Contracts(root, node, owner)
    created = await contracts.create("Treasury", owner.address, [keys.signer.address])
    treasury = to_checksum_address(created["contractAddress"])
    depository = await contracts.make("Depository", owner.address, [treasury])
    paymaster = await contracts.make("Paymaster", owner.address, depository, [keys.signer.address])
    factory = await contracts.make("DepositAddressFactory", treasury)
    tokens = {token.symbol: await _make_token(contracts, token, keys) for token in TOKENS}

    limits = {NATIVE: NATIVE_INVENTORY[chain.native]}
    limits |= {tokens[token.symbol]: token.base_units(token.inventory) for token in TOKENS}
    for address, limit in limits.items():
        allow = "setOutflowLimit(address,uint256,uint64)"
        data = call_data(allow, address, limit, OUTFLOW_WINDOW_SECONDS)
        await mine_transaction(node, await owner.send(treasury, data=data))
    question = {"to": factory, "data": call_data("initCodeHash()")}
    return Deployment(
        deployed_in=str(created["blockHash"]),
        treasury=treasury,
        depository=depository,
        paymaster=paymaster,
        tokens=tokens,
        deposit_address_factory=factory,
        deposit_init_code_hash=str(await node.call("eth_call", question, "latest")),
    )


async def _make_token(contracts: Contracts, token: DevelopmentToken, keys: DevelopmentKeys) -> str:
    """Return the address of a new token; all of it is the funder's."""
    supply = token.base_units(token.inventory + token.per_user * len(keys.have_tokens))
    if token is USDC:
        minter = await Wallet.open(contracts.node, keys.funder.private_key)
        return await deploy_fiat_token(
            contracts,
            minter,
            name=token.name,
            symbol=token.symbol,
            decimals=token.decimals,
            supply=supply,
        )
    arguments = (token.name, token.symbol, token.decimals, keys.funder.address, supply)
    return await contracts.make("DevToken", *arguments)


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
        amounts = {user.address: token.base_units(token.per_user) for user in keys.have_tokens}
        amounts[deployment.treasury] = token.base_units(token.inventory)
        for to, amount in amounts.items():
            data = call_data("transfer(address,uint256)", to, amount)
            sent.append(await funder.send(deployment.tokens[token.symbol], data=data))
    for transaction_hash in sent:
        await mine_transaction(node, transaction_hash)
