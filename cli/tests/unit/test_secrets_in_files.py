"""A secret of swapctl may be in a file that `NAME_FILE` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from swapctl.endpoints import (
    ACCESS_VARIABLE,
    AUDITOR_VARIABLE,
    SECRETS,
    TOKEN_VARIABLE,
    NotConfigured,
    find_endpoints,
)


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Without what the machine's environment names."""
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    path = tmp_path / "stack.json"
    path.write_text("{}")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("from the file\n")
    return path


@pytest.mark.parametrize("name", SECRETS)
def test_each_is_read(name: str, stack: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{name}_FILE", str(file))

    assert find_endpoints(stack, {}).environment[name] == "from the file"


def test_tokens_and_the_database_are_among_them() -> None:
    assert {TOKEN_VARIABLE, ACCESS_VARIABLE, AUDITOR_VARIABLE, "SWAP_KAFKA__PASSWORD"} <= set(
        SECRETS
    )


def test_an_option_wins(stack: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{TOKEN_VARIABLE}_FILE", str(file))

    assert find_endpoints(stack, {TOKEN_VARIABLE: "an option"}).token == "an option"


def test_both_are_refused(stack: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "a value")
    monkeypatch.setenv(f"{TOKEN_VARIABLE}_FILE", str(file))

    with pytest.raises(NotConfigured, match="both set"):
        find_endpoints(stack, {})


def test_a_file_that_cannot_be_read_is_named(stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{AUDITOR_VARIABLE}_FILE", "/nowhere/secret")

    with pytest.raises(NotConfigured, match=f"{AUDITOR_VARIABLE}_FILE: /nowhere/secret"):
        find_endpoints(stack, {})


def test_a_setting_that_is_a_file_stays(stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWAP_KAFKA__CA_FILE", "/etc/ca.crt")

    assert find_endpoints(stack, {}).environment["SWAP_KAFKA__CA_FILE"] == "/etc/ca.crt"
