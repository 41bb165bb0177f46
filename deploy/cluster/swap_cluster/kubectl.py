"""kubectl against the cluster of this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from swap_cluster.settings import ADMIN
from swap_stack.programs import run_to_end

KUBECTL = str(Path(sys.executable).with_name("kubectl"))


def kubectl_command(*arguments: str) -> list[str]:
    """Return the command line of kubectl against this cluster."""
    return [KUBECTL, f"--kubeconfig={ADMIN}", *arguments]


async def kubectl(*arguments: str, text: str = "") -> str:
    """Return what kubectl wrote.

    :raises ProgramFailed: when it ends with an error.
    """
    return await run_to_end(kubectl_command(*arguments), text=text)


async def get(*arguments: str) -> Any:
    """Return objects as JSON has them.

    :raises ProgramFailed: when there is none.
    """
    return json.loads(await kubectl("get", *arguments, "--output=json"))
