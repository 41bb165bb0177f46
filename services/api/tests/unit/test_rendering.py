"""The answered bytes equal the public models, member by member."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from api_factories import (
    AT,
    BOB,
    DOLLAR,
    E18,
    ETHER,
    TREASURY,
    USDC,
    a_catalogue,
    a_quote,
    a_swap,
    an_input,
)
from pydantic import TypeAdapter

from swap_api.funding.adapters.approval_rendering import JsonApprovalRendering
from swap_api.read_model.swaps import StoredSwap, SwapRow
from swap_api.swaps.adapters.ready_prices import CACHED_MAX, ReadyPrices
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_contracts.public.models import (
    DepositActionItemModel,
    LimitsModel,
    NetworkWithTokensModel,
    PreparedSwapModel,
    QuotedModel,
)
from swap_contracts.public.rendering import render_prepared_swap
from swap_contracts.quoting import LimitsAnswer
from swap_contracts.swaps import SwapChanged, SwapRequested
from swap_runtime.public_catalogue import public_catalogue

CATALOGUE = a_catalogue()
PUBLIC = public_catalogue(CATALOGUE)
NATIVE_ETHER = CATALOGUE.network("ETHEREUM_DEVNET").native
HEADS = {"ETHEREUM_DEVNET": 8, "BASE_DEVNET": 100}
REFUELED = {"refuel_in_source_base_units": str(E18 // 1000), "refuel_base_units": str(E18 // 1000)}

SWAPS = {
    "waiting": a_swap(),
    "seen": a_swap(transactions=(an_input(),), quote_locked_at=AT),
    "paying": a_swap(
        status="ls_transfer_pending",
        transactions=(
            an_input(status="completed"),
            an_input(
                type="output",
                asset=DOLLAR,
                base_units="2996000000",
                block_number=99,
                transaction_hash="0x" + "cd" * 32,
            ),
            an_input(type="refuel", status="pending", transaction_hash=None, block_number=None),
        ),
    ),
    "expired": a_swap(status="expired", closed_at=AT),
    "with refuel": a_swap(quote=a_quote(**REFUELED)),
    "text that JSON escapes": a_swap(reference_id='"\\ \u00e4 \u2028'),
    "of a token": a_swap(
        source=DOLLAR,
        destination=ETHER,
        quote=a_quote(source=DOLLAR, destination=ETHER, requested_base_units="25500000"),
        source_address=BOB,
        refund_address=BOB,
    ),
    "by a direct transfer": a_swap(method="direct"),
    "by a direct transfer of a token": a_swap(
        method="direct",
        source=DOLLAR,
        destination=ETHER,
        quote=a_quote(source=DOLLAR, destination=ETHER, requested_base_units="25500000"),
    ),
}


def rendering() -> JsonRendering:
    return JsonRendering(CATALOGUE, PUBLIC)


def stored(row: SwapRow) -> StoredSwap:
    return StoredSwap(row.swap.app_id, row.swap.expires_at, row.rendered)


def next_action(stored_swap: StoredSwap) -> bytes:
    steps = JsonApprovalRendering()
    return steps.next_of(steps.steps(stored_swap, None))


def valid(model: Any, data: bytes) -> Any:
    """Return the parsed data, after a check that it has exactly the model's members."""
    return TypeAdapter(model).validate_json(data, strict=False) and orjson.loads(data)


@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS.keys())
class TestEverySwap:
    def test_is_the_public_model_exactly(self, swap: SwapChanged) -> None:
        stored_swap = stored(rendering().swap(swap))

        for with_actions in (True, False):
            for action in (b"null", next_action(stored_swap)):
                data = rendering().prepare(
                    stored_swap, HEADS, with_actions=with_actions, next_action=action
                )
                assert set(valid(PreparedSwapModel, data)) == set(PreparedSwapModel.model_fields)

    def test_matches_the_one_renderer(self, swap: SwapChanged) -> None:
        stored_swap = stored(rendering().swap(swap))

        data = orjson.loads(rendering().prepare(stored_swap, HEADS, with_actions=False))

        expected = render_prepared_swap(swap, PUBLIC, heads=HEADS)
        assert data == orjson.loads(orjson.dumps(expected))

    def test_lists_one_step_of_the_public_model(self, swap: SwapChanged) -> None:
        (step,) = valid(
            list[DepositActionItemModel],
            JsonApprovalRendering().steps(stored(rendering().swap(swap)), None),
        )

        carries_data = step["status"] == "action_required"
        assert (step["call_data"] is not None) == carries_data
        assert (step["network"] is not None) == carries_data
        assert (step["to_address"] is not None) == carries_data


