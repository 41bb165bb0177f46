"""A Depository is offered before its chain is read, and its state is reported once it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.api.tests.api_factories import a_catalogue
from services.api.tests.fake_chains import FakeDepositories
from swap_api import observe
from swap_api.funding.usecases.offer_depository import OfferDepository

CATALOGUE = a_catalogue()


async def test_depository_is_offered_before_its_chain_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: list[tuple[str, Sequence[str]]] = []
    monkeypatch.setattr(observe, "depository_offered", lambda *report: reported.append(report))
    depositories = FakeDepositories()
    offer_depository = OfferDepository(CATALOGUE, depositories, deposit_address_networks=set())
    networks = [n for n in CATALOGUE.networks.values() if n.contracts.depository is not None]
    assert networks
    depositories.is_away = True
    await offer_depository.refresh()
    for network in networks:
        offer_depository.require(network)
    assert reported == []

    depositories.is_away = False
    await offer_depository.refresh()
    await offer_depository.refresh()
    assert reported == [(network.name, ()) for network in networks]
    for network in networks:
        offer_depository.require(network)
