"""The Kubernetes of this machine.

python -m swap_cluster up        start it
python -m swap_cluster down      end it, and remove its data
python -m swap_cluster demo      start it, deploy images and overlays/dev, send swaps of each method
python -m swap_cluster images    build the images and load them into containerd
python -m swap_cluster compose-images    build those of docker-compose.yml and load them into Docker
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

from swap_cluster.cluster import start_cluster, stop_cluster
from swap_cluster.demo import run_demo
from swap_cluster.images import load_compose_images, load_images
from swap_stack.daemon import StackError
from swap_stack.programs import ProgramFailed
from swap_stack.report import Report

VERBS: dict[str, Callable[[Report], Awaitable[None]]] = {
    "up": start_cluster,
    "down": stop_cluster,
    "demo": run_demo,
    "images": load_images,
    "compose-images": load_compose_images,
}


def main(arguments: list[str]) -> None:
    """
    :raises SystemExit: with one sentence, when something is missing or fails.
    """
    if len(arguments) != 1 or arguments[0] not in VERBS:
        sys.exit(__doc__)
    try:
        asyncio.run(_run(VERBS[arguments[0]]))
    except (StackError, ProgramFailed) as error:
        sys.exit(str(error))


async def _run(verb: Callable[[Report], Awaitable[None]]) -> None:
    await verb(Report())


if __name__ == "__main__":
    main(sys.argv[1:])
