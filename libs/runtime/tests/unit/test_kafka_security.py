"""Accepted kinds of connections to Kafka, and the settings of each client."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest
from faststream.kafka.security import parse_security
from pydantic import SecretStr, ValidationError

from swap_runtime.messaging.consuming import build_broker
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.settings import KafkaSettings

LOGIN = {"username": "settler", "password": "secret"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate and its key."""
    folder = tmp_path_factory.mktemp("pem")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-subj /CN=settler -keyout {folder}/key.pem -out {folder}/certificate.pem"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    (folder / "text").write_text("no certificate")
    return folder


def settings(**members: object) -> KafkaSettings:
    return KafkaSettings.model_validate({"bootstrap_servers": "k:9092"} | members)


def test_connections_are_plain_by_default() -> None:
    assert connection_options(settings()) == {
        "bootstrap_servers": ["k:9092"],
        "security_protocol": "PLAINTEXT",
    }


def test_a_client_logs_in_over_tls_and_verifies_the_broker(folder: Path) -> None:
    kafka = settings(
        security_protocol="SASL_SSL",
        ca_file=folder / "certificate.pem",
        certificate_file=folder / "certificate.pem",
        key_file=folder / "key.pem",
        **LOGIN,
    )

    options = connection_options(kafka)

    context = options.pop("ssl_context")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert [dict(*one["subject"]) for one in context.get_ca_certs()] == [{"commonName": "settler"}]
    assert options == {
        "bootstrap_servers": ["k:9092"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "settler",
        "sasl_plain_password": "secret",
    }


@pytest.mark.parametrize(
    ("protocol", "mechanism", "login"),
    [
        ("PLAINTEXT", "SCRAM-SHA-512", {}),
        ("SSL", "SCRAM-SHA-512", {}),
        ("SASL_PLAINTEXT", "SCRAM-SHA-512", LOGIN),
        ("SASL_SSL", "SCRAM-SHA-512", LOGIN),
        ("SASL_SSL", "PLAIN", LOGIN),
    ],
)
def test_consumers_connect_as_the_other_clients_do(
    protocol: str, mechanism: str, login: dict[str, str]
) -> None:
    kafka = settings(security_protocol=protocol, sasl_mechanism=mechanism, **login)

    security = parse_security(build_broker(kafka).specification.security)

    context = security.pop("ssl_context")
    assert isinstance(context, ssl.SSLContext) == kafka.uses_tls
    options = connection_options(kafka)
    assert security == {
        name: value
        for name, value in options.items()
        if name not in ("bootstrap_servers", "ssl_context")
    }


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"security_protocol": "SASL_SSL"}, "SASL_SSL needs USERNAME and PASSWORD"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "username": "settler"},
            "SASL_PLAINTEXT needs USERNAME and PASSWORD",
        ),
        (LOGIN, "USERNAME and PASSWORD are only used with .* it is PLAINTEXT"),
        ({"security_protocol": "SSL", "password": "secret"}, "only used with .* it is SSL"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", **LOGIN},
            "sends the password in the clear",
        ),
        ({"ca_file": "certificate.pem"}, "CA_FILE.* only used with .* it is PLAINTEXT"),
        (
            {"security_protocol": "SASL_PLAINTEXT", "key_file": "key.pem", **LOGIN},
            "KEY_FILE are only used with .* it is SASL_PLAINTEXT",
        ),
        (
            {"security_protocol": "SSL", "certificate_file": "certificate.pem"},
            "CERTIFICATE_FILE and KEY_FILE belong together",
        ),
        ({"security_protocol": "SSL", "ca_file": "nowhere"}, "nowhere is not a readable PEM file"),
        ({"security_protocol": "SSL", "ca_file": "text"}, "text is not a readable PEM file"),
        (
            {"security_protocol": "SSL", "certificate_file": "text", "key_file": "key.pem"},
            "text and .*key.pem are not a certificate and its key",
        ),
        ({"security_protocol": "TLS"}, "'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "MD5", **LOGIN}, "'SCRAM-SHA-512'"),
    ],
)
def test_wrong_combinations_are_refused_with_a_sentence(
    folder: Path, members: dict[str, str], sentence: str
) -> None:
    files = {
        name: folder / value if name.endswith("_file") else value for name, value in members.items()
    }

    with pytest.raises(ValidationError, match=sentence) as refused:
        settings(**files)

    assert "secret" not in str(refused.value)


def test_the_password_is_never_shown() -> None:
    kafka = settings(security_protocol="SASL_SSL", **LOGIN)

    assert kafka.password == SecretStr("secret")
    assert "secret" not in repr(kafka)
