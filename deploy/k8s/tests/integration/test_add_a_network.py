"""`docs/add-a-network.md` on a new chain: deployed, verified, added to a catalogue and watched."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deploy.k8s.tests.rehearsal import (
    ARTIFACTS,
    CHAIN_ID,
    DEPLOYER,
    DEPLOYER_KEY,
    EVM,
    FUNDER_KEY,
    NETWORK,
    NODE,
    SIGNER,
    Deployment,
    Rehearsal,
    a_new_chain,
)
from swap_chains.evm import codec
from swap_chains.evm.deploy import Deployer
from tests.plugins.broker import Broker
from tests.plugins.postgres import Database
from tests.support.waiting import block_until, until_true_here

pytestmark = [pytest.mark.connected, pytest.mark.timeout(600)]

WRONG = 1
MUST_SIGN = 3
OTHER_CHAIN_ID = 31340
INVENTORY = 10**18
DEPOSITED = 10**15
ANYBODY = "0x" + "ab" * 20


@pytest.fixture
def node(tmp_path: Path) -> Iterator[str]:
    with a_new_chain(tmp_path) as url:
        yield url


@pytest.fixture
async def rehearsal(node: str, tmp_path: Path) -> Rehearsal:
    return await Rehearsal.prepare(tmp_path, node)


@pytest.fixture
def deploy_with(
    rehearsal: Rehearsal, broker: Broker, database: Database
) -> Callable[[str], Deployment]:
    names = ("chain_watcher", "settler", "auditor")

    def of_entry(entry: str) -> Deployment:
        return Deployment.of_entry(
            rehearsal.folder,
            entry,
            rehearsal.url,
            kafka={
                "SWAP_KAFKA__BOOTSTRAP_SERVERS": broker.settings.bootstrap_servers,
                "SWAP_KAFKA__SESSION_TIMEOUT_MS": "6000",  # two processes start at once
                "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": "500",
                "SWAP_KAFKA__FETCH_MAX_WAIT_MS": str(broker.settings.fetch_max_wait_ms),
            },
            database_urls={name: database.url(name) for name in names},
        )

    return of_entry


async def deploy_verified(rehearsal: Rehearsal) -> str:
    """Deploy and sign as the owner; return the catalogue's entry."""
    rehearsal.send()
    await rehearsal.sign_as_owner()
    code, entry, shown = rehearsal.verify()
    assert code == 0, shown
    return entry


@pytest.mark.slow
async def test_network_is_added_by_the_documented_commands(
    rehearsal: Rehearsal, deploy_with: Callable[[str], Deployment], database: Database
) -> None:
    # 2. Deploy the contracts: nothing is sent before --send.
    code, _, shown = rehearsal.run("deploy.mjs")
    assert (code, rehearsal.transactions_of_deployer()) == (0, 0), shown
    assert "4 transactions, at most 0.0" in shown
    assert rehearsal.verify()[0] == WRONG

    code, _, shown = rehearsal.send()
    assert (code, rehearsal.transactions_of_deployer()) == (MUST_SIGN, 4), shown
    assert "setGuardian" in shown
    assert DEPLOYER_KEY not in shown
    assert rehearsal.verify()[0] == MUST_SIGN
    await rehearsal.sign_as_owner()
    code, entry, shown = rehearsal.verify()
    assert code == 0, shown
    contracts = json.loads(entry)["contracts"]
    assert set(contracts["owners"].values()) == {rehearsal.owner}

    code, again, _ = rehearsal.send()  # nothing is left to do
    assert (code, again, rehearsal.transactions_of_deployer()) == (0, entry, 4)

    # 3. Write the catalogue entry, and compare it with the chain.
    deployment = deploy_with(entry)
    code, _, shown = deployment.compare()
    assert code == 0, shown

    async with Deployer(rehearsal.url, FUNDER_KEY) as funder:
        await funder.send_native(SIGNER, INVENTORY)
        await funder.send_native(contracts["treasury"], INVENTORY)
        # 4. Try it: the doctor, a cap, and a deposit that the watcher follows to its confirmation.
        with deployment.running():
            await check_running(deployment, rehearsal)
            deposited = await funder.transact(
                ARTIFACTS / "Depository.json",
                contracts["depository"],
                "depositNative",
                (7).to_bytes(32, "big"),
                contracts["treasury"],
                value=DEPOSITED,
            )
            rehearsal.rpc("anvil_mine", "0x3")
            block_until(lambda: last_of(database, deposited).get("state") == "confirmed")

    confirmed = last_of(database, deposited)
    assert (confirmed["network"], confirmed["base_units"]) == (NETWORK, str(DEPOSITED))
    assert (confirmed["kind"], confirmed["sequence_number"]) == ("deposited", 7)


