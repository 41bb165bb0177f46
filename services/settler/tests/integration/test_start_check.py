"""A lane compares the roles of its contracts with the catalogue before it signs anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial

import pytest
from eth_account import Account

from services.settler.tests.integration.on_anvil import (
    ARTIFACTS,
    CHAIN_ID,
    OWNER_KEY,
    SIGNER_KEY,
)
from services.settler.tests.lane_harness import DESTINATION, a_catalogue, a_recipient
from swap_chains.errors import ChainMismatch
from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_chains.evm.keys import LocalKey
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Network, Owners
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.paying.adapters.chains import Chain
from swap_settler.paying.build import report_unchecked_roles

pytestmark = pytest.mark.connected
OWNER, SIGNER = (Account.from_key(key).address for key in (OWNER_KEY, SIGNER_KEY))
EXTERNAL_ACCOUNT = a_recipient(66)


@dataclass
class Deployed:
    node: str
    deployer: Deployer
    network: Network

    async def check(self, **owners: str) -> None:
        contracts = replace(self.network.contracts, owners=Owners(**owners))
        network = replace(self.network, contracts=contracts)
        async with open_session() as session:
            await Chain.of(network, (self.node,), LocalKey(SIGNER_KEY), session).check()


def count_of(metric: str) -> float | None:
    return REGISTRY.get_sample_value(metric, {"network": DESTINATION})


@pytest.fixture
async def deployed(node: str) -> AsyncIterator[Deployed]:
    known = a_catalogue().network(DESTINATION)
    async with Deployer(node, OWNER_KEY) as deployer:
        depository, treasury = await deploy_contracts(deployer, ARTIFACTS, operators=[SIGNER])
        contracts = replace(
            known.contracts,
            treasury=treasury,
            depository=depository,
            paymaster=None,
            deposit_addresses=None,
        )
        network = replace(
            known,
            chain_id=CHAIN_ID,
            contracts=contracts,
            tokens=(known.native,),
            signers=(SIGNER,),
        )
        yield Deployed(node, deployer, network)


@pytest.mark.fault("M12")
async def test_m12_lane_refuses_a_treasury_of_another_owner(deployed: Deployed) -> None:
    await deployed.check(treasury=OWNER, depository=OWNER)

    with pytest.raises(ChainMismatch, match=f"owned by {OWNER}, expected {EXTERNAL_ACCOUNT}"):
        await deployed.check(treasury=EXTERNAL_ACCOUNT, depository=OWNER)

    await deployed.check()  # a catalogue without owners


@pytest.mark.fault("M12")
async def test_m12_a_difference_is_counted_until_it_is_mended(deployed: Deployed) -> None:
    depository = deployed.network.contracts.depository
    listed = partial(deployed.deployer.transact, ARTIFACTS / "Depository.json", depository)
    await listed("addToWhitelist", EXTERNAL_ACCOUNT)
    with pytest.raises(ChainMismatch):
        await deployed.check(treasury=OWNER, depository=OWNER)
    assert count_of("swap_settler_contract_findings") == 1

    await listed("removeFromWhitelist", EXTERNAL_ACCOUNT)
    await deployed.check(treasury=OWNER, depository=OWNER)

    assert count_of("swap_settler_contract_findings") == 0


@pytest.mark.fault("M12")
async def test_m12_an_operator_that_is_no_signer_is_counted(deployed: Deployed) -> None:
    treasury = deployed.network.contracts.treasury
    artifact = ARTIFACTS / "Treasury.json"
    await deployed.deployer.transact(artifact, treasury, "addOperator", EXTERNAL_ACCOUNT)

    await deployed.check(treasury=OWNER)

    assert count_of("swap_settler_unknown_operators") == 1


@pytest.mark.parametrize(
    ("environment", "owners", "expected"),
    [
        ("live", Owners(), 2),
        ("live", Owners(treasury=OWNER), 1),
        ("live", Owners(treasury=OWNER, depository=OWNER), 0),
        ("test", Owners(), None),
    ],
)
@pytest.mark.fault("M12")
def test_m12_a_live_contract_without_a_named_owner_is_counted(
    environment: str, owners: Owners, expected: int | None
) -> None:
    known = a_catalogue().network(DESTINATION)
    contracts = replace(known.contracts, depository=EXTERNAL_ACCOUNT, paymaster=None, owners=owners)
    name = f"{environment.upper()}_{len(str(owners))}"
    network = replace(known, name=name, contracts=contracts)
    catalogue = replace(a_catalogue(), environment=environment, networks={name: network})

    report_unchecked_roles(catalogue)

    labels = {"network": name}
    found = REGISTRY.get_sample_value("swap_settler_contracts_without_owner", labels)
    assert found == expected
