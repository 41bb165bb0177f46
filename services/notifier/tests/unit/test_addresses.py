from __future__ import annotations

import pytest

from swap_notifier.domain.addresses import may_dial

INSIDE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "168.63.129.16",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001::200e"]


class TestMayDial:
    @pytest.mark.parametrize("address", INSIDE)
    def test_refuses_what_leads_inside(self, address: str) -> None:
        assert not may_dial(address, loopback=False)
        assert not may_dial(address, loopback=True)

    @pytest.mark.parametrize("address", PUBLIC)
    def test_lets_public_addresses_be(self, address: str) -> None:
        assert may_dial(address, loopback=False)

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
    def test_opens_loopback_only_where_told(self, address: str) -> None:
        assert not may_dial(address, loopback=False)
        assert may_dial(address, loopback=True)

    @pytest.mark.parametrize("text", ["", "nonsense", "127.1", "2130706433"])
    def test_refuses_what_is_no_address(self, text: str) -> None:
        assert not may_dial(text, loopback=True)
