from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from swap_runtime.setting_files import read_variable
from swap_runtime.settings import ServiceGroup, SharedSettings

ENVIRONMENT = {
    "SWAP_KAFKA__BOOTSTRAP_SERVERS": "kafka:9092",
    "SWAP_REDIS__URL": "redis://valkey",
    "SWAP_OPERATOR__TOKEN": "sesame",
    "SWAP_CATALOGUE": "catalogue.yaml",
    "SWAP_API__INTERNAL_PORT": "9001",
}


class ApiGroup(ServiceGroup):
    key_pepper: SecretStr
    prices_file: Path = Path("prices.json")


class ApiSettings(SharedSettings):
    api: ApiGroup


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    (tmp_path / "url").write_text("postgresql+psycopg://api:secret@postgres/swap\n")
    (tmp_path / "pepper").write_text(" of sixteen characters \n")
    (tmp_path / "nodes").write_text('{"BASE": ["https://node/secret"]}')
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SWAP_API__DATABASE_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("SWAP_API__KEY_PEPPER_FILE", str(tmp_path / "pepper"))
    return monkeypatch


def read() -> ApiSettings:
    return ApiSettings()  # type: ignore[call-arg]  # the environment fills it


class TestSettings:
    def test_are_read_from_files_without_the_last_line_break(self) -> None:
        api = read().api

        assert api.database_url.get_secret_value().endswith("@postgres/swap")
        assert api.key_pepper.get_secret_value() == " of sixteen characters "

    def test_that_are_json_are_read_as_json(
        self, environment: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        environment.setenv("SWAP_NODES_FILE", str(tmp_path / "nodes"))

        assert read().node_urls() == {"BASE": ("https://node/secret",)}

    def test_that_name_a_file_are_not_replaced_by_its_content(
        self, environment: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        environment.setenv("SWAP_API__PRICES_FILE", str(tmp_path / "url"))

        assert read().api.prices_file == tmp_path / "url"

    def test_of_another_service_are_not_read(self, environment: pytest.MonkeyPatch) -> None:
        environment.setenv("SWAP_NOTIFIER__SECRET_KEYS_FILE", "/not/there")

        assert read().api.internal_port == 9001

    def test_are_refused_when_the_value_is_given_too(self, environment: pytest.MonkeyPatch) -> None:
        environment.setenv("SWAP_API__KEY_PEPPER", "another of sixteen")

        with pytest.raises(ValueError, match="KEY_PEPPER_FILE are both set") as it:
            read()

        assert "sixteen" not in str(it.value)

    def test_whose_file_is_missing_are_refused_by_name(
        self, environment: pytest.MonkeyPatch
    ) -> None:
        environment.setenv("SWAP_API__KEY_PEPPER_FILE", "/not/there")

        with pytest.raises(ValueError, match="SWAP_API__KEY_PEPPER_FILE: /not/there"):
            read()

    def test_whose_name_is_misspelled_are_refused(self, environment: pytest.MonkeyPatch) -> None:
        environment.setenv("SWAP_API__KEY_PEPER_FILE", "/not/there")

        with pytest.raises(ValidationError):
            read()


class TestReadVariable:
    def test_reads_the_variable_or_its_file(self, tmp_path: Path) -> None:
        named = {"URL_FILE": str(tmp_path / "url")}

        assert read_variable({"URL": "x", "URL_FILE": ""}, "URL") == "x"
        assert read_variable(named, "URL").startswith("postgresql+psycopg://")
        with pytest.raises(KeyError):
            read_variable({}, "URL")
        with pytest.raises(ValueError, match="both"):
            read_variable({"URL": "x", **named}, "URL")
