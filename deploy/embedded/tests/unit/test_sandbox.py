"""The sandbox acts only for test keys on development chains, and no service depends on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swap_stack.files import write_json
from swap_stack.keys import sandbox_keys
from swap_stack.node import Node, NodeError
from swap_stack.places import ROOT
from swap_stack.sandbox.__main__ import Refusals, run
from swap_stack.sandbox.bench import Bench
from swap_stack.sandbox.outcome_runs import USER_ACTIONS, OutcomeRun
from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS, PREFIX, SandboxOutcome, find_outcome
from swap_stack.sandbox.sandbox_wallet import SandboxWallet
from swap_stack.sandbox.settings import NotASandbox, Settings, require_development_chain
from swap_stack.sandbox.watching import Journal, run_until_paid, swaps_waiting
from swap_stack.user import with_amount
from swap_stack.wallet import call_data
from tests.support.serving import client_of

TO = "0x" + "11" * 20
REAL = [*sorted(ROOT.glob("services/*/src")), *sorted(ROOT.glob("libs/*/src")), ROOT / "evm/src"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    write_json(tmp_path / "partners.json", [{"name": "sandbox", "api_key": "svc_test_one"}])
    return Settings(
        gateway="http://127.0.0.1:1",
        nodes={},
        partners=tmp_path / "partners.json",
        keys=tmp_path / "keys",
        journal=tmp_path / "sandbox/paid",
        received=tmp_path / "received.jsonl",
        host="127.0.0.1",
        port=0,
    )


class Says(Node):
    """A node that reports this chain and this program."""

    def __init__(self, chain_id: int, program: str) -> None:
        super().__init__("http://127.0.0.1:1")
        self._answers = {"eth_chainId": hex(chain_id), "web3_clientVersion": program}
        self.methods: list[str] = []

    async def call(self, method: str, *_: object) -> Any:
        self.methods.append(method)
        return self._answers[method]


def test_no_service_no_library_and_no_contract_mentions_it() -> None:
    for file in (f for source in REAL for f in source.rglob("*.*") if f.suffix in (".py", ".sol")):
        text = file.read_text().lower()
        # rehearsals.py has the recipients that live services refuse.
        assert PREFIX not in text or file.name == "rehearsals.py", file
        assert "sandbox" not in text, file
        assert "swap_stack" not in text, file


@pytest.mark.parametrize("key", ["svc_live_one", "svc_live_pub_one", "whatever"])
def test_any_key_but_a_test_key_is_refused(settings: Settings, key: str) -> None:
    settings.keys.write_text(f"svc_test_two\n{key}\n")

    with pytest.raises(NotASandbox):
        asyncio.run(run(settings))


def test_keys_are_read_from_the_file_of_keys(settings: Settings) -> None:
    assert settings.list_keys() == ["svc_test_one"]
    settings.keys.write_text("svc_test_two\n")
    assert settings.list_keys() == ["svc_test_one", "svc_test_two"]


def test_keys_of_joined_apps_are_listed(settings: Settings) -> None:
    settings.joined.add("an app", "svc_test_two")
    settings.joined.add("another", "svc_test_three")
    settings.joined.add("an app", "svc_test_four")
    assert settings.list_keys() == ["svc_test_one", "svc_test_four", "svc_test_three"]

    settings.joined.forget("svc_test_four")
    assert settings.list_keys() == ["svc_test_one", "svc_test_three"]


@pytest.mark.parametrize("key", ["svc_live_one", "whatever", None])
async def test_no_other_key_is_handed_over(settings: Settings, key: str | None) -> None:
    path = "/bench/apps/00000000-0000-4000-8000-000000000001"
    async with (
        client_of(*Bench(settings).routes()) as client,
        client.post(path, json={"api_key": key}) as answer,
    ):
        assert answer.status == 422

    assert settings.list_keys() == ["svc_test_one"]


@pytest.mark.parametrize(
    ("network", "chain_id", "program"),
    [
        ("ETHEREUM_MAINNET", 1, "Geth/v1.16"),
        ("ETHEREUM_DEVNET", 1, "anvil/v1.7.1"),
        ("ETHEREUM_DEVNET", 31337, "Geth/v1.16"),
        ("ETHEREUM_MAINNET", 31337, "anvil/v1.7.1"),
    ],
)
async def test_any_chain_but_a_development_chain_is_refused(
    network: str, chain_id: int, program: str
) -> None:
    with pytest.raises(NotASandbox):
        await require_development_chain(network, Says(chain_id, program))


async def test_development_chain_is_accepted_by_its_id_and_its_program() -> None:
    node = Says(31337, "anvil/v1.7.1")

    await require_development_chain("ETHEREUM_DEVNET", node)

    assert node.methods == ["eth_chainId", "web3_clientVersion"]


def test_every_outcome_has_a_user_action_and_an_address_of_its_own() -> None:
    assert set(USER_ACTIONS) == set(OUTCOME_DESCRIPTIONS) == set(SandboxOutcome)
    assert {find_outcome(meaning.address) for meaning in OUTCOME_DESCRIPTIONS.values()} == set(
        SandboxOutcome
    )
    assert all(len(meaning.address) == len(TO) for meaning in OUTCOME_DESCRIPTIONS.values())
    assert find_outcome(TO) is None


@pytest.mark.parametrize("memo", ["", "77" * 32])
def test_with_amount_replaces_the_amount_in_the_call_data(memo: str) -> None:
    def action(amount: int) -> Mapping[str, Any]:
        data = call_data("transfer(address,uint256)", TO, amount)
        return {"to_address": TO, "call_data": data + memo, "encoded_args": [TO, str(amount)]}

    assert with_amount(action(1000), 17) == action(17)["call_data"]
    with pytest.raises(ValueError, match="is new"):
        with_amount({**action(1000), "encoded_args": [TO, "1001"]}, 17)


def test_the_first_attempt_of_each_message_is_refused_for_its_outcome() -> None:
    refuses = Refusals()
    asks = {
        "swap": {"destination_address": OUTCOME_DESCRIPTIONS[SandboxOutcome.WEBHOOK_FAILS].address}
    }
    other = {
        "swap": {"destination_address": OUTCOME_DESCRIPTIONS[SandboxOutcome.COMPLETED].address}
    }

    assert [refuses("one", asks), refuses("one", asks), refuses("two", asks)] == [True, False, True]
    assert not refuses("three", other)
    assert not refuses("four", {"endpoint": {}})


def test_journal_has_paid_swaps_after_a_restart(settings: Settings) -> None:
    journal = Journal(settings)
    journal.open()
    journal.note("one")
    journal.note("two")

    again = Journal(replace(settings))
    again.open()

    assert again.paid == {"one", "two"}


async def test_every_exception_of_an_outcome_run_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        swap_id, outcome = "one", SandboxOutcome("completed")

        async def run(self) -> None:
            next(iter(()))  # a coroutine raises it as a RuntimeError

    await run_until_paid(Broken(), {"one"}, pause=0)  # type: ignore[arg-type]

    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is RuntimeError


class Fails:
    """An outcome run with first attempts that fail."""

    swap_id, outcome = "one", SandboxOutcome.COMPLETED

    def __init__(self, *, times: int, ends_after: int = 99) -> None:
        self.times = times
        self.ends_after = ends_after
        self.attempts = 0

    async def run(self) -> None:
        self.attempts += 1
        if self.attempts <= self.times:
            raise ConnectionError("the node is away")

    async def is_waiting(self) -> bool:
        return self.attempts < self.ends_after


async def test_unpaid_outcome_run_is_repeated_until_the_swap_ends() -> None:
    mended, ended = Fails(times=2), Fails(times=99, ends_after=3)

    await run_until_paid(mended, set(), pause=0)  # type: ignore[arg-type]
    await run_until_paid(ended, set(), pause=0)  # type: ignore[arg-type]

    assert (mended.attempts, ended.attempts) == (3, 3)


async def test_outcome_run_that_may_have_paid_is_not_repeated() -> None:
    outcome_run = Fails(times=99)

    await run_until_paid(outcome_run, {"one"}, pause=0)  # type: ignore[arg-type]

    assert outcome_run.attempts == 1


@pytest.mark.parametrize("kind", ["transfer", "manual_transfer"])
async def test_a_swap_is_noted_only_directly_before_its_payment(kind: str) -> None:
    class Away(Node):
        async def call(self, *_: object) -> Any:
            raise NodeError("away")

    noted: list[str] = []
    action = {"type": kind, "token": {"contract": None}, "to_address": TO, "call_data": None}

    with pytest.raises(NodeError):
        await SandboxWallet(Away("http://127.0.0.1:1"), sandbox_keys()[0]).pay(
            action, 1, before=lambda: noted.append("one")
        )

    assert noted == []


async def test_every_swap_that_waits_is_seen() -> None:
    class Lists:
        async def swaps(self, *, page: int, page_size: int, **_: str) -> list[Any]:
            ids = range(230)[(page - 1) * page_size : page * page_size]
            return [{"swap": {"id": str(one)}} for one in ids]

    assert len(await swaps_waiting(Lists())) == 230  # type: ignore[arg-type]


async def test_blocks_are_held_back_by_one_at_a_time() -> None:
    intervals: list[Any] = []

    class Holds(Node):
        async def call(self, method: str, *parameters: object) -> Any:
            intervals.append(parameters[0])

    async def hold(sandbox_wallet: SandboxWallet) -> None:
        async with sandbox_wallet.stop_mining():
            intervals.append("held")
            await asyncio.sleep(0)

    sandbox_wallet = SandboxWallet(Holds("http://127.0.0.1:1"), sandbox_keys()[1])
    await asyncio.gather(hold(sandbox_wallet), hold(sandbox_wallet))

    assert intervals == [0, "held", 1, 0, "held", 1]


async def test_a_swap_without_an_amount_is_paid_what_fits_its_route() -> None:
    token = {"contract": None, "decimals": 6, "symbol": "USDC"}
    network = {"name": "ETHEREUM_DEVNET"}
    swap = {
        "source_network": network,
        "source_token": token,
        "destination_network": network,
        "destination_token": token,
    }
    action = {"amount_in_base_units": "0", "encoded_args": None, "token": token}

    class Partner:
        async def swap(self, _: str) -> Any:
            return {"swap": swap}

        async def limits(self, *, options: Mapping[str, object], **_: str) -> Any:
            assert options == {"use_deposit_address": True}
            return {"min_amount": 0.25}

    outcome_run = OutcomeRun(
        swap_id="one",
        outcome=SandboxOutcome.COMPLETED,
        partner=Partner(),  # type: ignore[arg-type]
        sandbox_wallet=None,  # type: ignore[arg-type]
        other=None,  # type: ignore[arg-type]
        before_paying=lambda _: None,
    )

    # Four times the route's minimum of 0.25, with six decimals.
    assert await outcome_run.amount_to_deposit(action) == 1_000_000
    assert await outcome_run.amount_to_deposit({**action, "amount_in_base_units": "7"}) == 7
