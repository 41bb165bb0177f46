"""Secrets of the stack, created once and stored in volumes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from swap_compose.kafka import login_settings
from swap_compose.places import POSTGRES_PASSWORD, SERVICE_SECRETS, STACK
from swap_stack.database import FORGET_VIEWS
from swap_stack.files import PRIVATE, write_json
from swap_stack.keys import Secrets, key_of, load_or_make
from swap_stack.operators import operator_settings
from swap_stack.services import ON_KAFKA, SERVICES

DATABASE = "swap"
ROLES = Path("/roles.sql")


def make_secrets() -> None:
    """Make what is missing, and give each reader a file of its own form."""
    secrets = load_or_make(STACK.secrets_file)
    write_private(POSTGRES_PASSWORD, secrets.postgres_password)
    write_private(STACK.var / "pgpass", f"*:*:*:postgres:{secrets.postgres_password}\n")
    write_private(STACK.var / "roles.psql", roles_script(secrets))
    for name in SERVICES:
        write_json(SERVICE_SECRETS / f"{name}.json", service_secrets(name, secrets, os.environ))


def roles_script(secrets: Secrets) -> str:
    """Return what psql runs. Passwords as arguments could be read in a list of processes."""
    lines = [f"\\set {role}_password {word}" for role, word in secrets.role_passwords.items()]
    return "\n".join(["\\set ON_ERROR_STOP on", *lines, f"\\i {ROLES}", FORGET_VIEWS, ""])


def service_secrets(name: str, secrets: Secrets, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a service that may not stand in docker-compose.yml.

    :param environ: says whether the broker asks for a login.
    """
    variables = {
        **operator_settings(secrets),
        **(login_settings(name, secrets, environ) if name in ON_KAFKA else {}),
        f"SWAP_{name.upper()}__DATABASE_URL": database_url(name, secrets),
    }
    if name == "api":
        variables["SWAP_API__NOTIFIER_TOKEN"] = secrets.api_token
        variables["SWAP_API__KEY_PEPPER"] = secrets.key_pepper
        variables["SWAP_API__PAY_LINK_KEYS"] = orjson.dumps([secrets.pay_link_key]).decode()
    if name == "notifier":
        variables["SWAP_NOTIFIER__SECRET_KEYS"] = orjson.dumps([secrets.webhook_key]).decode()
    if name == "dashboard":
        variables["SWAP_DASHBOARD__SECRET_KEYS"] = orjson.dumps([secrets.dashboard_key]).decode()
    if name == "settler":
        signer = key_of(secrets.signer_key)
        keys = orjson.dumps({signer.address: signer.private_key}).decode()
        variables["SWAP_SETTLER__SIGNER_KEYS"] = keys
    return variables


def database_url(role: str, secrets: Secrets) -> str:
    password = secrets.role_passwords[role]
    return f"postgresql+psycopg://{role}:{password}@postgres:5432/{DATABASE}"


def superuser_url(secrets: Secrets) -> str:
    return f"postgresql://postgres:{secrets.postgres_password}@postgres:5432/{DATABASE}"


def write_private(path: Path, text: str) -> None:
    """Write a file that its owner alone may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
        file.write(text)
    fresh.replace(path)
