from __future__ import annotations

import pytest

from services.notifier.tests.factories import INSIDE
from swap_notifier.domain.addresses import may_dial

PUBLIC = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a00:1450:4001::200e"]


class TestMayDial:
    @pytest.mark.parametrize("address", INSIDE)
    @pytest.mark.fault("N5")
    def test_n5_refuses_what_leads_inside(self, address: str) -> None:
        assert not may_dial(address, loopback=False)
        assert not may_dial(address, loopback=True)

    @pytest.mark.parametrize("address", PUBLIC)
    def test_lets_public_addresses_be(self, address: str) -> None:
        assert may_dial(address, loopback=False)

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
    def test_opens_loopback_only_if_configured(self, address: str) -> None:
        assert not may_dial(address, loopback=False)
        assert may_dial(address, loopback=True)

    @pytest.mark.parametrize("text", ["", "nonsense", "127.1", "2130706433"])
    def test_refuses_what_is_no_address(self, text: str) -> None:
        assert not may_dial(text, loopback=True)
