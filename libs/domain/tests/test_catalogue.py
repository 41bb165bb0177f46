from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from swap_domain.catalogue import NATIVE, Catalogue, Owners, Token, UnknownNetwork
from swap_domain.catalogue_document import CatalogueInvalid, catalogue_from

EXAMPLE = Path(__file__).parents[3] / "docs/catalogue.example.yaml"
Document = dict[str, Any]


def a_document(change: Callable[[Document], object] = lambda document: None) -> Document:
    document: Document = deepcopy(yaml.safe_load(EXAMPLE.read_text()))
    change(document)
    return document


def an_address(text: str) -> str:
    if not text.startswith("0x"):
        raise ValueError(text)
    return text.upper().replace("0X", "0x")


def a_catalogue(change: Callable[[Document], object] = lambda document: None) -> Catalogue:
    return catalogue_from(a_document(change), to_address=an_address)


def deposit_addresses(document: Document) -> Document:
    found: Document = document["networks"][0]["contracts"]["deposit_addresses"]
    return found


def ether(catalogue: Catalogue) -> Token:
    return catalogue.network("ETHEREUM_DEVNET").native


class TestCatalogueFrom:
    def test_reads_the_example(self) -> None:
        network = a_catalogue().network("ETHEREUM_DEVNET")

        assert network.native.address == NATIVE
        assert [token.symbol for token in network.tokens] == ["ETH", "USDC"]

    def test_reads_who_owns_the_contracts(self) -> None:
        contracts = a_catalogue().network("ETHEREUM_DEVNET").contracts
        owner = "0x0000000000000000000000000000000000000009"

        assert contracts.owners == Owners(owner, owner, owner)
        assert contracts.other_receivers == ()

    def test_owners_may_be_left_out(self) -> None:
        without = a_catalogue(lambda d: d["networks"][0]["contracts"].pop("owners"))

        assert without.network("ETHEREUM_DEVNET").contracts.owners == Owners()

    @pytest.mark.parametrize(
        ("change", "path"),
        [
            (lambda d: d.pop("environment"), "catalogue.environment"),
            (lambda d: d.update(environment="staging"), "catalogue.environment"),
            (lambda d: d.update(colour="red"), "catalogue"),
            (lambda d: d["networks"][0].update(chain_id="0x1"), "networks[0].chain_id"),
            (lambda d: d["networks"][0].update(type="EVM"), "networks[0].type"),
            (lambda d: d["networks"][0].update(type="near"), "networks[0].type"),
            (lambda d: d["networks"][0]["tokens"].pop(0), "networks[0].tokens"),
            (lambda d: d["networks"][0]["tokens"][1].update(precision=7), ".precision"),
            (lambda d: d["networks"].append(d["networks"][0]), "catalogue.networks"),
            (lambda d: d["networks"][0].update(has_blooms="no"), "networks[0].has_blooms"),
            (lambda d: d["networks"][0]["tokens"][0]["tiers"][0].update(providers=3), ".providers"),
            (lambda d: d["routes"][0].update(min_usd="1e3"), "routes[0].min_usd"),
            (lambda d: d["networks"][0].update(public_nodes=[]), "networks[0].public_nodes"),
            (lambda d: d["networks"][0].update(signers=["me"]), "networks[0].signers"),
            (
                lambda d: deposit_addresses(d).update(init_code_hash="0x12"),
                "networks[0].contracts.deposit_addresses.init_code_hash",
            ),
            (lambda d: d["networks"][0]["gas"].pop("sweep_erc20"), "networks[0].gas"),
            (
                lambda d: d["networks"][0].update(account_explorer_template="https://x/"),
                "networks[0].account_explorer_template",
            ),
        ],
    )
    def test_names_the_member_at_fault(
        self, change: Callable[[Document], object], path: str
    ) -> None:
        with pytest.raises(CatalogueInvalid, match=path.replace("[", r"\[").replace(".", r"\.")):
            a_catalogue(change)


class TestAddresses:
    def test_have_one_form_however_the_file_writes_them(self) -> None:
        def uppercase(document: Document) -> None:
            network = document["networks"][0]
            network["contracts"]["treasury"] = "0xab"
            network["signers"], network["funders"] = ["0xcd"], ["0xef"]
            network["tokens"][1]["contract"] = "0xaa"

        network = a_catalogue(uppercase).network("ETHEREUM_DEVNET")

        assert network.contracts.treasury == "0xAB"
        assert (network.signers, network.funders) == (("0xCD",), ("0xEF",))
        assert network.tokens[1].address == "0xAA"


class TestNetworks:
    def test_are_found_by_name_and_by_chain_id(self) -> None:
        catalogue = a_catalogue()

        assert catalogue.find_network("ethereum_devnet") is catalogue.find_network("31337")

    def test_are_refused_when_unknown(self) -> None:
        with pytest.raises(UnknownNetwork):
            a_catalogue().network("MOON")


class TestConfirmationTiers:
    @pytest.mark.parametrize(
        ("pending", "depth"), [(1, 1), (100 * 10**18 - 1, 1), (100 * 10**18, None)]
    )
    def test_grow_with_what_is_not_final(self, pending: int, depth: int | None) -> None:
        assert ether(a_catalogue()).tier_for(pending).confirmations == depth


class TestRoutes:
    def test_the_first_rule_that_covers_a_pair_decides(self) -> None:
        def close_ether(document: Document) -> None:
            rule = {**document["routes"][-1], "source": "*/ETH", "closed": True}
            document["routes"].insert(0, rule)

        catalogue = a_catalogue(close_ether)
        usdc = catalogue.network("ETHEREUM_DEVNET").tokens[1]

        assert catalogue.route(ether(catalogue), usdc) is None
        assert catalogue.route(usdc, ether(catalogue)) is catalogue.routes[-1]

    def test_an_asset_has_no_route_to_itself(self) -> None:
        catalogue = a_catalogue()

        assert catalogue.route(ether(catalogue), ether(catalogue)) is None


class TestGasless:
    def test_needs_a_paymaster_and_a_depository(self) -> None:
        def without_paymaster(document: Document) -> None:
            document["networks"][0]["contracts"]["paymaster"] = None

        with_one, without = a_catalogue(), a_catalogue(without_paymaster)

        assert offered(with_one) == [None, "eip3009"]
        assert offered(without) == [None, None]

    @pytest.mark.parametrize(
        ("member", "value", "why"),
        [
            ("standard", "permit2", "standard: must be eip3009 or eip2612"),
            ("salt", "0x01", "salt: must be 32 bytes"),
        ],
    )
    def test_is_refused_where_it_cannot_be_right(self, member: str, value: str, why: str) -> None:
        def wrong(document: Document) -> None:
            document["networks"][0]["tokens"][1]["gasless"][member] = value

        with pytest.raises(CatalogueInvalid, match=why):
            a_catalogue(wrong)

    def test_is_refused_without_a_price(self) -> None:
        def for_nothing(document: Document) -> None:
            del document["networks"][0]["gas"]["relay_eip3009"]

        with pytest.raises(CatalogueInvalid, match="relay_eip3009: must say"):
            a_catalogue(for_nothing)


def offered(catalogue: Catalogue) -> list[str | None]:
    network = catalogue.network("ETHEREUM_DEVNET")
    standards = [network.gasless(token) for token in network.tokens]
    return [gasless and gasless.standard.value for gasless in standards]
