"""A stack's secrets are created once and stay, also when a later release needs one more."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import asdict
from pathlib import Path

from swap_stack.files import read_json, write_json
from swap_stack.keys import load_or_make


def test_secrets_are_the_same_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"

    assert load_or_make(path) == load_or_make(path)


def test_secret_that_an_older_stack_lacks_is_created_once(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = load_or_make(path)
    older = {name: value for name, value in asdict(made).items() if name != "webhook_key"}
    write_json(path, older)

    first, second = load_or_make(path), load_or_make(path)

    assert first == second
    assert {name: value for name, value in read_json(path).items() if name in older} == older
    assert len(b64decode(first.webhook_key)) == 32
    assert first.webhook_key != made.webhook_key
