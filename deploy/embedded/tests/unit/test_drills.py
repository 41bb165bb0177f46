"""The parts of the drills that need no stack."""

from __future__ import annotations

import socket
import subprocess
import tomllib
from pathlib import Path

import pytest

from swap_stack.drill.fleet import ORDER, with_settings
from swap_stack.drill.release import RELEASE_FILE, read_release
from swap_stack.places import ROOT
from swap_stack.ports import Ports, PortsInUse
from swap_stack.services import SERVICES, ServiceProcess


def test_a_running_stack_keeps_its_ports_and_a_new_part_gets_a_free_one(tmp_path: Path) -> None:
    path = tmp_path / "ports.json"
    port = Ports(path).take("api")

    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        running = PortsInUse(path)

        assert running.take("api") == port
        assert running.take("dashboard") != port


def test_every_service_has_its_turn() -> None:
    assert set(ORDER) == set(SERVICES)


def test_settings_replace_those_of_the_same_name() -> None:
    before = ServiceProcess("api", 0, ("python",), {"A": "1", "B": "2"}, "/", "/log")

    after = with_settings(A="3")(before)

    assert after.env == {"A": "3", "B": "2"}
    assert (after.name, after.command) == (before.name, before.command)


def test_the_changelog_has_a_section_for_the_release() -> None:
    headings = [
        line.removeprefix("## ")
        for line in (ROOT / "CHANGELOG.md").read_text().splitlines()
        if line.startswith("## ")
    ]

    assert headings[:2] == ["Unreleased", read_release(ROOT).version]


def test_the_release_is_a_commit_with_the_migrations_that_its_file_names() -> None:
    release = read_release(ROOT)
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", release.commit, "services"],
        check=False,
        capture_output=True,
        text=True,
    )
    if listing.returncode != 0:
        pytest.skip("this clone has no history")
    heads = tomllib.loads((ROOT / RELEASE_FILE).read_text())["revisions"]
    for service, head in heads.items():
        folder = f"services/{service}/migrations/versions/"
        names = [line for line in listing.stdout.splitlines() if line.startswith(folder)]
        assert max(names).removeprefix(folder).startswith(f"{head}_")