async def check_running(deployment: Deployment, rehearsal: Rehearsal) -> None:
    """Run an operator's commands on services with the new catalogue."""
    rehearsal.rpc("anvil_mine", "0x3")
    await until_true_here(
        lambda: deployment.swapctl("network", "list")[0]["lag_blocks"] == 0 or None
    )
    found = {row["part"]: row for row in deployment.swapctl("doctor")}
    of_network = (f"node of {NETWORK}", f"signer {NETWORK}", f"network {NETWORK}")
    for part in (*of_network, "service chain_watcher", "service settler"):
        assert found[part]["level"] == "ok", found[part]
    assert f"chain id {CHAIN_ID}" in found[f"node of {NETWORK}"]["text"]

    words = ("--units", "1000000000", "--reason", "new network")
    [cap] = deployment.swapctl("caps", "set", NETWORK, *words)
    assert (cap["network"], cap["units"]) == (NETWORK, "1000000000")


def last_of(database: Database, transaction_hash: str) -> dict[str, Any]:
    """Return the watcher's newest message about a transaction."""
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute("SELECT payload FROM chain_watcher.outbox ORDER BY id").fetchall()
    bodies: list[dict[str, Any]] = [json.loads(row[0])["body"] for row in rows]
    about = [body for body in bodies if body.get("transaction_hash") == transaction_hash]
    return about[-1] if about else {}


async def test_killed_deployment_continues_without_sending_twice(rehearsal: Rehearsal) -> None:
    rehearsal.rpc("evm_setAutomine", False)
    process = await asyncio.create_subprocess_exec(
        *(*NODE, str(EVM / "deploy/deploy.mjs"), str(rehearsal.path), "--send"),
        env=rehearsal.environment(DEPLOYER_KEY=DEPLOYER_KEY),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await until_true_here(lambda: rehearsal.transactions_of_deployer() == 1 or None)
    finally:
        process.kill()
        await process.wait()
    rehearsal.rpc("evm_setAutomine", True)
    rehearsal.rpc("anvil_mine", "0x1")

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (MUST_SIGN, 4), shown
    assert "the Treasury is at" in shown


async def test_plan_for_a_second_chain_keeps_the_record_of_the_first(
    rehearsal: Rehearsal, tmp_path: Path
) -> None:
    of_first = json.loads(await deploy_verified(rehearsal))
    first = json.loads(rehearsal.record.read_text())

    with a_new_chain(tmp_path, OTHER_CHAIN_ID) as url:
        other = await Rehearsal.prepare(tmp_path, url, OTHER_CHAIN_ID)
        other.rpc("anvil_mine", "0x10")
        of_second = json.loads(await deploy_verified(other))

    assert of_second["contracts"] == of_first["contracts"]
    assert of_second["start_block"] > of_first["start_block"]
    both = json.loads(rehearsal.record.read_text())
    assert set(both) == {str(CHAIN_ID), str(OTHER_CHAIN_ID)}
    assert both[str(CHAIN_ID)] == first[str(CHAIN_ID)]
    rehearsal.change(chain_id=CHAIN_ID)
    assert json.loads(rehearsal.verify()[1]) == of_first


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({ANYBODY: {"transaction": "0x1", "block": 7}}, f"names no chain for {ANYBODY}"),
        ("not a record", "cannot be read"),
    ],
)
async def test_invalid_record_sends_no_transaction(
    rehearsal: Rehearsal, content: object, words: str
) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    rehearsal.record.write_text(text)

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (WRONG, 0)
    assert words in shown
    assert rehearsal.record.read_text() == text


