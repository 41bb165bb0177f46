"""Where the cluster of this machine is, and the addresses that it uses."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final

from swap_stack.places import ROOT, Places

PLACES: Final = Places(ROOT / "var/cluster")
SOURCE: Final = ROOT / "deploy/cluster"
CACHE: Final = ROOT / ".cache/cluster"
BINARY_SOURCES: Final = b"".join(path.read_bytes() for path in sorted(SOURCE.glob("binaries/*/*")))
BINARIES: Final = CACHE / "bin" / sha256(BINARY_SOURCES).hexdigest()[:12]  # rebuilt after a change
PKI: Final = PLACES.var / "pki"
VOLUMES: Final = PLACES.var / "volumes"
ADMIN: Final = PKI / "admin.conf"
CONTAINERD_SOCKET: Final = PLACES.var / "containerd.sock"

BRIDGE: Final = "swap0"
PODS: Final = "10.244.0.0/24"
HOST: Final = "10.244.0.1"  # of the bridge: everything listens there, and no other machine sees it
SERVICES: Final = "10.96.0.0/16"
FIRST_SERVICE: Final = "10.96.0.1"  # of the API server
API_PORT: Final = 6443
NODE: Final = "node"
CNI_FOLDERS: Final = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def render_template(name: str, **values: object) -> str:
    """Return a file of `configuration`, with its `@NAMES@` replaced."""
    text = (SOURCE / "configuration" / name).read_text()
    known = {"RUN": PLACES.var, "HOST": HOST, "BRIDGE": BRIDGE, "PODS": PODS, **values}
    for word, value in known.items():
        text = text.replace(f"@{word}@", str(value))
    return text
