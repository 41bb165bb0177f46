"""From swaps, quotes and limits to bytes; the shapes come from `swap_contracts.public.rendering`.

A swap is rendered once per fact. Where a read has to fill something in, a control byte stands:
none can appear anywhere else, because JSON escapes them inside of strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from swap_api.funding.adapters.gasless_rendering import WITHOUT_DATA, gasless_of, sign_template
from swap_api.model.deposit_actions import (
    FUNDING_ACTIONS,
    StepStatus,
    deposit_step_status,
    own_address,
)
from swap_api.read_model.swaps import Gap, RenderedSwap, StoredSwap, SwapRow
from swap_api.swaps.adapters.history_rendering import render_transaction
from swap_api.swaps.adapters.ready_prices import ReadyPrices
from swap_api.swaps.decide.history import QuoteRevision
from swap_api.swaps.decide.orders import ReadAmount
from swap_api.swaps.decide.reach import ReachedNetwork
from swap_contracts.explaining import QuoterExplanationModel
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.doubles import amount_down, amount_up, dollars, price
from swap_contracts.public.explaining import ExplanationModel, ParsedAmountModel
from swap_contracts.public.rendering import Prices, render_prepared_swap, render_quoted
from swap_contracts.quoting import LimitsAnswer, Quote
from swap_contracts.swaps import SwapChanged, SwapRequested, SwapTerms, SwapTransaction
from swap_domain.catalogue import Catalogue, Token
from swap_domain.lifecycle import Status

CONFIRMATIONS: Final = b"\x00"
ACTIONS: Final = b"\x01"
NEXT_ACTION: Final = b"\x02"

# No quote is given below it: what a wallet calls dust would cost more than it brings.
NATIVE_MINIMUM_DECIMALS: Final = 6

TERMS: Final = tuple(SwapTerms.model_fields)
# What a swap that was just created has beside its terms and its quote.
FIRST: Final[Mapping[str, object]] = {
    "sequence": 0,
    "status": Status.DEPOSIT_PENDING.value,
    "previous_status": None,
    "closed_at": None,
    "fail_reason": None,
    "quote_revision": 0,
    "last_requoted_at": None,
    "quote_locked_at": None,
    "transactions": (),
    "authorization": None,
    "cause": "swap_requested",
}


class JsonRendering:
    """From what is known to the bytes that are answered."""

    def __init__(self, catalogue: Catalogue, public: PublicCatalogue) -> None:
        self._catalogue = catalogue
        self._public = public

    def new_swap(self, request: SwapRequested) -> SwapRow:
        """Return the row at sequence 0: the settler's first message about the swap, in advance."""
        members = request.__dict__
        values = {name: members[name] for name in TERMS}
        values |= FIRST
        values["changed_at"] = request.created_at
        values["quote"] = request.quote
        values["quote_expires_at"] = request.quote_expires_at
        return self.swap(SwapChanged.from_trusted(values))

    def swap(self, swap: SwapChanged) -> SwapRow:
        step_status = self._step_status(swap)
        prices = ReadyPrices.of(swap.quote, self._public)
        fragment = render_prepared_swap(swap, self._public, heads={}, prices=prices)
        fragment["deposit_actions"] = orjson.Fragment(ACTIONS)
        fragment["next_action"] = orjson.Fragment(NEXT_ACTION)
        gaps = []
        for shown, known in zip(fragment["swap"]["transactions"], swap.transactions, strict=True):
            if (gap := _gap(known)) is not None:
                shown["confirmations"] = orjson.Fragment(CONFIRMATIONS)
                gaps.append(gap)
        rendered = RenderedSwap(
            orjson.dumps(fragment),
            tuple(gaps),
            self._action(swap, prices, step_status),
            step_status.value,
        )
        is_unpaid = step_status is StepStatus.ACTION_REQUIRED
        return SwapRow(
            swap,
            rendered,
            is_unpaid=is_unpaid,
            gasless=gasless_of(swap),
            deposit_address=self._deposit_address(swap),
        )

    def _step_status(self, swap: SwapChanged) -> StepStatus:
        """Return how far the deposit is; none is requested that the services would not see."""
        status = deposit_step_status(swap.status, swap.transactions)
        is_listed = self._public.find_token(swap.source.network, swap.source.token) is not None
        return (
            status if is_listed or status is not StepStatus.ACTION_REQUIRED else StepStatus.PENDING
        )

    def _deposit_address(self, swap: SwapChanged) -> str | None:
        """Return the swap's own address; None when its network has left the catalogue."""
        network = self._catalogue.networks.get(swap.source.network)
        if swap.method != "deposit_address" or network is None:
            return None
        return own_address(network, swap.sequence_number)

    def prepare(
        self,
        stored: StoredSwap,
        heads: Mapping[str, int],
        *,
        with_actions: bool = True,
        next_action: bytes = b"null",
    ) -> bytes:
        rendered = stored.rendered
        document = rendered.document
        for gap in rendered.gaps:
            document = document.replace(CONFIRMATIONS, b"%d" % _confirmations(gap, heads), 1)
        action = rendered.action if with_actions else None
        document = document.replace(ACTIONS, b"[]" if action is None else b"[%b]" % action, 1)
        return document.replace(NEXT_ACTION, next_action, 1)

    def requested_amount(self, quote: QuoteRevision) -> float | None:
        """Return what a quote is for; None where its token has left the catalogue."""
        facts = self._public.find_token(quote.source_network, quote.source_token)
        if facts is None:
            return None
        units, decimals = quote.requested_base_units, quote.source_decimals
        return amount_down(units, decimals=decimals, precision=facts.precision)

    def transaction(
        self, stored: StoredSwap, heads: Mapping[str, int], *, network: str, transaction_id: str
    ) -> bytes | None:
        """Return how far a swap's transaction is; None where it has no such transaction."""
        document = self.prepare(stored, heads, with_actions=False)
        found = render_transaction(document, network=network, transaction_id=transaction_id)
        return None if found is None else orjson.dumps(found)

    def render_quote(self, quote: Quote) -> bytes:
        return orjson.dumps(self._quote_members(quote))

    def render_explanation(
        self, quote: Quote, explanation: QuoterExplanationModel, amount: ReadAmount
    ) -> bytes:
        read = ParsedAmountModel.model_validate(
            {
                "member": amount.field,
                "sent": amount.sent,
                "used": amount.used,
                "used_base_units": str(amount.base_units),
                "is_cut": amount.is_cut,
            }
        )
        whole = ExplanationModel(**dict(explanation), amount=read)
        fragment = self._quote_members(quote)
        fragment["explanation"] = orjson.Fragment(whole.model_dump_json())
        return orjson.dumps(fragment)

    def _quote_members(self, quote: Quote) -> dict[str, Any]:
        prices = ReadyPrices.of(quote, self._public)
        return render_quoted(quote, self._public, prices=prices)

    def limits(self, answer: LimitsAnswer, source: Token) -> bytes:
        minimum, maximum = int(answer.min_base_units), int(answer.max_base_units)
        if source.is_native and source.decimals >= NATIVE_MINIMUM_DECIMALS:
            minimum = max(minimum, 10 ** (source.decimals - NATIVE_MINIMUM_DECIMALS))
        usd_e18 = int(answer.source_usd_e18)
        worth = {"decimals": source.decimals, "usd_e18": usd_e18}
        return orjson.dumps(
            {
                "min_amount": self.amount(minimum, source, is_minimum=True),
                "min_amount_in_usd": dollars(minimum, **worth),
                "max_amount": self.amount(maximum, source, is_minimum=False),
                "max_amount_in_usd": dollars(maximum, **worth),
            }
        )

    def amount(self, base_units: int, token: Token, *, is_minimum: bool) -> float:
        """Return a limit as a double on its inner side, so that it is itself within."""
        to_double = amount_up if is_minimum else amount_down
        return to_double(base_units, decimals=token.decimals, precision=token.precision)

    def networks(self, prices: Mapping[tuple[str, str], int], types: Sequence[str]) -> bytes:
        """Return every network of these types (all, when none is named) with its tokens."""
        return orjson.dumps(
            [
                {
                    **self._network(name, prices),
                    "tokens": [self._token(name, token, prices) for token in facts.tokens],
                }
                for name, facts in self._public.networks.items()
                if not types or facts.members["type"] in types
            ]
        )

    def render_reach(
        self, reached: Sequence[ReachedNetwork], prices: Mapping[tuple[str, str], int]
    ) -> bytes:
        """Return networks with those of their tokens that were reached, and how."""
        return orjson.dumps(
            [
                {
                    **self._network(one.network, prices),
                    "tokens": [
                        {**self._token(one.network, token, prices), "status": status}
                        for token, status in one.tokens
                    ],
                }
                for one in reached
            ]
        )

    def _network(self, name: str, prices: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        native = self._public.networks[name].native
        return self._public.priced_network(name, price(prices.get((name, native), 0)))

    def _token(
        self, network: str, token: str, prices: Mapping[tuple[str, str], int]
    ) -> dict[str, Any]:
        return self._public.priced_token(network, token, price(prices.get((network, token), 0)))

    def _action(self, swap: SwapChanged, prices: Prices, step_status: StepStatus) -> bytes | None:
        if step_status is not StepStatus.ACTION_REQUIRED:
            return None
        source = swap.source
        network = self._catalogue.network(source.network)
        if swap.method == "gasless":
            return sign_template(swap, prices, network)
        if swap.method not in FUNDING_ACTIONS:
            return None
        action = FUNDING_ACTIONS[swap.method](
            network,
            network.token(source.token),
            sequence_number=swap.sequence_number,
            base_units=int(swap.quote.requested_base_units),
        )
        return orjson.dumps(
            {
                **WITHOUT_DATA,
                "type": action.type,
                "to_address": action.to_address,
                "amount": prices.down(source, str(action.base_units)),
                "amount_in_base_units": str(action.base_units),
                "network": prices.network(source.network),
                "token": prices.token(source),
                "fee_token": prices.token(prices.native(source)),
                "call_data": action.call_data,
                "gas_limit": None if action.gas_limit is None else str(action.gas_limit),
                "encoded_args": action.encoded_args,
            }
        )


def _gap(transaction: SwapTransaction) -> Gap | None:
    """Return what a read has to fill in; a final transaction and an unmined one need nothing."""
    if transaction.status == "completed" or transaction.block_number is None:
        return None
    return Gap(
        transaction.asset.network, transaction.block_number, transaction.confirmations_required
    )


def _confirmations(gap: Gap, heads: Mapping[str, int]) -> int:
    head = heads.get(gap.network)
    if head is None:
        return 0
    return min(max(head - gap.block_number + 1, 0), gap.confirmations_required)
