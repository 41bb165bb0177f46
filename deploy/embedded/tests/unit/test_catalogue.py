"""The services accept the catalogue of the stack."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_stack.catalogue import RunningChain, make_catalogue, measured_gas, write_catalogue
from swap_stack.contracts import Deployment
from swap_stack.keys import development_keys
from swap_stack.parts.anvil import CHAINS
from swap_stack.places import default_places

KEYS = development_keys("0x" + "11" * 32)
DEPLOYMENT = Deployment(
    deployed_in="0x" + "8" * 64,
    treasury="0x" + "1" * 40,
    depository="0x" + "2" * 40,
    paymaster="0x" + "5" * 40,
    tokens={"USDC": "0x" + "3" * 40, "DAI": "0x" + "4" * 40},
    deposit_address_factory="0x" + "6" * 40,
    deposit_init_code_hash="0x" + "7" * 64,
)


def catalogue(folder: Path) -> Catalogue:
    chains = tuple(RunningChain(chain, "http://127.0.0.1:1", DEPLOYMENT) for chain in CHAINS)
    gas = measured_gas(default_places().root)
    write_catalogue(folder / "catalogue.yaml", make_catalogue(chains, KEYS, gas))
    return load_catalogue(folder / "catalogue.yaml", str)


def test_catalogue_has_three_chains_with_their_coins(tmp_path: Path) -> None:
    networks = catalogue(tmp_path).networks
    assert {name: network.native.symbol for name, network in networks.items()} == {
        "ETHEREUM_DEVNET": "ETH",
        "BASE_DEVNET": "ETH",
        "POLYGON_DEVNET": "POL",
    }
    assert [network.chain_id for network in networks.values()] == [31337, 31338, 31339]


def test_every_pair_is_a_route(tmp_path: Path) -> None:
    made = catalogue(tmp_path)
    tokens = [token for network in made.networks.values() for token in network.tokens]
    for source in tokens:
        for destination in tokens:
            assert (made.route(source, destination) is None) == (source is destination)


def test_amounts_below_half_a_million_dollars_need_one_confirmation(tmp_path: Path) -> None:
    eth = catalogue(tmp_path).network("ETHEREUM_DEVNET").native
    limit = 500_000 * 10**18 // 3_000
    assert eth.tier_for(limit - 1).confirmations == 1
    assert eth.tier_for(limit).confirmations is None


def test_the_funder_is_not_a_user(tmp_path: Path) -> None:
    network = catalogue(tmp_path).network("BASE_DEVNET")
    assert network.funders == (KEYS.funder.address,)
    assert network.signers == (KEYS.signer.address,)
    assert KEYS.funder not in KEYS.users


def test_usdc_and_dai_are_deposited_by_a_signature_and_coins_are_not(tmp_path: Path) -> None:
    network = catalogue(tmp_path).network("BASE_DEVNET")
    offered = {token.symbol: network.gasless(token) for token in network.tokens}
    assert offered.pop("ETH") is None
    assert {symbol: g and (g.standard, g.domain.version) for symbol, g in offered.items()} == {
        "USDC": ("eip3009", "2"),
        "DAI": ("eip2612", "1"),
    }
    assert network.gas.relay_eip3009 > network.gas.pay_erc20


def test_every_network_has_deposit_addresses_of_its_own_factory(tmp_path: Path) -> None:
    for network in catalogue(tmp_path).networks.values():
        addresses = network.contracts.deposit_addresses
        assert addresses is not None
        assert addresses.factory == DEPLOYMENT.deposit_address_factory
        assert addresses.init_code_hash == DEPLOYMENT.deposit_init_code_hash
        assert min(network.gas.sweep_native, network.gas.sweep_erc20) > 50_000


def test_every_network_and_token_has_a_logo_that_is_an_image(tmp_path: Path) -> None:
    networks = list(catalogue(tmp_path).networks.values())
    tokens = {token.symbol: token.logo for network in networks for token in network.tokens}
    logos = [network.logo for network in networks] + list(tokens.values())
    assert len(set(logos)) == len(logos)
    for logo in logos:
        kind, _, image = logo.partition(",")
        assert kind == "data:image/svg+xml"
        assert image.isascii()
        assert not set(image) & set(' "<>#')
        assert ElementTree.fromstring(unquote(image)).tag.endswith("svg")


def test_every_network_has_explorer_pages_of_its_own(tmp_path: Path) -> None:
    networks = catalogue(tmp_path).networks.values()
    pages = [
        template.replace("{0}", "0x12")
        for network in networks
        for template in (network.transaction_explorer_template, network.account_explorer_template)
    ]
    assert len(set(pages)) == 2 * len(networks)
    assert all(page.startswith("https://") and page.endswith("/0x12") for page in pages)
