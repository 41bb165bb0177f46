"""The recovery after a restore, below `/admin`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_place,
    read_query_uuid,
)
from swap_settler.forms import (
    Form,
    OrderForm,
    WrongForm,
    answers_wrong_forms,
    read_form,
    read_id,
)
from swap_settler.records import place_of, without_place
from swap_settler.recovery.decide.recovery import (
    UNKNOWN,
    ForgottenPayment,
    NetworkProof,
    Recovery,
    RetainedHold,
    SignerProof,
    UncomparedNetwork,
)
from swap_settler.recovery.usecases.finish_recovery import FinishRecovery
from swap_settler.recovery.usecases.prove_recovery import ProveRecovery

OPEN: Final = (
    "nothing is paid for a swap, deposit or claim that is older than the recovery; newer swaps are "
    "paid. It ends by itself once each network is read, each signer is closed and each older "
    "payment was asked for at its Treasury (docs/recovery.md)"
)
COUNTS: Final = "a count of each, within SWAP_CHAIN_WATCHER__ADDRESS_OLD_EVERY"
TWO_PROVIDERS: Final = (
    "two providers of it to answer, where two are configured; older payments that rest on it are "
    "held. A provider that stays away is removed from SWAP_NODES"
)
HALTED: Final = (
    "an operator: it is halted (swapctl signer list), and the recovery cannot end before "
    "swapctl signer resume NETWORK, with --used-by TX for each transaction that used a nonce"
)
RECOVERY: Final = "a recovery"
HOLD: Final = "a retained hold"
ENDED: Final = "a retained hold lasts until an operator has explained or released it"


class FinishForm(OrderForm):
    """Why a recovery ends."""

    evidence: int | None = None  # how much was known of it; with more, it stays open


class BoundHold(BaseModel):
    """A retained hold, as it was when its release was proposed."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    network: str
    swap_id: UUID | None
    deposit_id: UUID | None


class ReleaseForm(OrderForm):
    """Why a hold is released."""

    hold: BoundHold | None = None