class TestGaps:
    def test_count_up_with_the_head_and_stop_at_the_maximum(self) -> None:
        stored_swap = stored(rendering().swap(SWAPS["seen"]))

        def confirmations(heads: dict[str, int]) -> int:
            data = orjson.loads(rendering().prepare(stored_swap, heads))
            shown: int = data["swap"]["transactions"][0]["confirmations"]
            return shown

        counts = [confirmations({"ETHEREUM_DEVNET": head}) for head in (5, 7, 8, 9, 50)]
        assert counts == [0, 1, 2, 3, 3]
        assert confirmations({}) == 0

    def test_are_none_once_everything_is_final(self) -> None:
        swap = a_swap(status="completed", transactions=(an_input(status="completed"),))

        assert rendering().swap(swap).rendered.gaps == ()


class TestActions:
    def test_of_a_native_token_sends_exactly_what_was_requested(self) -> None:
        data = orjson.loads(rendering().prepare(stored(rendering().swap(SWAPS["waiting"])), {}))

        (action,) = data["deposit_actions"]
        assert action["amount"] == data["swap"]["requested_amount"] == 1.0
        assert action["amount_in_base_units"] == str(E18)
        assert action["type"] == "transfer"
        assert action["gas_limit"].isdecimal()

    def test_of_a_token_sends_no_value(self) -> None:
        data = orjson.loads(rendering().prepare(stored(rendering().swap(SWAPS["of a token"])), {}))

        (action,) = data["deposit_actions"]
        assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
        assert action["encoded_args"][-1] == "25500000"
        assert action["token"]["symbol"] == "USDC"
        assert action["fee_token"]["symbol"] == "ETH"

    def test_of_a_deposit_address_are_what_a_user_sends(self) -> None:
        swap = a_swap(method="deposit_address")
        data = orjson.loads(JsonApprovalRendering().steps(stored(rendering().swap(swap)), None))

        (step,) = data
        assert (step["type"], step["call_data"], step["gas_limit"]) == (
            "manual_transfer",
            None,
            None,
        )
        assert step["detail"].startswith(f"ethereum:{step['to_address']}@31337")

        paid = rendering().swap(a_swap(method="deposit_address", status="completed"))
        (step,) = orjson.loads(JsonApprovalRendering().steps(stored(paid), None))
        assert (step["type"], step["to_address"], step["detail"]) == ("manual_transfer", None, None)

    def test_without_an_amount_show_the_deposited_amount(self) -> None:
        quote = a_quote(requested_base_units="0", receive_base_units="0")
        waiting = rendering().swap(a_swap(method="deposit_address", quote=quote))
        come = rendering().swap(
            a_swap(method="deposit_address", quote=quote, transactions=(an_input(),))
        )

        shown = [orjson.loads(rendering().prepare(stored(row), {})) for row in (waiting, come)]

        assert shown[0]["deposit_actions"][0]["amount_in_base_units"] == "0"
        assert [data["swap"]["requested_amount"] for data in shown] == [0, 1.0]

    def test_of_a_direct_transfer_go_to_the_treasury_or_to_the_token(self) -> None:
        swaps = [name for name in SWAPS if name.startswith("by a direct transfer")]

        coin, token = (
            orjson.loads(rendering().prepare(stored(rendering().swap(SWAPS[name])), {}))
            for name in swaps
        )

        (action,) = coin["deposit_actions"]
        assert action["amount"] == coin["swap"]["requested_amount"] == 1.0
        assert (action["to_address"], action["encoded_args"]) == (TREASURY, [])
        (action,) = token["deposit_actions"]
        assert (action["amount"], action["amount_in_base_units"]) == (0, "0")
        assert (action["to_address"], action["encoded_args"]) == (USDC, [TREASURY, "25500000"])

    def test_are_absent_once_a_deposit_is_seen(self) -> None:
        stored_swap = stored(rendering().swap(SWAPS["seen"]))
        data = orjson.loads(
            rendering().prepare(stored_swap, {}, next_action=next_action(stored_swap))
        )

        assert data["deposit_actions"] == []
        assert data["next_action"] is None

    def test_the_next_action_is_the_one_to_do(self) -> None:
        stored_swap = stored(rendering().swap(SWAPS["waiting"]))

        data = orjson.loads(
            rendering().prepare(stored_swap, {}, next_action=next_action(stored_swap))
        )

        assert data["next_action"]["action"] == data["deposit_actions"][0]


