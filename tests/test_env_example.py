"""The optional lines of .env.example contain the defaults, in a form that can be read."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from swap_runtime.settings import SharedSettings

EXAMPLE = (Path(__file__).parents[1] / ".env.example").read_text()
REQUIRED = {
    "SWAP_KAFKA__BOOTSTRAP_SERVERS": "kafka:9092",
    "SWAP_REDIS__URL": "redis://valkey",
    "SWAP_OPERATOR__TOKEN": "sesame",
    "SWAP_CATALOGUE": "catalogue.yaml",
    "SWAP_API__PORT": "1",
    "SWAP_API__QUOTER_URL": "http://quoter",
    "SWAP_API__KEY_PEPPER": "sixteen characters",
    "SWAP_QUOTER__PORT": "1",
    "SWAP_QUOTER__PRICES_FILE": "prices.json",
    "SWAP_SETTLER__QUOTER_URL": "http://quoter",
    "SWAP_NOTIFIER__SECRET_KEYS": '["a2V5"]',
    "SWAP_DASHBOARD__PORT": "1",
    "SWAP_DASHBOARD__PUBLIC_URL": "http://dashboard",
    "SWAP_DASHBOARD__API_URL": "http://api",
    "SWAP_DASHBOARD__SECRET_KEYS": '["a2V5"]',
}
SERVICES = {
    "api": "ApiSettings",
    "quoter": "QuoterSettings",
    "chain_watcher": "ChainWatcherSettings",
    "settler": "SettlerSettings",
    "notifier": "NotifierSettings",
    "dashboard": "DashboardSettings",
}


@pytest.mark.parametrize("service", SERVICES)
def test_a_commented_line_states_the_default(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind: type[SharedSettings] = getattr(
        import_module(f"swap_{service}.settings"), SERVICES[service]
    )
    own = {
        f"SWAP_{service.upper()}__DATABASE_URL": "postgresql+psycopg://swap@localhost/swap",
        f"SWAP_{service.upper()}__INTERNAL_PORT": "1",
    }
    for name, value in {**REQUIRED, **own}.items():
        monkeypatch.setenv(name, value)
    without = kind()  # type: ignore[call-arg]  # the environment fills it

    stated = dict(re.findall(r"^# (SWAP_\w+)=(.*)$", EXAMPLE, re.M))
    for name, value in stated.items():
        if name not in REQUIRED:
            monkeypatch.setenv(name, value)

    assert "SWAP_KAFKA__CA_FILE" in stated
    assert kind() == without  # type: ignore[call-arg]
