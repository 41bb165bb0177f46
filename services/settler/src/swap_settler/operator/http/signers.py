"""The operators' routes about signers, below `/admin` on the internal port."""

from __future__ import annotations

from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.clock import Clock
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import (
    WrongQuery,
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_query_number,
    read_query_uuid,
)
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.decide.signer import Signer
from swap_settler.operator.usecases.list_signers import ListSigners
from swap_settler.operator.usecases.resume_signers import ResumeSigners
from swap_settler.records import place_of, without_place

Hash = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{64}$", to_lower=True)]
SENDS: Final = {"means": "it signs and sends what is due", "act": "no action is required"}
HALTED: Final = {
    "means": "it signs nothing new, and its payments wait. Signed transactions are sent until they "
    "are mined, and every chain is watched as before. While a recovery is open, older payments on "
    "all networks are held; the recovery cannot end before (swapctl recovery status)",
    "act": "an operator finds the cause, and resumes it only when no payment can be made that was "
    "not ordered: swapctl signer resume NETWORK. Add --used-by TX for each external transaction "
    "that used a nonce",
}


class Resume(OrderForm):
    """Which signers go on, and why that is right."""

    address: str | None = None  # None: every halted signer of the network
    # What was not signed here and used its nonces.
    used_by: list[Hash] = Field(default=[], max_length=50)
    # By address, the halts that are to be lifted: with others, nothing is resumed.
    halts: dict[str, str] | None = None


class SignerAdmin:
    def __init__(
        self, *, list_signers: ListSigners, resume_signers: ResumeSigners, clock: Clock
    ) -> None:
        self._list_signers = list_signers
        self._resume_signers = resume_signers
        self._clock = clock

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/signers`."""
        signers = [self._to_json(signer) for signer in await self._list_signers()]
        return JSONResponse({"signers": signers})

    @answers_wrong_queries
    async def open_nonces(self, request: Request) -> Response:
        """Answer `GET /admin/signers/{network}/{address}/nonces`."""
        limit = read_limit(request)
        found = await self._list_signers.open_nonces(
            request.path_params["network"],
            request.path_params["address"],
            after=_read_place(request),
            limit=limit + 1,
        )
        return answer_page("nonces", found, limit=limit, show=without_place, place=place_of)

    @answers_wrong_forms
    async def resume(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/signers/{network}/resume`."""
        form = read_form(order, Resume)
        network = order.target["network"]
        resumed = await self._resume_signers(
            network,
            address=form.address,
            used_by=form.used_by,
            halts=form.halts,
            by=order.by,
            reason=form.reason,
        )
        return JSONResponse(
            {
                "network": network,
                "resumed": [signer.address for signer in resumed.signers],
                # Made already, by external transactions: an operator reconciles their swaps.
                "paid_elsewhere": [str(paid_id) for paid_id in resumed.paid_externally],
            }
        )

    async def add_halts(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the halts of now, unless it names them.

        :raises RequestRefused: when none is halted.
        """
        try:
            form = read_form(order, Resume)
        except ValueError:  # it is refused when it is approved
            return order
        if form.halts is not None:
            return order
        halts = await self._resume_signers.halts(order.target["network"], address=form.address)
        return order.bound_to(form, halts=halts)

    def _to_json(self, signer: Signer) -> dict[str, Any]:
        halted, resumed, oldest = signer.halted, signer.resumed, signer.oldest_slot_at
        return {
            "network": signer.network,
            "address": signer.address,
            "next_nonce": signer.next_nonce,
            "open_slots": signer.open_slots,
            "oldest_slot_seconds": oldest and int((self._clock() - oldest).total_seconds()),
            "halted": halted
            and {"reason": halted.reason, "at": halted.at and halted.at.isoformat()},
            "resumed": resumed
            and {"at": resumed.at.isoformat(), "by": resumed.by, "reason": resumed.reason},
            **(HALTED if halted else SENDS),
        }


def _read_place(request: Request) -> tuple[int, UUID] | None:
    """
    :raises WrongQuery: when the nonce or the payment is wrong or missing.
    """
    nonce, intent_id = read_query_number(request, "after"), read_query_uuid(request, "after_id")
    if nonce is None and intent_id is None:
        return None
    if nonce is None or intent_id is None:
        raise WrongQuery("after and after_id are one place")
    return nonce, intent_id
