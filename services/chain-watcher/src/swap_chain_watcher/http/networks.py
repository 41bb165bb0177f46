"""What operators ask and do about networks, below `/admin`."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_chain_watcher.usecases.report_networks import NetworkReport, ReportNetworks
from swap_chain_watcher.usecases.resume_network import ResumeNetwork
from swap_runtime.operators.admin_routes import Order
from swap_runtime.process.service import Service

HALTED: Final = "what was final there changed, and what waits is paid as soon as it is lifted"


def add_routes(
    service: Service,
    *,
    report_networks: ReportNetworks,
    resume_network: ResumeNetwork,
    resuming_needs_two: bool,
) -> None:
    """`GET /admin/networks`, `POST /admin/networks/{network}/resume`."""

    async def needs_second(_: Order) -> str | None:
        return HALTED if resuming_needs_two else None

    async def networks(_: Request) -> Response:
        return JSONResponse({"networks": [_shown(one) for one in await report_networks()]})

    async def resume(order: Order) -> Response:
        network = order.target["network"]
        await resume_network(network)
        return JSONResponse({"network": network, "halted": None})

    service.admin("GET", "/networks", networks)
    service.order("/networks/{network}/resume", resume, needs_second=needs_second)


def _shown(report: NetworkReport) -> dict[str, object]:
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
