"""Secrets of the stack, created once and stored in volumes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from swap_compose.kafka import login_settings
from swap_compose.places import POSTGRES_PASSWORD, SERVICE_SECRETS, STACK
from swap_stack.database import FORGET_VIEWS
from swap_stack.files import write_json, write_private
from swap_stack.keys import Secrets, load_or_make
from swap_stack.operators import operator_settings
from swap_stack.services import ON_KAFKA, SERVICES
from swap_stack.settings import secret_settings

DATABASE = "swap"
ROLES = Path("/roles.sql")


def make_secrets() -> None:
    """Make what is missing, and give each reader a file of its own form."""
    secrets = load_or_make(STACK.secrets_file)
    password = secrets.postgres_password
    write_private(POSTGRES_PASSWORD, password.encode())
    write_private(STACK.var / "pgpass", f"*:*:*:postgres:{password}\n".encode())
    write_private(STACK.var / "roles.psql", roles_script(secrets).encode())
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
    return {
        **operator_settings(secrets),
        **(login_settings(name, secrets, environ) if name in ON_KAFKA else {}),
        f"SWAP_{name.upper()}__DATABASE_URL": database_url(name, secrets),
        **secret_settings(secrets).get(name, {}),
    }


def database_url(role: str, secrets: Secrets) -> str:
    password = secrets.role_passwords[role]
    return f"postgresql+psycopg://{role}:{password}@postgres:5432/{DATABASE}"


def superuser_url(secrets: Secrets) -> str:
    return f"postgresql://postgres:{secrets.postgres_password}@postgres:5432/{DATABASE}"
