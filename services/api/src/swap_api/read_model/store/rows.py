"""Rows of the read model and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Final

import orjson

from swap_api.model.gasless import GaslessSwap, KnownAuthorization, SignRequest
from swap_api.read_model.swaps import Gap, RenderedSwap, StoredSwap, SwapRow
from swap_contracts.quoting import Quote
from swap_contracts.swaps import SwapChanged
from swap_domain.authorization_status import AuthorizationStatus
from swap_domain.gasless import GaslessStandard
from swap_runtime.postgres.sql import Row

SWAP_COLUMNS: Final = """id, app_id, sequence_number, sequence, status, client, is_unpaid,
  source_network, destination_network, source_address, destination_address, refund_address,
  reference_id, created_at, expires_at, document, gaps, action, step_status, gasless,
  deposit_address, closed_at, value_usd_micros"""
SWAP_ARRAYS: Final = """CAST(:id AS uuid[]), CAST(:app_id AS uuid[]),
  CAST(:sequence_number AS bigint[]),
  CAST(:sequence AS int[]), CAST(:status AS text[]), CAST(:client AS text[]),
  CAST(:is_unpaid AS bool[]), CAST(:source_network AS text[]),
  CAST(:destination_network AS text[]), CAST(:source_address AS text[]),
  CAST(:destination_address AS text[]), CAST(:refund_address AS text[]),
  CAST(:reference_id AS text[]), CAST(:created_at AS timestamptz[]),
  CAST(:expires_at AS timestamptz[]), CAST(:document AS bytea[]), CAST(:gaps AS text[]),
  CAST(:action AS bytea[]), CAST(:step_status AS text[]),
  CAST(:gasless AS text[]), CAST(:deposit_address AS text[]),
  CAST(:closed_at AS timestamptz[]), CAST(:value_usd_micros AS numeric[])"""
SHOWN: Final = "id, app_id, expires_at, document, gaps, action, step_status, gasless"

MICRO_USD_E18: Final = 10**12  # a millionth of a dollar, as prices count


def swap_row(row: SwapRow) -> dict[str, object]:
    swap, rendered = row.swap, row.rendered
    return {
        "id": swap.swap_id,
        "app_id": swap.app_id,
        "sequence_number": swap.sequence_number,
        "sequence": swap.sequence,
        "status": swap.status,
        "client": row.client,
        "is_unpaid": row.is_unpaid,
        "source_network": swap.source.network,
        "destination_network": swap.destination.network,
        "source_address": _lower(_payer(swap)),
        "destination_address": swap.destination_address.lower(),
        "refund_address": _lower(swap.refund_address),
        "reference_id": swap.reference_id,
        "created_at": swap.created_at,
        "expires_at": swap.expires_at,
        "document": rendered.document,
        "gaps": _gaps_text(rendered.gaps),
        "action": rendered.action,
        "step_status": rendered.step_status,
        "gasless": row.gasless and _gasless_text(row.gasless),
        "deposit_address": _lower(row.deposit_address),
        "closed_at": swap.closed_at,
        "value_usd_micros": str(value_usd_micros(swap.quote)),
    }


def value_usd_micros(quote: Quote) -> int:
    """Return the requested amount, at the quote's price, in millionths of a dollar,
    rounded down.
    """
    scale: int = 10**quote.source.decimals * MICRO_USD_E18
    return int(quote.requested_base_units) * int(quote.source_usd_e18) // scale


def _payer(swap: SwapChanged) -> str | None:
    """Return the address by which a swap is found; of a gasless one, its last signer."""
    signed = swap.authorization
    return swap.source_address if signed is None else signed.signer


def sign_request_row(request: SignRequest) -> dict[str, object]:
    return {**asdict(request), "standard": request.standard.value, "nonce": str(request.nonce)}


def to_sign_request(row: Row) -> SignRequest:
    read = {"standard": GaslessStandard(row.standard), "nonce": int(row.nonce)}
    return SignRequest(**{**row._asdict(), **read})


def to_gasless(text: str | None) -> GaslessSwap | None:
    if text is None:
        return None
    values = orjson.loads(text)
    authorization = values.pop("authorization")
    if authorization is not None:
        authorization["status"] = AuthorizationStatus(authorization["status"])
        authorization = KnownAuthorization(**authorization)
    values["base_units"] = int(values["base_units"])
    return GaslessSwap(**values, authorization=authorization)


def _gasless_text(swap: GaslessSwap) -> str:
    # Base units as digits: a JSON number cannot hold them.
    return orjson.dumps({**asdict(swap), "base_units": str(swap.base_units)}).decode()


def hash_rows(row: SwapRow) -> list[dict[str, object]]:
    """Return one row per transaction that has a hash."""
    swap = row.swap
    return [
        {"app_id": swap.app_id, "hash": item.transaction_hash.lower(), "swap_id": swap.swap_id}
        for item in swap.transactions
        if item.transaction_hash is not None
    ]


def to_stored(row: Row) -> StoredSwap:
    gaps = tuple(Gap(*gap) for gap in orjson.loads(row.gaps)) if row.gaps else ()
    rendered = RenderedSwap(row.document, gaps, row.action, row.step_status)
    return StoredSwap.of(row.app_id, row.expires_at, rendered, to_gasless(row.gasless))


def to_compared(row: Row) -> StoredSwap:
    """Return a swap with its sequence here and at the settler, which may not have it yet."""
    return replace(to_stored(row), sequence=row.sequence, decided_sequence=row.decided or 0)


def _gaps_text(gaps: tuple[Gap, ...]) -> str | None:
    if not gaps:
        return None
    return orjson.dumps(
        [(gap.network, gap.block_number, gap.confirmations_required) for gap in gaps]
    ).decode()


def _lower(address: str | None) -> str | None:
    return None if address is None else address.lower()
