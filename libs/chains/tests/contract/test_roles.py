"""Owners and operators of the contracts, read from a real node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest
from eth_account import Account

from libs.chains.tests.contract.conftest import ARTIFACTS, EXTERNAL_ACCOUNT, OPERATOR_KEY, OWNER_KEY
from swap_chains.errors import ChainMismatch
from swap_chains.evm.check_roles import (
    ContractRoles,
    GovernedContract,
    UnknownOperator,
    check_roles,
)
from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_chains.evm.rpc import Rpc, open_session

pytestmark = pytest.mark.connected

OWNER, OPERATOR = (Account.from_key(key).address for key in (OWNER_KEY, OPERATOR_KEY))


@dataclass
class Deployed:
    """Contracts of one test, which may change them."""

    rpc: Rpc
    deployer: Deployer
    roles: ContractRoles

    async def order(self, contract: str, function: str, *arguments: object) -> None:
        governed = getattr(self.roles, contract.lower())
        artifact = ARTIFACTS / f"{contract}.json"
        await self.deployer.transact(artifact, governed.address, function, *arguments)

    async def findings(self, **changes: object) -> str:
        with pytest.raises(ChainMismatch) as caught:
            await check_roles(self.rpc, replace(self.roles, **changes))  # type: ignore[arg-type]
        [finding] = caught.value.findings
        return finding


@pytest.fixture
async def deployed(anvil_url: str) -> AsyncIterator[Deployed]:
    async with open_session() as session, Deployer(anvil_url, OWNER_KEY) as deployer:
        rpc = Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session)
        await rpc.nodes[0].call("evm_setAutomine", True)
        depository, treasury = await deploy_contracts(deployer, ARTIFACTS, operators=[OPERATOR])
        paymaster = await deployer.deploy(
            ARTIFACTS / "Paymaster.json", OWNER, depository, [OPERATOR]
        )
        roles = ContractRoles(
            treasury=GovernedContract("Treasury", treasury, OWNER),
            depository=GovernedContract("Depository", depository, OWNER),
            paymaster=GovernedContract("Paymaster", paymaster, OWNER),
            operators=frozenset({OPERATOR}),
            operator=OPERATOR,
            receivers=frozenset({treasury}),
            deposits_through=depository,
        )
        yield Deployed(rpc, deployer, roles)


@pytest.mark.fault("M12")
async def test_m12_contracts_as_in_the_catalogue_pass(deployed: Deployed) -> None:
    assert await check_roles(deployed.rpc, deployed.roles) == []


@pytest.mark.fault("M12")
@pytest.mark.parametrize("contract", ["Treasury", "Depository", "Paymaster"])
async def test_m12_another_owner_or_a_pending_one_is_named(
    deployed: Deployed, contract: str
) -> None:
    governed: GovernedContract = getattr(deployed.roles, contract.lower())
    expected = replace(governed, owner=EXTERNAL_ACCOUNT)

    finding = await deployed.findings(**{contract.lower(): expected})
    assert finding == (
        f"the {contract} {governed.address} is owned by {OWNER}, expected {EXTERNAL_ACCOUNT}"
    )

    await deployed.order(contract, "transferOwnership", EXTERNAL_ACCOUNT)
    assert await deployed.findings() == (
        f"the {contract} {governed.address} has the pending owner {EXTERNAL_ACCOUNT}, expected none"
    )


@pytest.mark.fault("M12")
@pytest.mark.parametrize("contract", ["Treasury", "Paymaster"])
async def test_m12_a_signer_must_operate_and_another_operator_is_returned(
    deployed: Deployed, contract: str
) -> None:
    governed: GovernedContract = getattr(deployed.roles, contract.lower())
    await deployed.order(contract, "addOperator", EXTERNAL_ACCOUNT)

    assert await check_roles(deployed.rpc, deployed.roles) == [
        UnknownOperator(contract, EXTERNAL_ACCOUNT)
    ]
    known = replace(deployed.roles, operators=frozenset({OPERATOR, EXTERNAL_ACCOUNT}))
    assert await check_roles(deployed.rpc, known) == []

    await deployed.order(contract, "removeOperator", OPERATOR)
    finding = await deployed.findings()
    assert finding == f"{OPERATOR} is no operator of the {contract} {governed.address}"


@pytest.mark.fault("M12")
async def test_m12_the_depository_lists_the_expected_receivers_only(deployed: Deployed) -> None:
    depository, treasury = deployed.roles.depository, deployed.roles.treasury
    assert depository is not None
    assert treasury is not None
    await deployed.order("Depository", "addToWhitelist", EXTERNAL_ACCOUNT)

    assert await deployed.findings() == (
        f"the Depository {depository.address} lists {EXTERNAL_ACCOUNT}, "
        "which the catalogue does not name as a receiver"
    )
    both = frozenset({treasury.address, EXTERNAL_ACCOUNT})
    assert await check_roles(deployed.rpc, replace(deployed.roles, receivers=both)) == []

    await deployed.order("Depository", "removeFromWhitelist", treasury.address)
    finding = await deployed.findings(receivers=both)
    assert finding == f"the Depository {depository.address} does not list {treasury.address}"


@pytest.mark.fault("M12")
async def test_m12_the_paymaster_uses_the_depository_of_the_catalogue(deployed: Deployed) -> None:
    paymaster, depository = deployed.roles.paymaster, deployed.roles.depository
    assert paymaster is not None
    assert depository is not None

    assert await deployed.findings(deposits_through=EXTERNAL_ACCOUNT) == (
        f"the Paymaster {paymaster.address} deposits through {depository.address}, "
        f"expected {EXTERNAL_ACCOUNT}"
    )


@pytest.mark.fault("M12")
async def test_m12_a_contract_without_these_views_is_refused(deployed: Deployed) -> None:
    wallet = await deployed.deployer.deploy(ARTIFACTS / "DevWallet.json")
    roles = replace(deployed.roles, treasury=GovernedContract("Treasury", wallet, OWNER))

    with pytest.raises(ChainMismatch, match="does not return its operators"):
        await check_roles(deployed.rpc, roles)


@pytest.mark.fault("M12")
async def test_m12_what_the_catalogue_does_not_name_is_not_checked(deployed: Deployed) -> None:
    await deployed.order("Treasury", "transferOwnership", EXTERNAL_ACCOUNT)
    nothing = replace(deployed.roles, treasury=None, depository=None, paymaster=None)

    assert await check_roles(deployed.rpc, nothing) == []
