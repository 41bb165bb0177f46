"""`docs/add-a-network.md` on a new chain: deployed, verified, and checked as services do."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from services.settler.tests.integration.on_anvil import ARTIFACTS, CHAIN_ID, EVM, OWNER_KEY, node
from swap_chains.errors import ChainMismatch
from swap_chains.evm import codec
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.rpc import Rpc, open_session
from swap_domain.catalogue import Network
from swap_domain.catalogue_document import catalogue_from
from swap_settler.paying.adapters.chains import check_contracts
from tests.support.networks import a_route
from tests.support.waiting import until_here

__all__ = ["node"]
pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]

NODE = ("node", "--no-warnings")
SIGNER = Account.from_key("0x" + "59" * 32).address
DEPLOYER_KEY = "0x" + "d7" * 32
DEPLOYER = Account.from_key(DEPLOYER_KEY).address
MUST_SIGN = 3


@dataclass
class Rehearsal:
    """A plan for a new chain, with the commands that an operator enters."""

    folder: Path
    url: str
    owner: str
    plan: dict[str, Any]

    @property
    def path(self) -> Path:
        return self.folder / "plan.json"

    def change(self, **members: Any) -> None:
        self.plan |= members
        self.path.write_text(json.dumps(self.plan))

    def environment(self, **more: str) -> Mapping[str, str]:
        return {"PATH": os.environ["PATH"], "NODE_URL": self.url, **more}

    def run(self, script: str, *options: str, **environment: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*NODE, str(EVM / "deploy" / script), str(self.path), *options],
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def send(self) -> tuple[int, str, str]:
        key = self.folder / "deployer.key"
        key.write_text(f"{DEPLOYER_KEY}\n")
        transactions = str(self.folder / "owner.json")
        options = ("--send", "--owner-transactions", transactions)
        return self.run("deploy.mjs", *options, DEPLOYER_KEY_FILE=str(key))

    def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(self.url, json=body).json()
        assert "error" not in answer, answer
        return answer["result"]

    def transactions_of_deployer(self) -> int:
        return int(self.rpc("eth_getTransactionCount", DEPLOYER, "pending"), 16)

    async def sign_as_owner(self) -> None:
        """Carry out what was written for the multisig."""
        batch = json.loads((self.folder / "owner.json").read_text())
        calls = [
            (one["to"], int(one["value"]), bytes.fromhex(one["data"][2:]))
            for one in batch["transactions"]
        ]
        async with Deployer(self.url, OWNER_KEY) as anybody:
            wallet = ARTIFACTS / "DevWallet.json"
            await anybody.transact(wallet, self.owner, "executeBatch", calls)


@pytest.fixture
async def rehearsal(node: str, tmp_path: Path) -> Rehearsal:
    async with Deployer(node, OWNER_KEY) as anybody:
        owner = await anybody.deploy(ARTIFACTS / "DevWallet.json")
        guardian = await anybody.deploy(ARTIFACTS / "DevWallet.json")
        await anybody.send_native(DEPLOYER, 10**18)
    plan = json.loads((EVM / "deploy/plan.example.json").read_text())
    made = Rehearsal(tmp_path, node, owner, plan)
    made.change(
        chain_id=CHAIN_ID, deployer=DEPLOYER, owner=owner, guardian=guardian, signers=[SIGNER]
    )
    return made


def network_of(entry: str) -> Network:
    document = {"environment": "test", "networks": [json.loads(entry)], "routes": [a_route()]}
    return catalogue_from(document, to_address=codec.checksum_address).network("EXAMPLE_MAINNET")


async def check(rehearsal: Rehearsal, network: Network) -> None:
    """Check the contracts as the settler does at its start."""
    async with open_session() as session:
        rpc = Rpc.to_urls(network.name, [rehearsal.url], session)
        assert await check_contracts(rpc, network, SIGNER) == []


async def test_a_network_is_added_as_the_page_says(rehearsal: Rehearsal) -> None:
    code, _, shown = rehearsal.run("deploy.mjs")
    assert (code, rehearsal.transactions_of_deployer()) == (0, 0), shown
    assert "4 transactions, at most 0.0" in shown
    assert rehearsal.run("verify.mjs")[0] == 1

    code, _, shown = rehearsal.send()
    assert (code, rehearsal.transactions_of_deployer()) == (MUST_SIGN, 4), shown
    assert "setGuardian" in shown
    assert DEPLOYER_KEY not in shown
    await rehearsal.sign_as_owner()

    code, entry, shown = rehearsal.run("verify.mjs")
    assert code == 0, shown
    network = network_of(entry)
    assert network.contracts.owners.treasury == rehearsal.owner
    assert network.start_block > 0
    await check(rehearsal, network)

    code, again, _ = rehearsal.send()  # nothing is left to do
    assert (code, again, rehearsal.transactions_of_deployer()) == (0, entry, 4)


async def test_a_run_that_was_killed_goes_on_without_sending_twice(rehearsal: Rehearsal) -> None:
    rehearsal.rpc("evm_setAutomine", False)
    process = await asyncio.create_subprocess_exec(
        *(*NODE, str(EVM / "deploy/deploy.mjs"), str(rehearsal.path), "--send"),
        env=rehearsal.environment(DEPLOYER_KEY=DEPLOYER_KEY),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await until_here(lambda: rehearsal.transactions_of_deployer() == 1 or None)
    finally:
        process.kill()
        await process.wait()
    rehearsal.rpc("evm_setAutomine", True)
    rehearsal.rpc("anvil_mine", "0x1")

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (MUST_SIGN, 4), shown
    assert "the Treasury is at" in shown


async def test_what_differs_from_the_plan_is_found(rehearsal: Rehearsal) -> None:
    rehearsal.send()
    await rehearsal.sign_as_owner()
    _, entry, _ = rehearsal.run("verify.mjs")
    treasury = json.loads(entry)["contracts"]["treasury"]
    async with Deployer(rehearsal.url, OWNER_KEY) as anybody:
        wallet = ARTIFACTS / "DevWallet.json"
        code = rehearsal.rpc("eth_getCode", treasury, "latest")
        operator = anybody.address
        data = codec.selector("addOperator(address)") + bytes.fromhex(operator[2:]).rjust(32, b"\0")
        await anybody.transact(wallet, rehearsal.owner, "executeBatch", [(treasury, 0, data)])

    status, _, shown = rehearsal.run("verify.mjs")
    assert status == 1
    assert f"{operator} is an operator of the Treasury, and no signer" in shown

    rehearsal.rpc("anvil_setCode", treasury, code[:-2] + "00")
    status, _, shown = rehearsal.run("verify.mjs")
    assert status == 1
    assert f"the code of the Treasury at {treasury} is not the build's" in shown
    rehearsal.rpc("anvil_setCode", treasury, "0x")
    with pytest.raises(ChainMismatch):
        await check(rehearsal, network_of(entry))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"owner": DEPLOYER}, "the deployer has no other role"),
        ({"guardian": DEPLOYER}, "the deployer has no other role"),
        ({"guardian": "0x" + "ab" * 20}, "has no code: deploy the multisig"),
        ({"owner": "0x" + "Ab" * 20}, "its checksum is wrong"),
        ({"chain_id": 1}, "the node serves the chain"),
        ({"max_fee_per_gas": "1"}, "gas costs"),
        ({"outflow_limits": []}, "name the network's coin"),
        ({"unknown": 1}, "has no member unknown"),
    ],
)
async def test_a_wrong_plan_sends_nothing(
    rehearsal: Rehearsal, members: dict[str, Any], words: str
) -> None:
    rehearsal.change(**members)

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (1, 0)
    assert words in shown


async def test_a_deployer_with_too_little_sends_nothing(rehearsal: Rehearsal) -> None:
    rehearsal.rpc("anvil_setBalance", DEPLOYER, "0x1")

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (1, 0)
    assert "too little: nothing was sent" in shown


def test_a_key_on_the_command_line_is_no_option(rehearsal: Rehearsal) -> None:
    code, _, shown = rehearsal.run("deploy.mjs", "--key", DEPLOYER_KEY)

    assert code == 1
    assert "Unknown option" in shown
