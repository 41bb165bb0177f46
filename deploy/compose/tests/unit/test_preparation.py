"""The failures of the job that prepares development chains."""

from __future__ import annotations

from pathlib import Path

import pytest
from swap_compose import __main__ as jobs
from swap_compose import preparation
from swap_compose.places import NODE_URLS, HostPorts

from swap_stack.daemon import StackError
from swap_stack.files import write_json
from swap_stack.node import NodeError
from swap_stack.places import Places
from swap_stack.services import ServicePorts

PORTS = HostPorts(ServicePorts({}, {}), chains={}, postgres=0, kafka=0, valkey=0)


async def test_contracts_of_another_release_are_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = Places(tmp_path)
    write_json(stack.deployment_file, {network: {} for network in NODE_URLS})
    monkeypatch.setattr(preparation, "STACK", stack)

    with pytest.raises(StackError, match="another release"):
        await preparation.prepare_chains(PORTS)


def test_a_node_that_refuses_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NodeError("eth_sendTransaction: out of funds")

    monkeypatch.setitem(jobs.JOBS, "chains", refuse)

    with pytest.raises(SystemExit, match="out of funds"):
        jobs.main(["chains"])
