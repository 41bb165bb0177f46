"""What may be chosen, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from swap_stack.demo.closing import whole
from swap_stack.down import turn
from swap_stack.options import Options
from swap_stack.places import Places
from swap_stack.processes import ProcessRecord
from swap_stack.services import make_plan


def test_nothing_chosen_is_a_plain_start() -> None:
    assert Options.from_environment({}) == Options()
    assert Options.from_environment({"FRESH": "", "BROKER": "", "CATALOGUE": ""}) == Options()


def test_choices_are_read_from_the_environment() -> None:
    chosen = {"FRESH": "1", "BROKER": "embedded", "WITHOUT": "api,quoter"}
    options = Options.from_environment({**chosen, "ANVIL_ARGS": "--gas-limit 300"})
    assert options.fresh
    assert options.broker == "embedded"
    assert options.anvil_args == ("--gas-limit", "300")
    assert options.without == {"api", "quoter"}


def test_fresh_may_be_said_off() -> None:
    assert not Options.from_environment({"FRESH": "0"}).fresh


def test_the_callers_settings_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWAP_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    settings = {"SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:2", "SWAP_REDIS__URL": "redis://"}
    plan = make_plan(Places(tmp_path), settings, without=frozenset({"api"}))
    for service in plan.services:
        assert service.env["SWAP_KAFKA__BOOTSTRAP_SERVERS"] == "127.0.0.1:1"
        assert service.env["SWAP_REDIS__URL"] == "redis://"
    assert "api" not in {service.name for service in plan.services}


def test_the_supervisor_is_ended_before_the_services_and_these_before_the_rest() -> None:
    names = ["postgres", "chain_watcher-0", "anvil-base_devnet", "supervisor", "webhook-receiver"]
    turns = {name: turn(ProcessRecord(name, 1, 1, "boot")) for name in names}
    assert turns["supervisor"] < turns["chain_watcher-0"] < turns["postgres"]
    assert turns["postgres"] == turns["anvil-base_devnet"] == turns["webhook-receiver"]


@pytest.mark.parametrize(
    ("base_units", "decimals", "text"),
    [
        (0, 18, "0"),
        (1, 18, "0.000000000000000001"),
        (5 * 10**17, 18, "0.5"),
        (250_000_000, 6, "250"),
        (12, 0, "12"),
    ],
)
def test_an_amount_is_shown_exactly(base_units: int, decimals: int, text: str) -> None:
    assert whole(base_units, decimals) == text
