"""The whole process with a real node and our contracts, for tests of the chain-watcher."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import psycopg
import yaml
from eth_account import Account

from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_domain.catalogue import NATIVE
from tests.plugins.broker import Broker
from tests.plugins.processes import Program, accepts, free_port
from tests.support import networks

EVM = Path(__file__).parents[3] / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
NETWORK = "ETHEREUM_DEVNET"
# The first development keys, which are public.
OWNER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
USER_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
FUNDS = 10**24


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

    def messages_about(self, transaction_hash: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.database_url.replace("+psycopg", "")) as connection:
            rows = connection.execute("SELECT payload FROM outbox ORDER BY id").fetchall()
        bodies = [json.loads(row[0])["body"] for row in rows]
        return [body for body in bodies if body["transaction_hash"] == transaction_hash]

    def states_of(self, transaction_hash: str) -> list[tuple[str, int]]:
        return [(body["state"], body["version"]) for body in self.messages_about(transaction_hash)]

    def asks(
        self,
        path: str,
        *,
        method: str = "GET",
        token: str = "operator",
        body: dict[str, Any] | None = None,
    ) -> tuple[int, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {token}"},
        )
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def _is_ready(self) -> bool:
        try:
            return self.asks("/readyz")[0] == 200
        except (URLError, ConnectionError):  # it does not listen yet, or has just ended
            return False

    def catalogue(self, **changes: object) -> Path:
        a = self.addresses
        tier = [{"below_base_units": "1000000", "confirmations": 1}]
        values = {
            "display_name": "Ethereum Devnet",
            "public_nodes": [self.node],
            "payout_confirmations": 1,
            "contracts": {"treasury": a["treasury"], "depository": a["depository"]},
            "gas": {"pay_native": 75000, "pay_erc20": 95000},
            "max_fee_per_gas": 10**12,
        }
        usdc = {"symbol": "USDC", "contract": a["usdc"], "decimals": 6, "tiers": tier}
        tokens = ({**networks.ETH, "tiers": tier}, usdc)
        network = networks.a_network(NETWORK, 31337, *tokens, **{**values, **changes})
        path = self.folder / f"catalogue-{len(changes)}.yaml"
        path.write_text(
            yaml.safe_dump({"environment": "test", "networks": [network], "routes": []})
        )
        return path

    def watcher(self, catalogue: Path, **environment: str) -> Program:
        kafka = self.broker.settings
        return Program(
            [sys.executable, "-m", "swap_chain_watcher"],
            log=self.folder / "watcher.log",
            ready=self._is_ready,
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
                # One operator is enough, because the use case is tested, not the approval.
                "SWAP_CHAIN_WATCHER__RESUMING_NEEDS_TWO": "false",
                **environment,
            },
        )


@contextmanager
def a_stack(database_url: str, broker: Broker, folder: Path) -> Iterator[Stack]:
    """Start a node and deploy our contracts on it."""
    port = free_port()
    anvil = Program(
        [str(ANVIL), "--port", str(port), "--slots-in-an-epoch", "1", "--silent"],
        log=folder / "anvil.log",
        ready=lambda: accepts(port),
    )
    anvil.start()
    node = f"http://127.0.0.1:{port}"
    try:
        addresses = asyncio.run(_deploy(node))
        yield Stack(node, folder, database_url, broker, addresses)
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
