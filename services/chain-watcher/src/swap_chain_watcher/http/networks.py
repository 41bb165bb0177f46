"""What operators ask and do about networks, below `/admin`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_chain_watcher.usecases.report_networks import NetworkReport, ReportNetworks
from swap_chain_watcher.usecases.resume_network import ResumeNetwork
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.process.service import Service

HALTED: Final = "what was final there changed, and what waits is paid as soon as it is lifted"
TAKES_BACK: Final = f"published deposits are taken back; {HALTED}"
TAKEN_BACK_MAX: Final = 50
Hash = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{64}$", to_lower=True)]


class BoundHalt(BaseModel):
    """The halt that an order lifts, as it was when the order was proposed."""

    model_config = ConfigDict(extra="forbid")

    at: AwareDatetime
    reason: str


class Resume(BaseModel):
    """What is ordered with a network's going on."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    by: Any = None  # ignored: the token identifies the operator
    reason: str | None = Field(default=None, min_length=1, max_length=2000)
    # Transactions with published logs that were made up.
    take_back: list[Hash] = Field(default=[], max_length=TAKEN_BACK_MAX)
    # The halt that is lifted: a later one stays. None: whichever is on.
    halt: BoundHalt | None = None

    @model_validator(mode="after")
    def _has_reason(self) -> Self:
        if self.take_back and self.reason is None:
            raise ValueError("a reason is needed to take a transaction back")
        return self


def add_routes(
    service: Service,
    *,
    report_networks: ReportNetworks,
    resume_network: ResumeNetwork,
    resuming_needs_two: bool,
) -> None:
    """`GET /admin/networks`, `POST /admin/networks/{network}/resume`."""

    async def needs_second(order: OperatorOrder) -> str | None:
        try:
            form = _read(order)
        except ValueError:
            return None  # it is refused at once
        if not resuming_needs_two:
            return None
        return TAKES_BACK if form.take_back else HALTED

    async def networks(_: Request) -> Response:
        return JSONResponse({"networks": [_to_json(one) for one in await report_networks()]})

    async def resume(order: OperatorOrder) -> Response:
        try:
            form = _read(order)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        network, take_back = order.target["network"], list(dict.fromkeys(form.take_back))
        resumed = await resume_network(
            network, take_back=take_back, halted_at=None if form.halt is None else form.halt.at
        )
        return JSONResponse({"network": network, "halted": None, **asdict(resumed)})

    service.admin("GET", "/networks", networks)
    service.order(
        "/networks/{network}/resume",
        resume,
        needs_second=needs_second,
        add_facts=partial(_add_halt, resume_network),
    )


async def _add_halt(resume_network: ResumeNetwork, order: OperatorOrder) -> OperatorOrder:
    """Bind an order that is stored to the halt of now.

    :raises RequestRefused: when the network is not halted, or otherwise than the order names.
    """
    form = _read(order)
    halt = await resume_network.find_halt(order.target["network"])
    present = BoundHalt(at=halt.at, reason=halt.reason)
    if form.halt not in (None, present):
        raise RequestRefused("the network is halted for another reason: see swapctl network list")
    return order.bound_to(form, halt=present)


def _read(order: OperatorOrder) -> Resume:
    """
    :raises ValueError: with words for who sent it.
    """
    try:
        return Resume.model_validate_json(order.body or b"{}")
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "body"
        raise ValueError(f"{where}: {fault['msg']}") from error


def _to_json(report: NetworkReport) -> dict[str, object]:
    place = report.place
    halt = place and place.halt
    return {
        "network": report.network,
        "head": report.head,
        "cursor": place and place.cursor.number,
        "cursor_hash": place and place.cursor.hash,
        "cursor_time": place and place.cursor.time.isoformat(),
        "finalized": place and place.finalized_number,
        "lag_blocks": report.lag_blocks,
        "halted": halt and {"reason": halt.reason, "at": halt.at.isoformat()},
    }
