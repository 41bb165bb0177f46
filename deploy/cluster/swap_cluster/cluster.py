"""Starts and ends the cluster."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from swap_cluster.binaries import build
from swap_cluster.certificates import make_certificates
from swap_cluster.images import import_pause
from swap_cluster.machine import (
    make_bridge,
    remove_network,
    require,
    unavailable_reason,
    unmount_below,
)
from swap_cluster.parts import containerd, control_plane, ctr, node, write_configuration
from swap_cluster.settings import ADMIN, BINARIES, PLACES
from swap_cluster.volumes import provide_volumes
from swap_stack.processes import Registry, end, record_of
from swap_stack.programs import ProgramFailed
from swap_stack.report import Report

SHIM = str(BINARIES / "containerd-shim-runc-v2")


async def start_cluster(report: Report) -> None:
    """Start what does not run yet.

    :raises StackError: when the machine lacks something, or a part does not become ready.
    """
    require(unavailable_reason())
    await build(report)
    await make_certificates()
    await make_bridge()
    write_configuration()
    for part in (*control_plane(), containerd(), *node()):
        if part.is_running():
            continue
        if part.name == "kubelet":
            await import_pause()
        with report.time_step(part.name):
            await part.start()
            await part.ready()
    await provide_volumes()
    report.print_step("cluster", f"export KUBECONFIG={PLACES.display_path(ADMIN)}")


async def stop_cluster(report: Report) -> None:
    """End every process, and remove what the cluster made but for its binaries and images."""
    if not PLACES.var.exists():
        return
    registry = Registry(PLACES.processes_file)
    records = {record.name: record for record in registry.list_alive()}
    # The kubelet first: it would start pods again. Containers next: containerd leaves them alone.
    if "kubelet" in records:
        await end(records.pop("kubelet"))
    if "containerd" in records:
        await _end_containers()
    for record in reversed(records.values()):
        await end(record)
    await _end_shims()
    await unmount_below(PLACES.var)
    await remove_network()
    _remove_cgroups()
    shutil.rmtree(PLACES.var)
    report.print_step("cluster", "stopped; its binaries and images stay in .cache/cluster")


async def _end_containers() -> None:
    for task in (await ctr("tasks", "list", "--quiet")).split():
        try:
            await ctr("tasks", "delete", "--force", task)
        except ProgramFailed:
            continue  # it ended meanwhile


async def _end_shims() -> None:
    for shim in list(_shims()):
        with suppress(ProcessLookupError):
            await end(record_of("shim", shim, signal.SIGKILL.name, 5))


def _shims() -> Iterator[int]:
    """Yield the processes that containerd started beside each pod; they outlive it."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cmdline").read_bytes().split(b"\0")[0].decode() == SHIM:
                yield int(process.name)


def _remove_cgroups() -> None:
    """Remove the empty groups of pods, the innermost first."""
    for root in Path("/sys/fs/cgroup").glob("**/kubepods"):
        for group in sorted((*root.rglob("*/"), root), key=lambda each: -len(each.parts)):
            try:
                group.rmdir()
            except OSError:
                continue
