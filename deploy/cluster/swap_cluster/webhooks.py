"""Webhooks on the cluster: what the sample receiver verifies with, and what it received."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from swap_cluster.deployment import NAMESPACE
from swap_cluster.kubectl import kubectl, kubectl_command
from swap_cluster.settings import PLACES
from swap_stack.daemon import StackError
from swap_stack.partners import Hook
from swap_stack.programs import ProgramFailed

COPY: Final = PLACES.var / "webhooks.jsonl"
HOOK: Final = Hook("http://127.0.0.1:8090/hooks", PLACES.display_path(COPY))
IN_THE_POD: Final = ("--namespace", NAMESPACE, "exec", "deployment/notifier", "-c")
RECEIVER: Final = "webhook-receiver"
SECRET_FILE: Final = "/run/secrets/webhooks/secret"
RECEIVED: Final = "/received/deliveries.jsonl"
TIMEOUT_SECONDS: Final = 150.0
POLL_SECONDS: Final = 0.5
LINE_BYTES: Final = 2**20


async def set_secret(secret: str) -> None:
    """Give the sample receiver what it verifies with, and wait until its pod has it.

    :raises StackError: when the pod does not have it in time.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": RECEIVER, "namespace": NAMESPACE},
        "stringData": {"secret": secret},
    }
    await kubectl("apply", "--filename=-", text=json.dumps(document))
    # A pod that changes gets its volumes at once; otherwise they are a minute or two behind.
    version = sha256(secret.encode()).hexdigest()[:12]
    await kubectl(
        *("--namespace", NAMESPACE, "annotate", "pods", "--overwrite"),
        *("--selector=app.kubernetes.io/name=notifier", f"webhook-receiver/secret={version}"),
    )
    deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
    while await _secret_in_the_pod() != secret:
        if asyncio.get_running_loop().time() > deadline:
            raise StackError("The notifier's pod did not get the secret of the sample receiver.")
        await asyncio.sleep(POLL_SECONDS)


async def _secret_in_the_pod() -> str:
    try:
        return (await kubectl(*IN_THE_POD, RECEIVER, "--", "cat", SECRET_FILE)).strip()
    except ProgramFailed:
        return ""


@asynccontextmanager
async def copying_webhooks(to: Path = COPY) -> AsyncIterator[None]:
    """Copy what the sample receiver accepted, line by line, while the body runs."""
    process = await asyncio.create_subprocess_exec(
        *kubectl_command(*IN_THE_POD, RECEIVER, "--", "tail", "-n", "+1", "-F", RECEIVED),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LINE_BYTES,
    )
    assert process.stdout is not None
    task = asyncio.create_task(_copy(process.stdout, to))
    try:
        yield
    finally:
        process.kill()
        await process.wait()
        await task


async def _copy(lines: asyncio.StreamReader, to: Path) -> None:
    """Write whole lines: readers of the file expect no part of one."""
    with to.open("wb", buffering=0) as file:
        async for line in lines:
            if line.endswith(b"\n"):
                file.write(line)
