"""A new chain, and what an operator runs to add it: the commands of docs/add-a-network.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from eth_account import Account

from deploy.k8s.tests.rendered_overlay import ROOT
from swap_chains.evm.deploy import Deployer
from tests.plugins.processes import Program, accepts, free_port
from tests.support.networks import a_route

EVM = ROOT / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
NODE = ("node", "--no-warnings")
NETWORK = "EXAMPLE_MAINNET"
CHAIN_ID = 31338
# The first development key, which is public: it funds the others and sends inventory.
FUNDER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
FUNDER = Account.from_key(FUNDER_KEY).address
SIGNER_KEY = "0x" + "59" * 32
SIGNER = Account.from_key(SIGNER_KEY).address
DEPLOYER_KEY = "0x" + "d7" * 32
DEPLOYER = Account.from_key(DEPLOYER_KEY).address
TOKEN = "operator"
# Confirmed after one block: one node represents all providers.
TIERS = [
    {"below_base_units": "1000000000000000000", "confirmations": 1},
    {"below_base_units": None, "confirmations": None},
]
ProgramResult = tuple[int, str, str]  # exit code, standard output, standard error


@contextmanager
def a_new_chain(folder: Path, chain_id: int = CHAIN_ID) -> Iterator[str]:
    """Start a node with an empty chain; yield its URL."""
    port = free_port()
    anvil = Program(
        [str(ANVIL), "--port", str(port), "--chain-id", str(chain_id), "--slots-in-an-epoch", "1"],
        log=folder / f"anvil-{chain_id}.log",
        ready=lambda: accepts(port),
    )
    anvil.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        anvil.stop()


@dataclass
class Rehearsal:
    """A plan for the chain, with the commands of an operator."""

    folder: Path
    url: str
    owner: str
    guardian: str
    plan: dict[str, Any]

    @classmethod
    async def prepare(cls, folder: Path, url: str, chain_id: int = CHAIN_ID) -> Rehearsal:
        """Deploy the multisigs, fund the deployer, and set the members of the plan."""
        async with Deployer(url, FUNDER_KEY) as anybody:
            owner = await anybody.deploy(ARTIFACTS / "DevWallet.json")
            guardian = await anybody.deploy(ARTIFACTS / "DevWallet.json")
            await anybody.send_native(DEPLOYER, 10**18)
        plan = json.loads((EVM / "deploy/plan.example.json").read_text())
        [coin] = plan["catalogue"]["tokens"]
        made = cls(folder, url, owner, guardian, plan)
        made.change(
            chain_id=chain_id,
            deployer=DEPLOYER,
            owner=owner,
            guardian=guardian,
            signers=[SIGNER],
            funders=[FUNDER],
            catalogue={**plan["catalogue"], "tokens": [{**coin, "tiers": TIERS}]},
        )
        return made

    @property
    def path(self) -> Path:
        return self.folder / "plan.json"

    @property
    def record(self) -> Path:
        return self.folder / "plan.record.json"

    @property
    def transactions(self) -> Path:
        return self.folder / "owner.json"

    def change(self, **members: Any) -> None:
        self.plan |= members
        self.path.write_text(json.dumps(self.plan))

    def environment(self, **more: str) -> Mapping[str, str]:
        return {"PATH": os.environ["PATH"], "NODE_URL": self.url, **more}

    def run(self, script: str, *options: str, **environment: str) -> ProgramResult:
        command = [*NODE, str(EVM / "deploy" / script), str(self.path), *options]
        return run_to_end(command, self.environment(**environment))

    def verify(self) -> ProgramResult:
        return self.run("verify.mjs", "--owner-transactions", str(self.transactions))

    def send(self) -> ProgramResult:
        key = self.folder / "deployer.key"
        key.write_text(f"{DEPLOYER_KEY}\n")
        options = ("--send", "--owner-transactions", str(self.transactions))
        return self.run("deploy.mjs", *options, DEPLOYER_KEY_FILE=str(key))

    def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(self.url, json=body, timeout=30).json()
        assert "error" not in answer, answer
        return answer["result"]

    def transactions_of_deployer(self) -> int:
        return int(self.rpc("eth_getTransactionCount", DEPLOYER, "pending"), 16)

    async def sign_as_owner(self) -> None:
        """Execute the transactions for the multisig."""
        batch = json.loads(self.transactions.read_text())
        await self.sign(
            self.owner,
            *(
                (one["to"], int(one["value"]), bytes.fromhex(one["data"][2:]))
                for one in batch["transactions"]
            ),
        )

    async def sign(self, wallet: str, *calls: tuple[str, int, bytes]) -> None:
        async with Deployer(self.url, FUNDER_KEY) as anybody:
            artifact = ARTIFACTS / "DevWallet.json"
            await anybody.transact(artifact, wallet, "executeBatch", list(calls))


@dataclass
class Deployment:
    """The chain-watcher and the settler with a catalogue that contains only the new network."""

    folder: Path
    catalogue: Path
    node: str
    kafka: Mapping[str, str]
    database_urls: Mapping[str, str]  # by service, and the auditor's
    ports: dict[str, int] = field(
        default_factory=lambda: {name: free_port() for name in ("chain_watcher", "settler")}
    )

    @classmethod
    def of_entry(
        cls,
        folder: Path,
        entry: str,
        node: str,
        *,
        kafka: Mapping[str, str],
        database_urls: Mapping[str, str],
    ) -> Deployment:
        """Write the entry under `networks` of a catalogue; JSON is valid YAML."""
        catalogue = folder / "catalogue.yaml"
        catalogue.write_text(
            f"environment: test\nnetworks:\n  - {' '.join(entry.split())}\n"
            f"routes: {json.dumps([a_route()])}\n"
        )
        return cls(folder, catalogue, node, kafka, database_urls)

    @property
    def _shared(self) -> Mapping[str, str]:
        nodes = json.dumps({NETWORK: [self.node]})
        return {
            **os.environ,
            **self.kafka,
            "SWAP_CATALOGUE": str(self.catalogue),
            "SWAP_NODES": nodes,
            "SWAP_REDIS__URL": "redis://127.0.0.1:1",
            "SWAP_OPERATOR__TOKEN": TOKEN,
        }

    def compare(self) -> ProgramResult:
        """Run the Job that compares the catalogue with the chains before a release starts."""
        command = [sys.executable, "-m", "swap_k8s", "contracts"]
        return run_to_end(command, {**self._shared, "PYTHONPATH": "deploy/k8s"})

    def swapctl(self, *words: str) -> Any:
        """Return what a command prints, for any exit code."""
        urls = {
            "SWAPCTL_WATCHER_URL": f"http://127.0.0.1:{self.ports['chain_watcher']}",
            "SWAPCTL_SETTLER_URL": f"http://127.0.0.1:{self.ports['settler']}",
            "SWAPCTL_AUDITOR_URL": self.database_urls["auditor"],
        }
        command = [str(Path(sys.executable).with_name("swapctl")), *words, "--json"]
        _, shown, error = run_to_end(command, {**self._shared, **urls}, folder=self.folder)
        assert shown, error
        return json.loads(shown)

    @contextmanager
    def running(self) -> Iterator[None]:
        own = {
            "chain_watcher": {"SWAP_CHAIN_WATCHER__POLL_INTERVAL": "PT0.1S"},
            "settler": {
                "SWAP_SETTLER__QUOTER_URL": "http://127.0.0.1:1",
                "SWAP_SETTLER__SIGNER_KEYS": json.dumps({SIGNER: SIGNER_KEY}),
            },
        }
        programs = [self._service(name, settings) for name, settings in own.items()]
        try:
            for program in programs:
                program.start()
            yield
        finally:
            for program in reversed(programs):
                program.stop()

    def _service(self, name: str, settings: Mapping[str, str]) -> Program:
        port, prefix = self.ports[name], f"SWAP_{name.upper()}__"
        client = httpx.Client(timeout=5)  # one for all requests, because each loads certificates

        def is_ready() -> bool:
            try:
                return client.get(f"http://127.0.0.1:{port}/readyz").is_success
            except httpx.HTTPError:
                return False

        return Program(
            [sys.executable, "-m", f"swap_{name}"],
            log=self.folder / f"{name}.log",
            ready=is_ready,
            environment={
                **self._shared,
                f"{prefix}DATABASE_URL": self.database_urls[name],
                f"{prefix}INTERNAL_PORT": str(port),
                **settings,
            },
        )


def run_to_end(
    command: Sequence[str], environment: Mapping[str, str], *, folder: Path = ROOT
) -> ProgramResult:
    """Run a command to its end."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
