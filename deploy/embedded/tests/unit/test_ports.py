"""Ports are free and different, and the same after a restart."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from swap_stack.ports import ATTEMPTS, LOWEST, Ports, first_ephemeral, is_free


def test_each_name_gets_its_own_port_outside_the_kernels_range(tmp_path: Path) -> None:
    ports = Ports(tmp_path / "ports.json")
    found = [ports.take(f"part-{number}") for number in range(20)]
    assert len(set(found)) == 20
    # Else there is no room below the kernel's range, and ports are picked up to 60,000.
    if first_ephemeral() > LOWEST + ATTEMPTS:
        assert all(LOWEST <= port < first_ephemeral() for port in found)


def test_a_restart_gets_the_same_ports(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json").take("postgres")
    assert Ports(tmp_path / "ports.json").take("postgres") == first


def test_a_port_in_use_is_replaced(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json").take("postgres")
    with socket.create_server(("127.0.0.1", first)):
        assert not is_free(first)
        second = Ports(tmp_path / "ports.json").take("postgres")
    assert second != first
    assert Ports(tmp_path / "ports.json").take("postgres") == second


def test_two_stacks_with_the_same_random_numbers_get_different_ports(tmp_path: Path) -> None:
    first = Ports(tmp_path / "one.json", chance=random.Random(1)).take("postgres")
    with socket.create_server(("127.0.0.1", first)):
        second = Ports(tmp_path / "two.json", chance=random.Random(1)).take("postgres")
    assert second != first
