"""Settings for tests that start no process."""

from __future__ import annotations

from pathlib import Path

import pytest

from swap_chain_watcher.settings import ChainWatcherSettings


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ChainWatcherSettings:
    for name, value in {
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SWAP_REDIS__URL": "redis://127.0.0.1:1",
        "SWAP_OPERATOR__TOKEN": "operator",
        "SWAP_CATALOGUE": str(tmp_path / "catalogue.yaml"),
        "SWAP_CHAIN_WATCHER__DATABASE_URL": "postgresql+psycopg://nobody@127.0.0.1:1/none",
        "SWAP_CHAIN_WATCHER__INTERNAL_PORT": "0",
    }.items():
        monkeypatch.setenv(name, value)
    return ChainWatcherSettings()  # type: ignore[call-arg]  # from the environment
