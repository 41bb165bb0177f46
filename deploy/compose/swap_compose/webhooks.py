"""The partners with the account of their dashboard, and who receives their webhooks."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import orjson

from swap_compose.places import (
    GATEWAY_URL,
    NODE_URLS,
    RECEIVED,
    RECEIVER_PORT,
    RECEIVER_URL,
    SANDBOX,
    SANDBOX_PORT,
    SANDBOX_RECEIVED,
    SANDBOX_URL,
    STACK,
    InsidePorts,
)
from swap_stack import partners
from swap_stack.account import make_account
from swap_stack.files import read_json
from swap_stack.keys import load_or_make
from swap_stack.partners import DEMO, Hook, Operator
from swap_stack.sandbox.settings import SANDBOX as SANDBOX_NAME

POLL_SECONDS = 0.2
# Where both store what they were sent, for users of the host.
ON_HOST = "var/webhooks"


def make_partners() -> None:
    """Make the partners that are missing, and the account; they are kept over restarts."""
    secrets = load_or_make(STACK.secrets_file)
    operator = Operator.of_ports(InsidePorts.all(), secrets.operator_token)
    hooks = {
        DEMO: Hook(RECEIVER_URL, f"{ON_HOST}/{RECEIVED.name}"),
        SANDBOX_NAME: Hook(SANDBOX_URL, f"{ON_HOST}/{SANDBOX_RECEIVED.name}"),
    }
    partners.make_partners(STACK.partners_file, operator, hooks)
    dashboard = InsidePorts.all().internal_url("dashboard")
    token, password = secrets.operator_token, secrets.dashboard_password
    asyncio.run(make_account(operator, dashboard, token=token, password=password))


def run_receiver() -> None:
    """Become the sample receiver, once there is a secret to verify with."""
    rows: list[dict[str, Any]] | None
    while (rows := read_json(STACK.partners_file)) is None:
        time.sleep(POLL_SECONDS)
    variables = {"WEBHOOK_SECRET": rows[0]["webhook"]["secret"], "RECEIVED": str(RECEIVED)}
    _exec_module("swap_stack.receiver", "--port", str(RECEIVER_PORT), variables=variables)


def run_sandbox() -> None:
    """Become the sandbox."""
    _exec_module(
        "swap_stack.sandbox",
        variables={
            "SANDBOX_GATEWAY": GATEWAY_URL,
            "SANDBOX_NODES": orjson.dumps(NODE_URLS).decode(),
            "SANDBOX_PARTNERS": str(STACK.partners_file),
            "SANDBOX_KEYS": str(SANDBOX / "keys"),
            "SANDBOX_JOURNAL": str(SANDBOX / "paid"),
            "SANDBOX_PORT": str(SANDBOX_PORT),
            "RECEIVED": str(SANDBOX_RECEIVED),
        },
    )


def _exec_module(module: str, *arguments: str, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", module, *arguments]
    os.execve(command[0], command, {**os.environ, **variables})
