"""Two partners, and the receiver that the first one's webhooks go to."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from swap_compose.places import (
    RECEIVED,
    RECEIVER_PORT,
    RECEIVER_URL,
    STACK,
    InsidePorts,
)
from swap_stack.files import read_json, write_json
from swap_stack.keys import load_or_make
from swap_stack.partners import Operator, register_partners

POLL_SECONDS = 0.2
RECEIVED_ON_HOST = "var/webhooks/demo.jsonl"


def make_partners() -> None:
    """Make the partners once; they are kept over restarts."""
    if read_json(STACK.partners_file) is None:
        token = load_or_make(STACK.secrets_file).operator_token
        operator = Operator(InsidePorts.all(), token)
        partners = register_partners(operator, webhook_url=RECEIVER_URL, received=RECEIVED_ON_HOST)
        write_json(STACK.partners_file, partners)


def receive() -> None:
    """Become the sample receiver, once there is a secret to verify with."""
    partners: list[dict[str, Any]] | None
    while (partners := read_json(STACK.partners_file)) is None:
        time.sleep(POLL_SECONDS)
    told = {"WEBHOOK_SECRET": partners[0]["webhook"]["secret"], "RECEIVED": str(RECEIVED)}
    command = [sys.executable, "-m", "swap_stack.receiver", "--port", str(RECEIVER_PORT)]
    os.execve(command[0], command, {**os.environ, **told})
