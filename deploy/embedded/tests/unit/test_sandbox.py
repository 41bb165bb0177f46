"""The sandbox plays for test keys on development chains alone, and no service knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swap_stack.files import write_json
from swap_stack.node import Node
from swap_stack.places import ROOT
from swap_stack.sandbox.__main__ import Refusals, run
from swap_stack.sandbox.outcomes import MEANINGS, PREFIX, Outcome, meant_by
from swap_stack.sandbox.plays import PARTS
from swap_stack.sandbox.purse import with_amount
from swap_stack.sandbox.settings import NotASandbox, Settings, require_development_chain
from swap_stack.sandbox.watching import Journal, played
from swap_stack.wallet import call_data

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
    """A node that says it is such a chain and such a program."""

    def __init__(self, chain_id: int, program: str) -> None:
        super().__init__("http://127.0.0.1:1")
        self._answers = {"eth_chainId": hex(chain_id), "web3_clientVersion": program}

    async def call(self, method: str, *_: object) -> Any:
        return self._answers[method]


def test_no_service_no_library_and_no_contract_knows_of_it() -> None:
    for file in (f for source in REAL for f in source.rglob("*.*") if f.suffix in (".py", ".sol")):
        text = file.read_text().lower()
        assert PREFIX not in text, file
        assert "sandbox" not in text, file
        assert "swap_stack" not in text, file


@pytest.mark.parametrize("key", ["svc_live_one", "svc_live_pub_one", "whatever"])
def test_any_key_but_a_test_key_is_refused(settings: Settings, key: str) -> None:
    settings.keys.write_text(f"svc_test_two\n{key}\n")

    with pytest.raises(NotASandbox):
        asyncio.run(run(settings))


def test_apps_come_in_by_a_key(settings: Settings) -> None:
    assert settings.list_keys() == ["svc_test_one"]
    settings.keys.write_text("svc_test_two\n")
    assert settings.list_keys() == ["svc_test_one", "svc_test_two"]


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


async def test_a_development_chain_is_played_on() -> None:
    await require_development_chain("ETHEREUM_DEVNET", Says(31337, "anvil/v1.7.1"))


def test_every_outcome_has_a_part_and_an_address_of_its_own() -> None:
    assert set(PARTS) == set(MEANINGS) == set(Outcome)
    assert {meant_by(meaning.address) for meaning in MEANINGS.values()} == set(Outcome)
    assert all(len(meaning.address) == len(TO) for meaning in MEANINGS.values())
    assert meant_by(TO) is None


@pytest.mark.parametrize("memo", ["", "77" * 32])
def test_another_amount_goes_where_the_amount_was(memo: str) -> None:
    def action(amount: int) -> Mapping[str, Any]:
        data = call_data("transfer(address,uint256)", TO, amount)
        return {"to_address": TO, "call_data": data + memo, "encoded_args": [TO, str(amount)]}

    assert with_amount(action(1000), 17) == action(17)["call_data"]
    with pytest.raises(ValueError, match="is new"):
        with_amount({**action(1000), "encoded_args": [TO, "1001"]}, 17)


def test_the_first_attempt_of_each_message_is_refused_where_that_is_asked_for() -> None:
    refuses = Refusals()
    asks = {"swap": {"destination_address": MEANINGS[Outcome.WEBHOOK_FAILS].address}}
    other = {"swap": {"destination_address": MEANINGS[Outcome.COMPLETED].address}}

    assert [refuses("one", asks), refuses("one", asks), refuses("two", asks)] == [True, False, True]
    assert not refuses("three", other)
    assert not refuses("four", {"endpoint": {}})


def test_what_was_paid_is_known_after_a_restart(settings: Settings) -> None:
    journal = Journal(settings)
    journal.open()
    journal.note("one")
    journal.note("two")

    again = Journal(replace(settings))
    again.open()

    assert again.paid == {"one", "two"}


async def test_what_goes_wrong_in_a_play_is_logged_whatever_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        swap_id, outcome = "one", Outcome("completed")

        async def run(self) -> None:
            next(iter(()))  # in a coroutine it comes out as a RuntimeError

    await played(Broken())  # type: ignore[arg-type]

    [said] = caplog.records
    assert said.exc_info is not None
    assert said.exc_info[0] is RuntimeError
