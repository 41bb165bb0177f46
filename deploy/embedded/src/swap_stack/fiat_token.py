"""Circle's FiatToken 2.2 behind its proxy: the USDC of the development chains is the real one."""

from __future__ import annotations

from swap_stack.deploying import Contracts, load_artifact, mine_transaction
from swap_stack.wallet import GAS_DEPLOY, Wallet, call_data

# On every anvil and on most public networks; call data is a salt and init code.
CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
SALT = "00" * 32


async def deploy_fiat_token(
    contracts: Contracts, minter: Wallet, *, name: str, symbol: str, decimals: int, supply: int
) -> str:
    """Deploy the token and mint its supply to the minter, who has every role of it.

    The proxy's admin is who deploys, and such a one cannot call the token itself.
    """
    node = contracts.node
    # Its one library, where the token was linked to find it.
    library = load_artifact(contracts.root, "SignatureChecker")["bytecode"].removeprefix("0x")
    data = "0x" + SALT + library
    await mine_transaction(
        node, await contracts.owner.send(CREATE2_DEPLOYER, data=data, gas=GAS_DEPLOY)
    )
    token = await contracts.make("FiatTokenProxy", await contracts.make("FiatTokenV2_2"))
    roles = (minter.address,) * 4
    calls = (
        call_data(
            "initialize(string,string,string,uint8,address,address,address,address)",
            *(name, symbol, "USD", decimals),
            *roles,
        ),
        call_data("initializeV2(string)", name),
        call_data("initializeV2_1(address)", minter.address),
        call_data("initializeV2_2(address[],string)", [], symbol),
        call_data("configureMinter(address,uint256)", minter.address, supply),
        call_data("mint(address,uint256)", minter.address, supply),
    )
    for call in calls:
        await mine_transaction(node, await minter.send(token, data=call))
    return token
