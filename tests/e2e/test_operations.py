"""An operator's work on a running deployment, with `swapctl` only."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from swapctl.auditor import open_auditor
from swapctl.draining import count_open_swaps
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.swapctl_commands import of, swapctl
from tests.plugins.stack import Stack
from tests.support.waiting import until

ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1")
ELSEWHERE = Route("ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.1")


class TestTheDoctor:
    async def test_finds_no_fault_after_a_swap(self, stack: Stack, outside: Outside) -> None:
        finished = await outside.swap(ROUTE)
        assert finished.status == "completed"

        found = await swapctl(stack, "doctor")

        failed = [row for row in found.output if row["level"] == "failed"]
        assert (found.code, failed) == (0, [])
        assert {row["text"] for row in of(found, "topics")} == {"all 7 exist"}
        assert {row["level"] for row in of(found, "treasury")} == {"ok"}
        assert of(found, "service dashboard") != []


class TestReconciling:
    async def test_finds_no_difference_at_one_final_block(self, stack: Stack) -> None:
        found = await swapctl(stack, "reconcile")

        assert {row["difference"] for row in found.output} == {"0"}
        assert {row["holder"] for row in found.output} >= {"treasury", "signer"}
        assert found.code == 0


class TestThePlan:
    async def test_brings_a_treasury_to_its_target(self, stack: Stack, tmp_path: Any) -> None:
        tokens = {
            network["name"]: {"USDC": {"contract": token["contract"], "decimals": 6, "target": "0"}}
            for network in stack.description["networks"]
            for token in network["tokens"]
            if token["symbol"] == "USDC"
        }
        tokens["BASE_DEVNET"]["USDC"]["target"] = "30000000"
        targets = tmp_path / "targets.json"
        targets.write_text(json.dumps({"tokens": tokens}))

        funder = new_address()
        command = ["treasury", "plan", "--targets", str(targets)]

        refused = await swapctl(stack, *command)
        plan = await swapctl(stack, *command, "--funder", funder)

        assert (refused.code, refused.output) == (2, None)
        assert plan.code == 0
        arrives = [row for row in plan.output if row["network"] == "BASE_DEVNET"]
        leaves = [row for row in plan.output if row["sender"] == "owner of the Treasury"]
        assert arrives
        assert leaves
        assert {row["data"][98:138] for row in leaves} == {funder[2:].lower()}
        treasury = stack.description["networks"][1]["contracts"]["treasury"]
        assert arrives[0]["data"][34:74] == treasury[2:].lower()


def open_swaps(stack: Stack, network: str) -> int:
    with open_auditor(stack.auditor_url) as auditor:
        return count_open_swaps(auditor, network)


@pytest.mark.slow
class TestDraining:
    async def test_ends_swaps_under_way_and_takes_no_new_ones(
        self, stack: Stack, outside: Outside
    ) -> None:
        network = ELSEWHERE.destination_network
        others = open_swaps(stack, network)  # of tests that leave swaps unpaid
        made = await outside.partner().create(ELSEWHERE, new_address())
        draining = asyncio.create_task(
            swapctl(stack, "network", "drain", network, "--reason", "a test", "--wait", "50")
        )
        try:

            async def refused() -> bool:
                body = {
                    "source_network": ELSEWHERE.source_network,
                    "source_token": ELSEWHERE.source_token,
                    "destination_network": network,
                    "destination_token": ELSEWHERE.destination_token,
                    "destination_address": new_address(),
                    "amount": "1000000000",  # above every limit, so an open network creates none
                    "use_depository": True,
                }
                answer = await outside.partner().ask("POST", "/swaps", json=body)
                return answer.status_code == 503

            await until(refused, what="a swap refused", every=0.5)
            doctor = await swapctl(stack, "doctor")
            assert "closed to new swaps: a test" in {row["text"] for row in doctor.output}
            await outside.fund(made, ELSEWHERE)
            seen = await outside.follow(made["swap"]["id"])
            assert seen[-1]["swap"]["status"] == "completed"
            drained = await draining
        finally:
            draining.cancel()
            opened = await swapctl(stack, "network", "open", network, "--reason", "it was a test")
        left = [row["amount"] for row in drained.output if row["what"].startswith("swaps")]
        assert sum(map(int, left)) <= others
        assert drained.code == (1 if left else 0), drained.error
        assert any(row["what"].startswith("custody treasury") for row in drained.output)
        assert opened.output == []

        async def accepted() -> bool:
            return not await refused()

        await until(accepted, what="swaps accepted", every=0.5)
        assert (await outside.swap(ELSEWHERE)).status == "completed"


@pytest.mark.parametrize("arguments", [["doctor"], ["reconcile"], ["treasury", "plan"]])
async def test_swapctl_without_a_deployment_exits_with_1(
    arguments: list[str], tmp_path: Any
) -> None:
    nothing = tmp_path / "stack.json"
    nothing.write_text("{}")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "swapctl", "--stack", str(nothing), *arguments),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await process.wait() == 1
