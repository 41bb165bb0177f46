"""Sections 3 to 5 of `docs/add-a-network.md`: a new network is tested while closed, and opened."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.k8s.tests.rehearsal import FUNDER, FUNDER_KEY, NETWORK, Rehearsal, a_new_chain
from swap_chains.evm.deploy import Deployer
from swap_stack.catalogue import write_catalogue
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.swapctl_commands import of, swapctl
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.e2e.ticking import Ticker
from tests.plugins.invariants import make_views, violations
from tests.plugins.stack import Stack
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHAIN_ID = 31399  # not the id of a chain of the stack
LAG_MAX = 4
INVENTORY = 100 * 10**18
# Services read the catalogue at their start; the page defines the order of restarts.
RESTARTED = ("quoter", "settler", "chain_watcher", "api", "notifier")
IN = Route("ETHEREUM_DEVNET", "ETH", NETWORK, "ETH", "0.05")
OUT = IN.back("0.04")
OTHER = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.05")


@dataclass
class NewNetwork:
    """A running stack, and an operator who adds a network to its catalogue."""

    stack: Stack
    entry: Mapping[str, Any]
    url: str
    folder: Path

    @property
    def description(self) -> Mapping[str, Any]:
        """Return the stack's description with the new network, for an outside client."""
        known = self.stack.description
        added = {
            "name": NETWORK,
            "chain_id": CHAIN_ID,
            "rpc_urls": [self.url],
            "users": [{"address": FUNDER, "private_key": FUNDER_KEY}],
            "tokens": self.entry["tokens"],
        }
        return {**known, "networks": [*known["networks"], added]}

    async def deploy(self, *, is_closed: bool) -> None:
        """Write the catalogue, and restart each service to read it."""
        path = self.stack.places.catalogue_file
        catalogue = yaml.safe_load(path.read_text())
        networks = [one for one in catalogue["networks"] if one["name"] != NETWORK]
        routes = [one for one in catalogue["routes"] if not one.get("closed") or not _is_new(one)]
        closed = _closing(routes[-1]) if is_closed else []
        write_catalogue(
            path,
            {**catalogue, "networks": [*networks, dict(self.entry)], "routes": [*closed, *routes]},
        )
        for service in RESTARTED:
            await self.stack.restart(service)

    async def swapctl(self, *words: str) -> Any:
        described = self.folder / "stack.json"
        described.write_text(json.dumps(self.description))
        return await swapctl(self.stack, *words, stack_file=described)


def _is_new(route: Mapping[str, Any]) -> bool:
    return any(str(route[end]).startswith(f"{NETWORK}/") for end in ("source", "destination"))


def _closing(usual: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    new, every = f"{NETWORK}/*", "*"
    return [
        {**usual, "source": source, "destination": destination, "closed": True}
        for source, destination in ((new, every), (every, new))
    ]


@pytest.fixture
async def network(stack: Stack, tmp_path: Path) -> AsyncIterator[NewNetwork]:
    """Deploy, verify and fund the contracts: sections 1 and 2 of the page."""
    # The network stays in the stack's tables, but its chain ends with the test.
    stack.broken_by = "a network that is there no more"
    with a_new_chain(tmp_path, CHAIN_ID) as url:
        ticker = Ticker([url])
        try:
            yield NewNetwork(stack, await deployed_entry(stack, tmp_path, url), url, tmp_path)
        finally:
            ticker.end()


async def deployed_entry(stack: Stack, folder: Path, url: str) -> Mapping[str, Any]:
    [signer] = yaml.safe_load(stack.places.catalogue_file.read_text())["networks"][0]["signers"]
    rehearsal = await Rehearsal.prepare(folder, url, CHAIN_ID)
    planned = {**rehearsal.plan["catalogue"], "public_nodes": [url], "finality_blocks": 2}
    rehearsal.change(signers=[signer], catalogue=planned)
    rehearsal.send()
    await rehearsal.sign_as_owner()
    code, entry, shown = rehearsal.verify()
    assert code == 0, shown
    verified: Mapping[str, Any] = json.loads(entry)
    async with Deployer(url, FUNDER_KEY) as funder:
        await funder.send_native(signer, INVENTORY)
        await funder.send_native(verified["contracts"]["treasury"], INVENTORY)
    return verified


async def test_a_network_is_tried_while_it_is_closed_and_opened(network: NewNetwork) -> None:
    # 4. With closed routes the network is not used, and all others continue.
    await network.deploy(is_closed=True)
    async with Outside(network.description) as outside:
        for route in (IN, OUT):
            assert await refusal(outside, route) == "ROUTE_NOT_FOUND_ERROR"
        assert (await outside.swap(OTHER)).status == "completed"

    async def has_caught_up() -> bool:
        listed = await network.swapctl("network", "list")
        assert listed.output is not None, listed.error
        # The chain continues meanwhile.
        return any(
            row["network"] == NETWORK and row["lag_blocks"] <= LAG_MAX for row in listed.output
        )

    await until(has_caught_up, what="the watcher has read the network", every=0.5)
    doctor = await network.swapctl("doctor")
    assert doctor.output is not None, doctor.error
    assert [row for row in doctor.output if row["level"] == "failed"] == []
    for part in ("node of", "signer", "network", "treasury"):
        assert [row["level"] for row in of(doctor, f"{part} {NETWORK}")] == ["ok"], doctor.output

    # 5. A cap, then the routes: a swap in each direction, and a refund.
    cap = await network.swapctl(
        "caps", "set", NETWORK, "--units", "1000000000", "--reason", "a new network"
    )
    assert cap.code == 0, cap.error
    await network.deploy(is_closed=False)
    async with Outside(network.description) as outside:
        assert (await outside.swap(IN)).status == "completed"
        assert (await outside.swap(OUT)).status == "completed"
        await check_refund(outside)

        # Close it again.
        drained = await network.swapctl("network", "drain", NETWORK, "--reason", "closed again")
        assert drained.code == 0, drained.error

        async def is_closed() -> bool:
            return await refusal(outside, IN) == "PAYOUTS_PAUSED"

        await until(is_closed, what="new swaps are refused", every=0.5)
    # The Job `release` creates the invariants' views with each network's policy.
    confirmations = {**network.stack.payout_confirmations, NETWORK: None}
    make_views(network.stack.superuser_url, confirmations)
    assert violations(network.stack.auditor_url) == {}


async def check_refund(outside: Outside) -> None:
    """Pay on the new network for a recipient elsewhere that refuses coins."""
    recipient = await contract_that_refuses(outside, OUT.destination_network)
    owner = new_address()
    prepared = await outside.partner().create(OUT, recipient, refund_address=owner)
    await outside.fund(prepared, OUT)
    seen = await outside.follow(prepared["swap"]["id"])
    assert seen[-1]["swap"]["status"] == "refunded"
    assert await outside.balance(NETWORK, "ETH", owner) > 0


async def refusal(outside: Outside, route: Route) -> str:
    """Return the code of the error that refuses a swap."""
    body = {
        "source_network": route.source_network,
        "source_token": route.source_token,
        "destination_network": route.destination_network,
        "destination_token": route.destination_token,
        "destination_address": new_address(),
        "amount": "1000000000",  # above every limit, so an open route creates none
        "use_depository": True,
    }
    answer = await outside.partner().ask("POST", "/swaps", json=body)
    return str(answer.json()["error"]["code"])
