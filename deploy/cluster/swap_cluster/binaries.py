"""Builds Kubernetes, etcd, containerd and CoreDNS from Go modules, once for each version."""

from __future__ import annotations

from dataclasses import dataclass

from swap_cluster.machine import binaries_are_built
from swap_cluster.settings import BINARIES, SOURCE
from swap_stack.programs import run_to_end
from swap_stack.report import Report

KUBERNETES = "v1.37.2"  # of binaries/kube/go.mod
VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True, slots=True)
class Module:
    """One Go module below `binaries`, and what is built in it."""

    folder: str
    packages: tuple[str, ...]
    results: tuple[str, ...]
    duration: str  # on two idle cores
    flags: tuple[str, ...] = ("-ldflags=-s -w",)


CONTAINERD = "github.com/containerd/containerd/v2/cmd"
RESULTS = ("containerd", "containerd-shim-runc-v2", "ctr")
MAJOR, MINOR, _ = KUBERNETES.removeprefix("v").split(".")
MODULES = (
    Module(
        "containerd",
        tuple(f"{CONTAINERD}/{name}" for name in RESULTS),
        RESULTS,
        "two minutes",
        ("-tags=no_btrfs,no_devmapper,no_zfs", "-ldflags=-s -w"),
    ),
    Module("coredns", (".",), ("coredns",), "two minutes"),
    Module(  # etcd and every program of Kubernetes in one
        "kube",
        (".",),
        ("kube",),
        "nine minutes",
        (
            f"-ldflags=-s -w -X {VERSION_PACKAGE}.gitVersion={KUBERNETES}"
            f" -X {VERSION_PACKAGE}.gitMajor={MAJOR} -X {VERSION_PACKAGE}.gitMinor={MINOR}",
        ),
    ),
)


async def build(report: Report) -> None:
    """Build what is missing, one module after the other.

    :raises ProgramFailed: with what the compiler wrote.
    """
    if binaries_are_built():
        return
    BINARIES.mkdir(parents=True, exist_ok=True)
    for module in MODULES:
        if all((BINARIES / name).is_file() for name in module.results):
            continue
        report.print_step(f"building {module.folder}", f"about {module.duration} on two idle cores")
        with report.time_step(f"built {module.folder}"):
            await run_to_end(
                [
                    *("nice", "-n", "10"),
                    *("go", "-C", str(SOURCE / "binaries" / module.folder), "build"),
                    *("-trimpath", "-mod=readonly", *module.flags),
                    *("-o", f"{BINARIES}/", *module.packages),
                ],
                env={"CGO_ENABLED": "0"},
            )
