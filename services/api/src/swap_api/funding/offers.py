"""Builds what knows which ways of depositing are open now, by what the chains say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from swap_api.funding.ports import DepositAddresses, Depositories, GaslessChains
from swap_api.funding.usecases.offer_deposit_addresses import OfferDepositAddresses
from swap_api.funding.usecases.offer_depository import OfferDepository
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_contracts.public.catalogue import PublicCatalogue
from swap_domain.catalogue import Catalogue
from swap_runtime.process.service import Service


@dataclass(frozen=True, slots=True)
class Offers:
    gasless: OfferGasless
    deposit_addresses: OfferDepositAddresses
    depository: OfferDepository

    @classmethod
    def of(
        cls,
        catalogue: Catalogue,
        public: PublicCatalogue,
        chains: GaslessChains,
        deposit_addresses: DepositAddresses,
        depositories: Depositories,
    ) -> Offers:
        addresses = OfferDepositAddresses(catalogue, deposit_addresses, public)
        return cls(
            OfferGasless(catalogue, chains, public),
            addresses,
            OfferDepository(catalogue, depositories, deposit_address_networks=addresses.networks),
        )

    async def refresh(self) -> None:
        """Ask every chain about every way once."""
        await asyncio.gather(
            self.gasless.refresh(), self.deposit_addresses.refresh(), self.depository.refresh()
        )

    def watch(self, service: Service, interval: timedelta) -> None:
        """Ask again and again."""
        service.every("offer-gasless", interval, self.gasless.refresh)
        service.every("offer-deposit-addresses", interval, self.deposit_addresses.refresh)
        service.every("offer-depository", interval, self.depository.refresh)
