"""The jobs of docker-compose.yml.

python -m swap_compose
    secrets|host-files|migrations|topics|chains|invariants|partners|receiver|sandbox|stack-file
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable

import structlog

from swap_compose.host import keep_stack_file, prepare_host_files
from swap_compose.places import HostPorts
from swap_compose.preparation import make_topics, migrate_all, prepare_chains, show_invariants
from swap_compose.secrets import make_secrets
from swap_compose.webhooks import make_partners, run_receiver, run_sandbox
from swap_stack.daemon import StackError
from swap_stack.node import NodeError

JOBS: dict[str, Callable[[], None]] = {
    "secrets": make_secrets,
    "host-files": prepare_host_files,
    "migrations": migrate_all,
    "topics": lambda: asyncio.run(make_topics(os.environ)),
    "chains": lambda: asyncio.run(prepare_chains(HostPorts.from_environment())),
    "invariants": lambda: asyncio.run(show_invariants()),
    "partners": make_partners,
    "receiver": run_receiver,
    "sandbox": run_sandbox,
    "stack-file": lambda: asyncio.run(keep_stack_file(HostPorts.from_environment())),
}


def main(arguments: list[str]) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    if len(arguments) != 1 or arguments[0] not in JOBS:
        sys.exit(__doc__)
    try:
        JOBS[arguments[0]]()
    except (NodeError, StackError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
