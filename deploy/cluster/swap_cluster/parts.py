"""The processes of the cluster: control plane, node and names."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from swap_cluster.kubectl import get, kubectl
from swap_cluster.machine import cni_folder
from swap_cluster.settings import (
    API_PORT,
    BINARIES,
    CONTAINERD_SOCKET,
    HOST,
    NODE,
    PKI,
    PLACES,
    SERVICES,
    render_template,
)
from swap_stack.daemon import Daemon
from swap_stack.ports import Ports
from swap_stack.processes import Registry
from swap_stack.programs import ProgramFailed, run_to_end

KUBE = str(BINARIES / "kube")
Probe = Callable[[], Awaitable[bool]]


class ClusterPart(Daemon):
    """One process of the cluster."""

    ready_seconds = 90.0

    def __init__(self, name: str, command: Sequence[str], probe: Probe | None = None) -> None:
        super().__init__(name, PLACES, Registry(PLACES.processes_file))
        self._command = command
        self._probe = probe

    async def start(self) -> None:
        path = f"{BINARIES}:/usr/sbin:/usr/bin:/sbin:/bin"  # containerd looks for its shim there
        self.spawn(self._command, env={"PATH": path})

    async def probe(self) -> bool:
        return self.is_running() if self._probe is None else await self._probe()


def write_configuration() -> None:
    """Write the files that the processes read."""
    for folder in ("cni", "log", "volumes"):
        (PLACES.var / folder).mkdir(parents=True, exist_ok=True)
    places = {"CNI": cni_folder(), "RUNC": shutil.which("runc")}
    for name in ("containerd.toml", "kubelet.yaml", "Corefile"):
        (PLACES.var / name).write_text(render_template(name, **places))
    (PLACES.var / "cni/pods.conflist").write_text(render_template("pods.conflist"))


def control_plane() -> tuple[ClusterPart, ...]:
    ports = Ports(PLACES.ports_file)
    clients, peers = (f"http://127.0.0.1:{ports.take(name)}" for name in ("etcd", "etcd-peers"))
    return (
        ClusterPart(
            "etcd",
            [
                *(KUBE, "etcd", f"--data-dir={PLACES.var / 'etcd'}", "--unsafe-no-fsync"),
                *(f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"),
                *(f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"),
                f"--initial-cluster=default={peers}",
            ],
            _url_probe(f"{clients}/health"),
        ),
        ClusterPart(
            "kube-apiserver",
            [
                *(KUBE, "kube-apiserver", f"--etcd-servers={clients}"),
                *(f"--bind-address={HOST}", f"--advertise-address={HOST}"),
                *(f"--secure-port={API_PORT}", "--allow-privileged"),
                "--kubelet-preferred-address-types=InternalIP",
                *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
                f"--service-cluster-ip-range={SERVICES}",
                "--service-account-issuer=https://kubernetes.default.svc",
                *_files(
                    {
                        "client-ca-file": "ca.crt",
                        "tls-cert-file": "api-server.crt",
                        "tls-private-key-file": "api-server.key",
                        "kubelet-client-certificate": "kubelet-client.crt",
                        "kubelet-client-key": "kubelet-client.key",
                        "service-account-key-file": "accounts.pub",
                        "service-account-signing-key-file": "accounts.key",
                    }
                ),
            ],
            _is_served,
        ),
        ClusterPart(
            "kube-controller-manager",
            [
                *(
                    KUBE,
                    "kube-controller-manager",
                    f"--bind-address={HOST}",
                    "--leader-elect=false",
                ),
                "--use-service-account-credentials",
                *_files(
                    {
                        "kubeconfig": "controller-manager.conf",
                        "root-ca-file": "ca.crt",
                        "service-account-private-key-file": "accounts.key",
                    }
                ),
            ],
        ),
        ClusterPart(
            "kube-scheduler",
            [
                *(KUBE, "kube-scheduler", f"--bind-address={HOST}", "--leader-elect=false"),
                *_files({"kubeconfig": "scheduler.conf"}),
            ],
        ),
    )


def containerd() -> ClusterPart:
    return ClusterPart(
        "containerd",
        [str(BINARIES / "containerd"), f"--config={PLACES.var / 'containerd.toml'}"],
        _containerd_answers,
    )


def node() -> tuple[ClusterPart, ...]:
    return (
        ClusterPart(
            "kubelet",
            [
                *(KUBE, "kubelet", f"--config={PLACES.var / 'kubelet.yaml'}"),
                *(f"--hostname-override={NODE}", f"--node-ip={HOST}"),
                *(
                    f"--root-dir={PLACES.var / 'kubelet'}",
                    f"--cert-dir={PLACES.var / 'kubelet-pki'}",
                ),
                *_files({"kubeconfig": "kubelet.conf"}),
            ],
            _node_is_ready,
        ),
        ClusterPart(
            "kube-proxy",
            [
                *(KUBE, "kube-proxy", f"--hostname-override={NODE}", "--proxy-mode=nftables"),
                *(f"--healthz-bind-address={HOST}:10256", f"--metrics-bind-address={HOST}:10249"),
                # Limits of the whole machine stay as they are.
                *("--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0"),
                "--conntrack-tcp-timeout-close-wait=0",
                *_files({"kubeconfig": "proxy.conf"}),
            ],
            _url_probe(f"http://{HOST}:10256/healthz"),
        ),
        ClusterPart(
            "coredns",
            [str(BINARIES / "coredns"), f"-conf={PLACES.var / 'Corefile'}"],
            _url_probe(f"http://{HOST}:8181/ready"),
        ),
    )


async def ctr(*arguments: str) -> str:
    """Return what containerd's own client wrote about the images and containers of pods.

    :raises ProgramFailed: when it ends with an error.
    """
    socket = f"--address={CONTAINERD_SOCKET}"
    return await run_to_end([str(BINARIES / "ctr"), socket, "--namespace=k8s.io", *arguments])


def _files(flags: dict[str, str]) -> list[str]:
    return [f"--{flag}={PKI / name}" for flag, name in flags.items()]


def _url_probe(url: str) -> Probe:
    async def probe() -> bool:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session,
                session.get(url) as answer,
            ):
                return answer.ok
        except (aiohttp.ClientError, TimeoutError):
            return False

    return probe


async def _is_served() -> bool:
    try:
        await kubectl("get", "--raw=/readyz")
    except ProgramFailed:
        return False
    return True


async def _containerd_answers() -> bool:
    try:
        await ctr("version")
    except ProgramFailed:
        return False
    return True


async def _node_is_ready() -> bool:
    try:
        conditions = (await get("node", NODE))["status"].get("conditions", ())
    except ProgramFailed:
        return False
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)
