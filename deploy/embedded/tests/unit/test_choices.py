"""The accepted choices, and the refused ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from swap_runtime.operators.identities import token_hash
from swap_stack.daemon import StackError
from swap_stack.demo.closing import whole
from swap_stack.down import turn
from swap_stack.keys import load_or_make
from swap_stack.operators import describe_operators, operator_settings
from swap_stack.options import Options
from swap_stack.parts.broker import choose_broker
from swap_stack.places import Places
from swap_stack.processes import ProcessRecord
from swap_stack.services import make_plan


def test_options_without_choices_are_the_defaults() -> None:
    assert Options.from_environment({}) == Options()
    assert Options.from_environment({"FRESH": "", "BROKER": "", "CATALOGUE": ""}) == Options()


def test_choices_are_read_from_the_environment() -> None:
    chosen = {"FRESH": "1", "BROKER": "embedded", "WITHOUT": "api,quoter"}
    more = {"ANVIL_ARGS": "--gas-limit 300", "KAFKA_SECURITY": "scram"}
    options = Options.from_environment({**chosen, **more})
    assert options.fresh
    assert options.kafka_security == "scram"
    assert options.broker == "embedded"
    assert options.anvil_args == ("--gas-limit", "300")
    assert options.without == {"api", "quoter"}


def test_fresh_may_be_disabled() -> None:
    assert not Options.from_environment({"FRESH": "0"}).fresh


def test_the_callers_settings_win(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWAP_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    settings = {"SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:2", "SWAP_REDIS__URL": "redis://"}
    plan = make_plan(Places(tmp_path), settings, without=frozenset({"api"}))
    for service in plan.services:
        assert service.env["SWAP_KAFKA__BOOTSTRAP_SERVERS"] == "127.0.0.1:1"
        assert service.env["SWAP_REDIS__URL"] == "redis://"
    assert "api" not in {service.name for service in plan.services}


def test_no_service_holds_an_operators_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "the caller's")
    monkeypatch.setenv("SWAP_OPERATORS", "[]")
    made = load_or_make(tmp_path / "secrets.json")
    secrets = replace(made, operator_token="the caller's")
    settings = operator_settings(secrets)

    plan = make_plan(Places(tmp_path), settings)

    described = {row["name"]: row["token"] for row in describe_operators(secrets)}
    assert described["operator"] == "the caller's"
    for service in plan.services:
        known = {row["name"]: row for row in json.loads(service.env["SWAP_OPERATORS"])}
        for name, token in described.items():
            assert known[name]["role"] == "operator"
            assert known[name]["token_sha256"] == token_hash(token).hex()
            assert token not in " ".join(service.env.values())


def test_each_service_has_its_own_login(tmp_path: Path) -> None:
    logins = {"api": {"SWAP_KAFKA__USERNAME": "api"}, "settler": {"SWAP_KAFKA__USERNAME": "s"}}
    plan = make_plan(Places(tmp_path), {}, logins)
    names = {one.name: one.env.get("SWAP_KAFKA__USERNAME") for one in plan.services}
    assert (names["api"], names["settler"], names["quoter"]) == ("api", "s", None)


@pytest.mark.parametrize(
    ("broker", "security", "sentence"),
    [
        ("embedded", "scram", "needs Apache Kafka"),
        ("embedded", "tls", "KAFKA_SECURITY=tls is not one of none, scram"),
    ],
)
def test_security_that_cannot_be_had_is_refused(
    tmp_path: Path, broker: str, security: str, sentence: str
) -> None:
    with pytest.raises(StackError, match=sentence):
        choose_broker(broker, Places(tmp_path), security)


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