@dataclass(frozen=True, slots=True)
class Changes:
    """Manipulations of the contracts of a verified entry."""

    rehearsal: Rehearsal
    treasury: str
    factory: str

    async def bytecode(self) -> None:
        self._set_code(self.treasury, self._code(self.treasury)[:-2] + "00")

    async def constructor_argument(self) -> None:
        code = self._code(self.factory)
        other = code.replace(self.treasury[2:].lower(), ANYBODY[2:])
        assert other != code
        self._set_code(self.factory, other)

    async def pending_owner(self) -> None:
        call = codec.selector("transferOwnership(address)") + word(self.rehearsal.guardian)
        await self.rehearsal.sign(self.rehearsal.owner, (self.treasury, 0, call))

    async def owner(self) -> None:
        await self.pending_owner()
        call = codec.selector("acceptOwnership()")
        await self.rehearsal.sign(self.rehearsal.guardian, (self.treasury, 0, call))

    async def operators(self) -> None:
        call = codec.selector("addOperator(address)") + word(ANYBODY)
        await self.rehearsal.sign(self.rehearsal.owner, (self.treasury, 0, call))

    async def treasury_removed(self) -> None:
        self._set_code(self.treasury, "0x")

    def _code(self, address: str) -> str:
        return str(self.rehearsal.rpc("eth_getCode", address, "latest"))

    def _set_code(self, address: str, code: str) -> None:
        self.rehearsal.rpc("anvil_setCode", address, code)


# The change; the finding of the verification; whether a release's comparison refuses it as well.
REFUSED = (
    (Changes.bytecode, "the code of the Treasury at {treasury} is not the build's", False),
    (Changes.constructor_argument, "the factory sweeps to", True),
    (Changes.pending_owner, "the Treasury has the pending owner {guardian}", True),
    (Changes.owner, "the Treasury is owned by {guardian}", True),
    (Changes.operators, "is an operator of the Treasury, and no signer", False),
    (Changes.treasury_removed, "the Treasury is not at {treasury}", True),
)


@pytest.mark.slow
async def test_contracts_that_differ_from_the_plan_are_refused(
    rehearsal: Rehearsal, deploy_with: Callable[[str], Deployment]
) -> None:
    entry = await deploy_verified(rehearsal)
    deployment, contracts = deploy_with(entry), json.loads(entry)["contracts"]
    treasury, factory = contracts["treasury"], contracts["deposit_addresses"]["factory"]
    changes = Changes(rehearsal, treasury, factory)

    for change, words, is_refused in REFUSED:
        snapshot = rehearsal.rpc("evm_snapshot")
        await change(changes)

        code, shown_entry, shown = rehearsal.verify()
        assert (code, shown_entry) == (WRONG, ""), shown
        assert words.format(treasury=treasury, guardian=rehearsal.guardian) in shown
        code, _, shown = deployment.compare()
        assert (code != 0) is is_refused, (words, shown)
        assert rehearsal.rpc("evm_revert", snapshot)
    assert rehearsal.verify()[0] == 0
    assert deployment.compare()[0] == 0


def word(address: str) -> bytes:
    """Return an address as a call's argument."""
    return bytes.fromhex(address[2:]).rjust(32, b"\0")


async def test_other_constructor_arguments_give_another_address(rehearsal: Rehearsal) -> None:
    await deploy_verified(rehearsal)

    rehearsal.change(signers=[ANYBODY])
    code, entry, shown = rehearsal.verify()

    assert (code, entry) == (WRONG, "")
    assert "the Treasury is not at" in shown


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"owner": DEPLOYER}, "the deployer has no other role"),
        ({"guardian": DEPLOYER}, "the deployer has no other role"),
        ({"guardian": ANYBODY}, "has no code: deploy the multisig"),
        ({"owner": "0x" + "Ab" * 20}, "its checksum is wrong"),
        ({"chain_id": 1}, "the node serves the chain"),
        ({"max_fee_per_gas": "1"}, "gas costs"),
        ({"outflow_limits": []}, "name the network's coin"),
        ({"catalogue": {"tokens": [{"symbol": "X", "contract": ANYBODY}]}}, "X has none"),
        ({"unknown": 1}, "has no member unknown"),
    ],
)
async def test_invalid_plan_sends_no_transaction(
    rehearsal: Rehearsal, members: dict[str, Any], words: str
) -> None:
    rehearsal.change(**members)

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (WRONG, 0)
    assert words in shown


async def test_deployer_without_enough_gas_sends_no_transaction(rehearsal: Rehearsal) -> None:
    rehearsal.rpc("anvil_setBalance", DEPLOYER, "0x1")

    code, _, shown = rehearsal.send()

    assert (code, rehearsal.transactions_of_deployer()) == (WRONG, 0)
    assert "too little: nothing was sent" in shown


def test_private_key_is_not_accepted_as_an_argument(rehearsal: Rehearsal) -> None:
    code, _, shown = rehearsal.run("deploy.mjs", "--key", DEPLOYER_KEY)

    assert code == WRONG
    assert "Unknown option" in shown
