"""The operator of a token, and the logged part of an order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from libs.runtime.tests.fakes import NOON
from swap_runtime.operators.identities import KnownOperator, Operator, Operators, Role, token_hash
from swap_runtime.operators.operator_log import HIDDEN, without_secrets
from swap_runtime.settings import SharedSettings

ANN, BEN = Operator("ann", Role.OPERATOR), Operator("ben", Role.OPERATOR)
HOUR = timedelta(hours=1)


def known(operator: Operator, token: str, **more: object) -> KnownOperator:
    return KnownOperator(operator, token_hash(token), **more)  # type: ignore[arg-type]


def operators(*entries: KnownOperator) -> Operators:
    return Operators(entries, clock=lambda: NOON)


class TestAToken:
    def test_is_one_operators(self) -> None:
        both = operators(known(ANN, "a"), known(BEN, "b"))

        assert (both.identify("Bearer a"), both.identify("Bearer b")) == (ANN, BEN)

    @pytest.mark.parametrize("value", ["", "Bearer ", "Bearer x", "a", "bearer a", "Bearer a "])
    def test_that_is_unknown_belongs_to_no_swap(self, value: str) -> None:
        assert operators(known(ANN, "a")).identify(value) is None

    def test_ends_when_it_expires(self) -> None:
        lasting = known(ANN, "a", expires_at=NOON + HOUR)
        expired = known(BEN, "b", expires_at=NOON)
        both = operators(lasting, expired)

        assert (both.identify("Bearer a"), both.identify("Bearer b")) == (ANN, None)
        assert both.is_active_named_operator("ann")
        assert not both.is_active_named_operator("ben")
        assert not both.can_approve

    def test_ends_when_it_is_deactivated(self) -> None:
        gone = operators(known(ANN, "a", is_active=False))

        assert gone.identify("Bearer a") is None
        assert not gone.is_active_named_operator("ann")

    def test_of_the_shared_token_orders_nothing_that_needs_two(self) -> None:
        shared = Operator("operator", Role.OPERATOR, is_shared=True)

        assert not operators(known(shared, "s")).is_active_named_operator("operator")

    def test_of_a_viewer_gives_no_orders(self) -> None:
        viewer = operators(known(Operator("vic", Role.VIEWER), "v"))

        assert not viewer.is_active_named_operator("vic")


class TestSettings:
    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SWAP_KAFKA__BOOTSTRAP_SERVERS", "k:9092")
        monkeypatch.setenv("SWAP_REDIS__URL", "redis://r")
        monkeypatch.setenv("SWAP_CATALOGUE", "catalogue.yaml")

    def read(self) -> SharedSettings:
        return SharedSettings()  # type: ignore[call-arg]

    def test_identify_the_shared_token_as_one_operator(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "old")

        found = self.read().known_operators(clock=lambda: NOON)

        assert found.identify("Bearer old") == Operator("operator", Role.OPERATOR, is_shared=True)

    def test_do_not_count_the_shared_token_as_an_operator_who_approves(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = f'{{"name": "ann", "role": "operator", "token_sha256": "{token_hash("a").hex()}"}}'
        monkeypatch.setenv("SWAP_OPERATORS", f"[{entry}]")
        monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "old")

        assert not self.read().known_operators(clock=lambda: NOON).can_approve

    def test_take_an_empty_token_for_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "")

        with pytest.raises(ValidationError, match="needs an operator"):
            self.read()

    def test_identify_operators_by_the_hash_of_their_token(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = f'{{"name": "ann", "role": "viewer", "token_sha256": "{token_hash("a").hex()}"}}'
        monkeypatch.setenv("SWAP_OPERATORS", f"[{entry}]")

        found = self.read().known_operators(clock=lambda: NOON)

        assert found.identify("Bearer a") == Operator("ann", Role.VIEWER)

    @pytest.mark.parametrize(
        "entries",
        [
            "[]",
            '[{"name": "ann", "role": "king", "token_sha256": "HASH"}]',
            '[{"name": "ann", "role": "viewer", "token_sha256": "secret"}]',
            '[{"name": "ann, approved by ben", "role": "viewer", "token_sha256": "HASH"}]',
        ],
    )
    def test_refuse_what_names_no_operator(
        self, monkeypatch: pytest.MonkeyPatch, entries: str
    ) -> None:
        monkeypatch.setenv("SWAP_OPERATORS", entries.replace("HASH", "0" * 64))

        with pytest.raises(ValidationError):
            self.read()

    @pytest.mark.parametrize(("name", "token"), [("operator", "new"), ("ann", "old")])
    def test_refuse_two_operators_of_one_name_or_one_token(
        self, monkeypatch: pytest.MonkeyPatch, name: str, token: str
    ) -> None:
        monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "old")
        entry = f'{{"name": "{name}", "role": "operator", "token_sha256": "'
        monkeypatch.setenv("SWAP_OPERATORS", f'[{entry}{token_hash(token).hex()}"}}]')

        with pytest.raises(ValidationError, match="of its own"):
            self.read()


class TestTheLog:
    def test_shows_no_secret(self) -> None:
        value = {
            "token": "USDC",
            "url": "https://u:pw@hooks.example:8443/path?key=1",
            "nested": [{"Secret": "x", "key": "svc_live_1", "hook": "whsec_1"}],
            "broken": "http://[",
            "nul": "a\0b",
            "count": 3,
        }

        assert without_secrets(value) == {
            "token": "USDC",
            "url": "https://hooks.example:8443/…",
            "nested": [{"Secret": HIDDEN, "key": HIDDEN, "hook": HIDDEN}],
            "broken": HIDDEN,
            "nul": "a?b",
            "count": 3,
        }