class RecoveryAdmin:
    def __init__(self, finish_recovery: FinishRecovery, prove_recovery: ProveRecovery) -> None:
        self._finish_recovery = finish_recovery
        self._prove_recovery = prove_recovery

    async def show(self, _: Request) -> Response:
        """Answer `GET /admin/recovery`."""
        found = await self._finish_recovery.find()
        uncompared = [_shown_uncompared(o) for o in await self._finish_recovery.list_uncompared()]
        held = await self._finish_recovery.count_held()
        if found is None:
            nothing: list[object] = []
            names = ("recoveries", "networks", "signers", "addresses", "forgotten", "retained")
            return JSONResponse(
                dict.fromkeys(names, nothing) | {"uncompared": uncompared, "held": held}
            )
        proofs = await self._prove_recovery.look(found)
        is_open = found.ended is None
        forgotten = await self._finish_recovery.list_forgotten(found.began_at)
        retained = await self._finish_recovery.list_retained()
        uncounted = await self._prove_recovery.count_addresses(found) if is_open else {}
        return JSONResponse(
            {
                "recoveries": [_to_json(found, held)],
                "networks": [_shown_network(one) for one in proofs.networks] if is_open else [],
                "signers": [_shown_signer(one) for one in proofs.signers] if is_open else [],
                "addresses": [_shown_addresses(*one, forgotten) for one in uncounted.items()],
                "forgotten": [_shown_forgotten(one) for one in forgotten],
                "retained": [_shown_retained(one) for one in retained],
                "uncompared": uncompared,
                "held": held,
            }
        )

    @answers_wrong_queries
    async def list_held(self, request: Request) -> Response:
        """Answer `GET /admin/recovery/held`: what the number of held payments is made of."""
        limit, after = read_limit(request), read_place(request, read_query_uuid)
        found = await self._finish_recovery.list_held(after=after, limit=limit + 1)
        return answer_page("held", found, limit=limit, show=without_place, place=place_of)

    @answers_wrong_forms
    async def finish(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/recovery/{id}/finish`."""
        id, form = read_id(order, of=RECOVERY), read_form(order, FinishForm)
        await self._finish_recovery(id, evidence=form.evidence, by=order.by, reason=form.reason)
        return JSONResponse({"finished": id})

    @answers_wrong_forms
    async def release(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/recovery/retained/{id}/release`."""
        id, form = read_id(order, of=HOLD), read_form(order, ReleaseForm)
        if form.hold is not None:
            await self._find_bound(id, form)
        await self._finish_recovery.release(id, by=order.by, reason=form.reason)
        return JSONResponse({"released": id})

    async def add_evidence(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to what is known of the recovery.

        :raises RequestRefused: when it is not open, or more is known than the order names.
        """
        id, form = _read(order, FinishForm, of=RECOVERY)
        found = await self._finish_recovery.require_open(id, evidence=form.evidence)
        return order.bound_to(form, evidence=found.evidence)

    async def add_hold(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the hold that it releases.

        :raises RequestRefused: when it is not held.
        """
        id, form = _read(order, ReleaseForm, of=HOLD)
        return order.bound_to(form, hold=await self._find_bound(id, form))

    async def _find_bound(self, id: int, form: ReleaseForm) -> BoundHold:
        """
        :raises RequestRefused: when it is not held, or is another one than the order names.
        """
        found = await self._finish_recovery.find_hold(id)
        hold = BoundHold(
            kind=found.kind,
            network=found.network,
            swap_id=found.swap_id,
            deposit_id=found.deposit_id,
        )
        if form.hold not in (None, hold):
            raise RequestRefused(
                f"hold {id} is another one than was ordered: swapctl recovery status"
            )
        return hold


def _read(order: OperatorOrder, form: type[Form], *, of: str) -> tuple[int, Form]:
    """
    :raises RequestRefused: when the order has another form: it is not stored.
    """
    try:
        return read_id(order, of=of), read_form(order, form)
    except WrongForm as error:
        raise RequestRefused(str(error)) from error


def _to_json(recovery: Recovery, held: int) -> dict[str, Any]:
    ended = recovery.ended
    return {
        "id": recovery.id,
        "state": "open" if ended is None else "ended",
        "cause": recovery.cause,
        "reason": recovery.reason,
        "evidence": recovery.evidence,
        "began_at": recovery.began_at.isoformat(),
        "held": held,
        "ended_at": ended and ended.at.isoformat(),
        "ended_by": ended and ended.by,
        "ended_because": ended and ended.because,
        "means": OPEN if ended is None else ENDED,
    }


def _shown_uncompared(one: UncomparedNetwork) -> dict[str, Any]:
    since = one.since.isoformat()
    return {"network": one.network, "since": since, "waits_for": TWO_PROVIDERS}


def _shown_network(one: NetworkProof) -> dict[str, Any]:
    return {
        "network": one.network,
        "head": one.head,
        "read": one.read,
        "is_read": one.is_read,
        "waits_for": _waits_for_blocks(one),
    }


def _waits_for_blocks(one: NetworkProof) -> str | None:
    if one.is_read:
        return None
    if one.head is None:
        return "a node, to report its head"
    if one.read is None:
        return "its messages to be applied, or an operator: it is halted (swapctl network list)"
    return f"{one.head - one.read} more final blocks"


def _shown_signer(one: SignerProof) -> dict[str, Any]:
    return {
        "network": one.network,
        "address": one.address,
        "end_nonce": one.end_nonce,
        "open_nonces": one.open_nonces,
        "is_closed": one.is_closed,
        "waits_for": _waits_for(one),
    }


def _waits_for(one: SignerProof) -> str | None:
    if one.is_closed:
        return None
    if one.is_halted:
        return HALTED
    if not one.is_opened:
        return "its lane, to begin with it: its key is needed, unless the Treasury refuses it"
    if one.end_nonce is None or not one.is_far_enough:
        return "its lane, to hand out the nonces"
    return "final blocks with its no-ops"


def _shown_addresses(
    network: str, uncounted: int, forgotten: Sequence[ForgottenPayment]
) -> dict[str, Any]:
    is_awaited = any(one.kind == UNKNOWN for one in forgotten)
    return {
        "network": network,
        "uncounted": uncounted,
        "waits_for": f"{COUNTS} (a payment without a swap was found)" if is_awaited else None,
    }


def _shown_forgotten(one: ForgottenPayment) -> dict[str, Any]:
    return {
        "swap_id": None if one.swap_id is None else str(one.swap_id),
        "kind": one.kind,
        "network": one.payment.network,
        "transaction_hash": one.payment.transaction_hash,
    }


def _shown_retained(one: RetainedHold) -> dict[str, Any]:
    ids = {"swap_id": one.swap_id, "intent_id": one.intent_id, "deposit_id": one.deposit_id}
    return {
        "id": one.id,
        **{name: None if id is None else str(id) for name, id in ids.items()},
        "kind": one.kind,
        "network": one.network,
        "since": one.since.isoformat(),
        "ends_by": "swapctl payouts explain" if one.is_paid else "swapctl recovery release",
    }