class TestWhatIsReady:
    """Bytes of networks and tokens are cached for the next swap at the same prices."""

    def test_is_recreated_when_a_token_changes(self) -> None:
        public = public_catalogue(CATALOGUE)
        render = JsonRendering(CATALOGUE, public)
        swap = SWAPS["of a token"]

        def standard() -> object:
            shown = orjson.loads(render.prepare(stored(render.swap(swap)), {}))
            return shown["swap"]["source_token"]["gasless_standard"]

        before = standard()
        public.offer_gasless(DOLLAR.network, DOLLAR.token, None)

        assert (before, standard()) == ("eip3009", "")

    def test_is_distinguished_by_prices(self) -> None:
        render = rendering()
        expensive = a_swap(quote=a_quote(source_usd_e18=str(9999 * E18)))

        prices = [
            orjson.loads(render.swap(swap).rendered.action or b"")["token"]["price_in_usd"]
            for swap in (SWAPS["waiting"], expensive, SWAPS["waiting"])
        ]

        assert prices[0] == prices[2] != prices[1] == 9999

    def test_is_bounded(self) -> None:
        public = public_catalogue(CATALOGUE)
        for usd in range(CACHED_MAX + 10):
            ReadyPrices.of(a_quote(source_usd_e18=str(usd)), public)

        assert len(public.made) <= CACHED_MAX


class TestRowZero:
    def test_is_an_unpaid_open_swap(self) -> None:
        swap = SWAPS["waiting"]
        terms = {name: getattr(swap, name) for name in SwapRequested.model_fields if name != "type"}

        row = rendering().new_swap(SwapRequested(**terms))

        first = {"sequence": 0, "previous_status": None, "cause": "swap_requested"}
        assert row.swap == swap.model_copy(update={**first, "changed_at": swap.created_at})
        assert row.is_unpaid


def test_a_quote_is_the_public_model() -> None:
    for quote in (a_quote(), a_quote(**REFUELED)):
        data = rendering().render_quote(quote)
        assert set(valid(QuotedModel, data)) == set(QuotedModel.model_fields)


def test_limits_are_the_public_model_and_inside_the_range() -> None:
    answer = LimitsAnswer(
        min_base_units="333333333333333333", max_base_units="777777777777777777",
        source_usd_e18=str(3000 * E18),
    )  # fmt: skip

    data = valid(
        LimitsModel,
        rendering().limits(answer, NATIVE_ETHER),
    )

    assert data["min_amount"] == 0.33333334
    assert data["max_amount"] == 0.77777777


def test_a_native_minimum_is_never_dust() -> None:
    answer = LimitsAnswer(min_base_units="1", max_base_units=str(E18), source_usd_e18="1")

    data = orjson.loads(rendering().limits(answer, NATIVE_ETHER))

    assert data["min_amount"] == 0.000001


class TestNetworks:
    def test_are_the_public_model_with_or_without_prices(self) -> None:
        prices = {("ETHEREUM_DEVNET", ETHER.token): 3000 * E18}

        data = valid(list[NetworkWithTokensModel], rendering().networks(prices, []))

        assert [network["name"] for network in data] == list(CATALOGUE.networks)
        assert data[0]["token"]["price_in_usd"] == 3000
        assert data[1]["token"]["price_in_usd"] == 0
        assert data[0]["chain_id"] == "31337"
        assert data[0]["node_url"] == data[0]["nodes"][0]
        deposit_methods = {network["name"]: network["deposit_methods"] for network in data}
        assert deposit_methods["ETHEREUM_DEVNET"] == ["wallet", "deposit_address"]
        assert deposit_methods["BARE_DEVNET"] == ["wallet"]
        assert data[0]["tokens"][0]["contract"] is None

    def test_are_filtered_by_type(self) -> None:
        assert orjson.loads(rendering().networks({}, ["solana"])) == []
        assert len(orjson.loads(rendering().networks({}, ["evm"]))) == 3


def test_an_amount_survives_the_double() -> None:
    """The displayed amount, parsed and truncated at the precision, is the sent amount."""
    for base_units in (E18 // 10**8, 12345678 * 10**10, 10**7 * E18 + 12345678 * 10**10):
        swap = a_swap(quote=a_quote(requested_base_units=str(base_units)))
        data = orjson.loads(rendering().prepare(stored(rendering().swap(swap)), {}))

        (action,) = data["deposit_actions"]
        assert round(action["amount"] * 10**8) * 10**10 == int(action["amount_in_base_units"])


def test_documents_hold_their_gaps_and_no_other_control_byte() -> None:
    for swap in SWAPS.values():
        document = rendering().swap(swap).rendered.document
        assert document.count(b"\x01") == document.count(b"\x02") == 1
        assert document.count(b"\x00") == len(rendering().swap(swap).rendered.gaps)
