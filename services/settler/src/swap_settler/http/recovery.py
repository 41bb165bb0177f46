"""The recovery after a restore, below `/admin`."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.domain.recovery import Forgotten, Recovery
from swap_settler.usecases.finish_recovery import FinishRecovery

MEANS: Final = (
    "nothing is paid for a swap, deposit or claim that is older than the recovery; newer swaps are "
    "paid. An operator explains each unknown payment (docs/recovery.md), then: swapctl recovery "
    "finish ID"
)


class Order(BaseModel):
    """Who ends it, and why that is right."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class RecoveryAdmin:
    def __init__(self, finish_recovery: FinishRecovery) -> None:
        self._finish_recovery = finish_recovery

    async def show(self, _: web.Request) -> web.Response:
        """Answer `GET /admin/recovery`."""
        found = await self._finish_recovery.find()
        forgotten = await self._finish_recovery.list_forgotten() if found else ()
        return web.json_response(
            {
                "recoveries": [_shown(found)] if found else [],
                "forgotten": [_shown_forgotten(one) for one in forgotten],
            }
        )

    async def finish(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/recovery/{id}/finish`."""
        try:
            order = Order.model_validate_json(await request.read())
            id = int(request.match_info["id"])
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "body"
            return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
        except ValueError:
            return web.json_response({"error": "id: not a number"}, status=400)
        await self._finish_recovery(id, by=order.by, reason=order.reason)
        return web.json_response({"finished": id})


def _shown(recovery: Recovery) -> dict[str, Any]:
    return {
        "id": recovery.id,
        "cause": recovery.cause,
        "reason": recovery.reason,
        "began_at": recovery.began_at.isoformat(),
        "held": recovery.held,
        "means": MEANS,
    }


def _shown_forgotten(one: Forgotten) -> dict[str, Any]:
    return {
        "swap_id": str(one.swap_id),
        "kind": one.kind,
        "network": one.payment.network,
        "transaction_hash": one.payment.transaction_hash,
    }
