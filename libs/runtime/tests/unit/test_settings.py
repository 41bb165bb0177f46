from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from swap_runtime.settings import ServiceGroup, SharedSettings

ENVIRONMENT = {
    "SWAP_KAFKA__BOOTSTRAP_SERVERS": "k:9092",
    "SWAP_REDIS__URL": "redis://:secret@r",
    "SWAP_OPERATOR__TOKEN": "secret",
    "SWAP_CATALOGUE": "catalogue.yaml",
    "SWAP_NODES": '{"BASE_DEVNET": ["https://node/secret"]}',
    "SWAP_SETTLER__DATABASE_URL": "postgresql+psycopg://u:secret@p/swap",
    "SWAP_SETTLER__INTERNAL_PORT": "9001",
    "SWAP_API__KEY_HEADERS": '["X-SVC-APIKEY"]',
}


class SettlerSettings(SharedSettings):
    settler: ServiceGroup


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def read() -> SettlerSettings:
    return SettlerSettings()  # type: ignore[call-arg]


class TestSharedSettings:
    def test_reads_its_own_prefix_and_the_shared_groups(self) -> None:
        settings = read()

        assert settings.settler.internal_port == 9001
        assert settings.kafka.bootstrap_servers == "k:9092"
        assert settings.node_urls() == {"BASE_DEVNET": ("https://node/secret",)}

    def test_prints_no_secret(self) -> None:
        assert "secret" not in repr(read())

    def test_reads_durations(self, environment: pytest.MonkeyPatch) -> None:
        environment.setenv("SWAP_SWEEP__IDLE_AFTER", "PT1.5S")

        assert read().sweep.idle_after == timedelta(seconds=1.5)

    def test_an_empty_value_counts_as_absent(self, environment: pytest.MonkeyPatch) -> None:
        for name in ("SECURITY_PROTOCOL", "CA_FILE", "CERTIFICATE_FILE", "KEY_FILE"):
            environment.setenv(f"SWAP_KAFKA__{name}", "")

        kafka = read().kafka

        assert (kafka.security_protocol, kafka.ca_file) == ("PLAINTEXT", None)
        assert (kafka.certificate_file, kafka.key_file) == (None, None)

    def test_refuses_a_misspelled_member(self, environment: pytest.MonkeyPatch) -> None:
        environment.setenv("SWAP_SETTLER__INTERNAL_PROT", "3")

        with pytest.raises(ValidationError):
            read()
