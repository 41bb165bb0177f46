"""The whole process against a real node, a real Postgres and a broker."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import psycopg
import pytest
import yaml
from eth_account import Account

from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_domain.catalogue import NATIVE
from tests.plugins.broker import Broker
from tests.plugins.processes import Program, accepts, free_port

pytestmark = [pytest.mark.connected, pytest.mark.timeout(180)]

EVM = Path(__file__).parents[4] / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
NETWORK = "ETHEREUM_DEVNET"
# The first development keys, known to everybody.
OWNER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
USER_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
FUNDS = 10**24
PATIENCE_SECONDS = 20
ABSENT = "0x00000000000000000000000000000000000000Ff"


@dataclass
class Stack:
    """One node with our contracts, one watcher, one schema."""

    node: str
    folder: Path
    database_url: str
    broker: Broker
    addresses: dict[str, str]
    port: int = field(default_factory=free_port)

    def rpc(self, method: str, *params: object) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        request = urllib.request.Request(
            self.node, body.encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        assert "error" not in answer, answer
        return answer["result"]

    def user(self, artifact: str, address: str, function: str, *arguments: Any, **more: Any) -> str:
        return asyncio.run(
            self._transact(USER_KEY, artifact, address, function, *arguments, **more)
        )

    def owner(self, artifact: str, address: str, function: str, *arguments: Any) -> str:
        return asyncio.run(self._transact(OWNER_KEY, artifact, address, function, *arguments))

    async def _transact(
        self, key: str, artifact: str, address: str, function: str, *arguments: Any, **more: Any
    ) -> str:
        async with Deployer(self.node, key) as deployer:
            path = ARTIFACTS / f"{artifact}.json"
            return await deployer.transact(path, address, function, *arguments, **more)

    def deposit(self, sequence_number: int, base_units: int) -> str:
        a = self.addresses
        key = sequence_number.to_bytes(32, "big")
        return self.user(
            "Depository", a["depository"], "depositERC20", key, a["usdc"], a["treasury"], base_units
        )

    def told_of(self, transaction_hash: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.database_url.replace("+psycopg", "")) as connection:
            rows = connection.execute("SELECT payload FROM outbox ORDER BY id").fetchall()
        bodies = [json.loads(row[0])["body"] for row in rows]
        return [body for body in bodies if body["transaction_hash"] == transaction_hash]

    def states_of(self, transaction_hash: str) -> list[tuple[str, int]]:
        return [(body["state"], body["version"]) for body in self.told_of(transaction_hash)]

    def asks(self, path: str, *, method: str = "GET") -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            headers={"Authorization": "Bearer operator"},
        )
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def catalogue(self, **changes: object) -> Path:
        a = self.addresses
        tier = [{"below_base_units": "1000000", "confirmations": 1}]
        listed = {"listing_date": "2026-01-01T00:00:00Z", "tiers": tier}
        network = {
            "name": NETWORK,
            "display_name": "Ethereum Devnet",
            "chain_id": 31337,
            "listing_date": "2026-01-01T00:00:00Z",
            "public_nodes": [self.node],
            "start_block": 0,
            "block_time_milliseconds": 1000,
            "payout_confirmations": 1,
            "finality_blocks": 2,
            "contracts": {"treasury": a["treasury"], "depository": a["depository"]},
            "signers": [],
            "gas": {"pay_native": 75000, "pay_erc20": 95000},
            "max_fee_per_gas": 10**12,
            "tokens": [
                {"symbol": "ETH", "decimals": 18, **listed},
                {"symbol": "USDC", "contract": a["usdc"], "decimals": 6, **listed},
            ],
            **changes,
        }
        path = self.folder / f"catalogue-{len(changes)}.yaml"
        path.write_text(
            yaml.safe_dump({"environment": "test", "networks": [network], "routes": []})
        )
        return path

    def watcher(self, catalogue: Path) -> Program:
        kafka = self.broker.settings
        return Program(
            [sys.executable, "-m", "swap_chain_watcher"],
            log=self.folder / "watcher.log",
            ready=lambda: accepts(self.port) and self.asks("/readyz")[0] == 200,
            environment={
                **os.environ,
                "SWAP_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
                "SWAP_KAFKA__SESSION_TIMEOUT_MS": str(kafka.session_timeout_ms),
                "SWAP_KAFKA__HEARTBEAT_INTERVAL_MS": str(kafka.heartbeat_interval_ms),
                "SWAP_KAFKA__FETCH_MAX_WAIT_MS": str(kafka.fetch_max_wait_ms),
                "SWAP_REDIS__URL": "redis://127.0.0.1:1",
                "SWAP_OPERATOR__TOKEN": "operator",
                "SWAP_CATALOGUE": str(catalogue),
                "SWAP_CHAIN_WATCHER__DATABASE_URL": self.database_url,
                "SWAP_CHAIN_WATCHER__INTERNAL_PORT": str(self.port),
                "SWAP_CHAIN_WATCHER__POLL_INTERVAL": "PT0.05S",
            },
        )


def until(condition: Callable[[], object]) -> None:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def stack(
    migrated: Callable[[str], str], broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder, port = tmp_path_factory.mktemp("anvil"), free_port()
    anvil = Program(
        [str(ANVIL), "--port", str(port), "--slots-in-an-epoch", "1", "--silent"],
        log=folder / "anvil.log",
        ready=lambda: accepts(port),
    )
    anvil.start()
    node = f"http://127.0.0.1:{port}"
    try:
        addresses = asyncio.run(_deploy(node))
        yield Stack(node, folder, migrated("chain_watcher"), broker, addresses)
    finally:
        anvil.stop()


async def _deploy(node: str) -> dict[str, str]:
    user = Account.from_key(USER_KEY).address
    token = ARTIFACTS / "DevToken.json"
    async with Deployer(node, OWNER_KEY) as owner:
        depository, treasury = await deploy_contracts(owner, ARTIFACTS, operators=[owner.address])
        copy = await owner.deploy(ARTIFACTS / "Depository.json", owner.address, [treasury])
        usdc = await owner.deploy(token, "USD Coin", "USDC", 6, user, FUNDS)
        fake = await owner.deploy(token, "USD Coin", "USDC", 6, user, FUNDS)
        for asset in (NATIVE, usdc):
            await owner.transact(
                ARTIFACTS / "Treasury.json", treasury, "setOutflowLimit", asset, 2**256 - 1, 0
            )
        await owner.send_native(treasury, 10**18)
    async with Deployer(node, USER_KEY) as someone:
        for spender in (depository, copy):
            for asset in (usdc, fake):
                await someone.transact(token, asset, "approve", spender, FUNDS)
    return {
        "depository": depository,
        "treasury": treasury,
        "copy": copy,
        "usdc": usdc,
        "fake": fake,
        "owner": owner.address,
        "user": user,
    }


@pytest.fixture(scope="module")
def watched(stack: Stack) -> Iterator[Stack]:
    watcher = stack.watcher(stack.catalogue())
    watcher.start()
    yield stack
    watcher.stop()


class TestDeposits:
    @pytest.mark.fault("W16")
    def test_w16_through_the_depository_are_told_once(self, watched: Stack) -> None:
        transaction_hash = watched.deposit(7, 1000)

        until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        [told] = watched.told_of(transaction_hash)
        assert (told["kind"], told["sequence_number"]) == ("deposited", 7)
        assert (told["from_address"], told["to_address"]) == (
            watched.addresses["user"],
            watched.addresses["treasury"],
        )
        assert (told["token"], told["base_units"]) == (watched.addresses["usdc"], "1000")

    @pytest.mark.fault("W16")
    def test_w16_of_coins_through_the_depository_are_told_once(self, watched: Stack) -> None:
        a = watched.addresses
        transaction_hash = watched.user(
            "Depository",
            a["depository"],
            "depositNative",
            (8).to_bytes(32, "big"),
            a["treasury"],
            value=1000,
        )

        until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        assert {body["kind"] for body in watched.told_of(transaction_hash)} == {"deposited"}
        assert {body["token"] for body in watched.told_of(transaction_hash)} == {NATIVE}

    @pytest.mark.fault("W13")
    def test_w13_through_somebody_else_s_depository_carry_no_sequence_number(
        self, watched: Stack
    ) -> None:
        a = watched.addresses
        key = (9).to_bytes(32, "big")
        transaction_hash = watched.user(
            "Depository", a["copy"], "depositERC20", key, a["usdc"], a["treasury"], 500
        )

        until(lambda: watched.told_of(transaction_hash))
        kinds = {(b["kind"], b["sequence_number"]) for b in watched.told_of(transaction_hash)}
        assert kinds == {("token_transfer", None)}

    @pytest.mark.fault("W12")
    def test_of_a_token_that_is_not_ours_are_quarantined(self, watched: Stack) -> None:
        a = watched.addresses
        key = (10).to_bytes(32, "big")
        transaction_hash = watched.user(
            "Depository", a["depository"], "depositERC20", key, a["fake"], a["treasury"], 500
        )
        unclaimed = watched.user("DevToken", a["fake"], "transfer", a["treasury"], 500)
        ours = watched.user("DevToken", a["usdc"], "transfer", a["treasury"], 500)

        until(lambda: watched.told_of(ours))
        (seen, *_) = watched.told_of(transaction_hash)
        assert seen["quarantine_reason"] == "unknown_token"
        assert watched.told_of(unclaimed) == []


class TestReorgs:
    def test_take_back_a_payout_and_find_it_again(self, watched: Stack) -> None:
        a = watched.addresses
        transaction_hash = watched.owner(
            "Treasury", a["treasury"], "pay", 4711, NATIVE, a["user"], 5
        )
        until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        raw = watched.rpc("eth_getRawTransactionByHash", transaction_hash)

        watched.rpc("anvil_reorg", 1, [])
        reverted = [("confirmed", 2), ("reverted", 3)]
        until(lambda: watched.states_of(transaction_hash) == reverted)
        watched.rpc("anvil_mine", "0x1")
        watched.rpc("eth_sendRawTransaction", raw)

        again = [*reverted, ("confirmed", 5)]
        until(lambda: watched.states_of(transaction_hash) == again)
        numbers = [body["block_number"] for body in watched.told_of(transaction_hash)]
        assert numbers[0] < numbers[-1]
        assert {body["intent_id"] for body in watched.told_of(transaction_hash)} == {"4711"}


class TestOperators:
    def test_see_where_the_network_stands(self, watched: Stack) -> None:
        head = int(watched.rpc("eth_blockNumber"), 16)

        def shown() -> dict[str, Any]:
            status, body = watched.asks("/admin/networks")
            assert status == 200
            network: dict[str, Any] = json.loads(body)["networks"][0]
            return network

        until(lambda: shown()["cursor"] == head)
        assert (shown()["network"], shown()["lag_blocks"]) == (NETWORK, 0)
        assert (shown()["finalized"], shown()["halted"]) == (head - 2, None)

    def test_resume_only_what_is_halted(self, watched: Stack) -> None:
        assert watched.asks(f"/admin/networks/{NETWORK}/resume", method="POST")[0] == 409
        assert watched.asks("/admin/networks/NOWHERE/resume", method="POST")[0] == 409

    def test_read_the_numbers(self, watched: Stack) -> None:
        until(lambda: "swap_watch_head_lag_blocks" in watched.asks("/metrics")[1])

        metrics = watched.asks("/metrics")[1]
        assert f'swap_watch_blocks_total{{network="{NETWORK}"}}' in metrics
        assert "swap_watch_detection_delay_seconds_bucket" in metrics

    @pytest.mark.fault("M12")
    def test_are_refused_a_catalogue_that_is_not_the_chain(self, watched: Stack) -> None:
        other = Stack(
            watched.node, watched.folder, watched.database_url, watched.broker, watched.addresses
        )
        contracts = {"treasury": ABSENT, "depository": watched.addresses["depository"]}

        with pytest.raises(RuntimeError, match="no contract at"):
            other.watcher(other.catalogue(contracts=contracts)).start()


def test_every_message_reaches_the_topics(watched: Stack) -> None:
    watched.deposit(11, 1)

    def all_published() -> bool:
        with psycopg.connect(watched.database_url.replace("+psycopg", "")) as connection:
            row = connection.execute(
                "SELECT count(*), count(published_at) FROM outbox WHERE topic LIKE 'deposit%'"
            ).fetchone()
        return row is not None and row[0] == row[1] > 0

    until(all_published)
