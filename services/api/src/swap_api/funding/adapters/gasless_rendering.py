"""Requests for signatures and their states, as bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson

from swap_api.model.gasless import GaslessSwap, KnownAuthorization, Steps
from swap_api.read_model.swaps import StoredSwap
from swap_chains.evm.gasless import RelayedDeposit
from swap_contracts.public.rendering import Prices
from swap_contracts.swaps import Authorization, SwapChanged
from swap_domain.authorization_status import AuthorizationStatus
from swap_domain.catalogue import Catalogue, Network

WITHOUT_DATA: Final = {
    "type": "transfer",
    "to_address": None,
    "amount": 0,
    "amount_in_base_units": "0",
    "order": 1,
    "network": None,
    "token": None,
    "fee_token": None,
    "call_data": None,
    "gas_limit": None,
    "encoded_args": None,
    "valid_after": None,
    "valid_before": None,
    "nonce": None,
    "typed_data": None,
}


class JsonGaslessRendering:
    """From what is known about a signature to the bytes that are answered."""

    def __init__(self, catalogue: Catalogue, *, in_lower_case: bool) -> None:
        self._catalogue = catalogue
        self._in_lower_case = in_lower_case

    def sign_action(self, stored: StoredSwap, relayed: RelayedDeposit) -> bytes:
        """Return the complete action for a signer."""
        assert stored.sign_template is not None, "only what waits for a signature is asked for"
        signer_members = {
            "valid_after": relayed.valid_after,
            "valid_before": relayed.valid_before,
            "nonce": relayed.nonce_text,
            "typed_data": relayed.typed_data(),
        }
        return b"%b,%b" % (stored.sign_template[:-1], orjson.dumps(signer_members)[1:])

    def sign_steps(self, stored: StoredSwap, steps: Steps, relayed: RelayedDeposit | None) -> bytes:
        """Return the list of `GET …/deposit_actions` of a swap that is funded by a signature."""
        swap = stored.gasless
        assert swap is not None
        network = self._catalogue.network(swap.network)
        gasless = network.gasless(network.token(swap.token))
        until = datetime.fromtimestamp(relayed.valid_before, UTC) if relayed else stored.expires_at
        shared = {
            "signing_standard": gasless and gasless.standard.value,
            "expires_at": until.isoformat(),
        }
        bare = orjson.dumps({**WITHOUT_DATA, "type": "sign"})
        action = self.sign_action(stored, relayed) if relayed else bare
        more = {"step": "sign", "status": steps.sign.value, "detail": steps.detail, **shared}
        publish = {
            **WITHOUT_DATA,
            "type": "publish",
            "order": 2,
            "step": "publish",
            "status": steps.publish.value,
            "detail": None,
            **shared,
            "signing_standard": None,
        }
        return b"[%b,%b,%b]" % (action[:-1], orjson.dumps(more)[1:], orjson.dumps(publish))

    def authorization(
        self, status: AuthorizationStatus, known: KnownAuthorization | None, head: int | None
    ) -> bytes:
        shown = status.value.lower() if self._in_lower_case else status.value
        return orjson.dumps(
            {"status": shown, "transaction": _relay_transaction(status, known, head)}
        )


def sign_template(swap: SwapChanged, prices: Prices, network: Network) -> bytes:
    """Return the members that are the same for every signer."""
    source, units = swap.source, swap.quote.requested_base_units
    dynamic = ("valid_after", "valid_before", "nonce", "typed_data")
    return orjson.dumps(
        {
            **{name: value for name, value in WITHOUT_DATA.items() if name not in dynamic},
            "type": "sign",
            "to_address": network.contracts.paymaster,
            "amount": prices.down(source, units),
            "amount_in_base_units": units,
            "network": prices.network(source.network),
            "token": prices.token(source),
            "fee_token": prices.token(prices.native(source)),
        }
    )


def gasless_of(swap: SwapChanged) -> GaslessSwap | None:
    if swap.method != "gasless":
        return None
    authorization = swap.authorization
    return GaslessSwap(
        network=swap.source.network,
        token=swap.source.token,
        sequence_number=swap.sequence_number,
        base_units=int(swap.quote.requested_base_units),
        authorization=None if authorization is None else _to_known_authorization(authorization),
    )


def _to_known_authorization(authorization: Authorization) -> KnownAuthorization:
    return KnownAuthorization(
        submission=authorization.submission,
        status=AuthorizationStatus(authorization.status),
        valid_before=authorization.valid_before,
        detail=authorization.detail,
        transaction_hash=authorization.transaction_hash,
        block_number=authorization.block_number,
        confirmations_required=authorization.confirmations_required,
    )


def _relay_transaction(
    status: AuthorizationStatus, known: KnownAuthorization | None, head: int | None
) -> dict[str, Any] | None:
    if known is None or known.transaction_hash is None:
        return None
    required, is_done = known.confirmations_required, status is AuthorizationStatus.COMPLETED
    deep = 0 if head is None or known.block_number is None else head - known.block_number + 1
    shown = {AuthorizationStatus.COMPLETED: "completed", AuthorizationStatus.PUBLISHED: "initiated"}
    return {
        "transaction_id": known.transaction_hash,
        "transaction_hash": known.transaction_hash,
        "status": shown.get(status, "failed"),
        "confirmations": required if is_done else min(max(deep, 0), required),
        "max_confirmations": required,
    }
