"""What the machine has to have, and the bridge that its pods are connected to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from swap_cluster.settings import BINARIES, BRIDGE, CNI_FOLDERS, HOST, PODS
from swap_stack.daemon import StackError
from swap_stack.programs import ProgramFailed, run_to_end

PROGRAMS = {
    "runc": "runc",
    "nft": "nftables",
    "conntrack": "conntrack",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "openssl": "openssl",
}
IMAGE_PROGRAMS = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
DOCKER_PROGRAMS = {"docker": "docker.io", "caddy": "caddy"}
BINARY_NAMES = ("kube", "containerd", "containerd-shim-runc-v2", "ctr", "coredns")


def unavailable_reason() -> str | None:
    """Say in one sentence why no cluster can run here, or nothing when it can."""
    if os.geteuid() != 0:
        return "A cluster needs root: it makes network devices, mounts and cgroups."
    if not binaries_are_built() and shutil.which("go") is None:
        return "A cluster needs Go once, to build Kubernetes: install Go 1.26 or newer."
    missing = _packages_of(PROGRAMS)
    if not any((folder / "bridge").is_file() for folder in CNI_FOLDERS):
        missing.append("containernetworking-plugins")
    if missing:
        return f"A cluster needs these packages: apt-get install {' '.join(missing)}"
    return None


def images_unavailable_reason() -> str | None:
    """Say in one sentence why no image can be built here, or nothing when one can."""
    missing = _packages_of(IMAGE_PROGRAMS)
    return f"Images need these packages: apt-get install {' '.join(missing)}" if missing else None


def docker_unavailable_reason() -> str | None:
    """Say in one sentence why Docker cannot get its images here, or nothing when it can."""
    if os.geteuid() != 0:
        return "Images for Docker need root: their files have owners of their own."
    missing = _packages_of(DOCKER_PROGRAMS)
    return f"Compose needs these packages: apt-get install {' '.join(missing)}" if missing else None


def binaries_are_built() -> bool:
    return all((BINARIES / name).is_file() for name in BINARY_NAMES)


def require(reason: str | None) -> None:
    """
    :raises StackError: with the reason, when there is one.
    """
    if reason is not None:
        raise StackError(reason)


def cni_folder() -> Path:
    return next(folder for folder in CNI_FOLDERS if (folder / "bridge").is_file())


async def make_bridge() -> None:
    """Make the pods' bridge with its address, and let the machine pass packets on."""
    if not _has_bridge():
        await run_to_end(["ip", "link", "add", BRIDGE, "type", "bridge"])
        await run_to_end(
            ["ip", "address", "add", f"{HOST}/{PODS.partition('/')[2]}", "dev", BRIDGE]
        )
    await run_to_end(["ip", "link", "set", BRIDGE, "up"])
    await run_to_end(["sysctl", "--quiet", "-w", "net.ipv4.ip_forward=1"])


async def remove_network() -> None:
    """Remove the bridge, and what kube-proxy wrote for Services."""
    for command in (
        ["ip", "link", "delete", BRIDGE],
        ["nft", "delete", "table", "ip", "kube-proxy"],
        ["nft", "delete", "table", "ip6", "kube-proxy"],
    ):
        await _run_if_possible(command)


async def unmount_below(folder: Path) -> None:
    """Unmount what containers had mounted, the newest first."""
    for place in sorted(_mounts_below(folder), key=len, reverse=True):
        await _run_if_possible(["umount", "--lazy", place])


def _has_bridge() -> bool:
    return Path(f"/sys/class/net/{BRIDGE}").exists()


def _mounts_below(folder: Path) -> list[str]:
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [place for place in places if place.startswith(f"{folder}/")]


async def _run_if_possible(command: Sequence[str]) -> None:
    with suppress(ProgramFailed):  # it is gone already
        await run_to_end(command)


def _packages_of(programs: dict[str, str]) -> list[str]:
    return [package for name, package in programs.items() if shutil.which(name) is None]
