"""The steps of a deposit that the user's wallet makes, as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from swap_api.funding.adapters.gasless_rendering import WITHOUT_DATA
from swap_api.funding.adapters.manual_transfers import payment_uri_of, without_data
from swap_api.model.deposit_actions import StepStatus
from swap_api.read_model.swaps import StoredSwap
from swap_chains.evm.codec import encode_approve

DEPOSIT_ERC20_ARGUMENTS: Final = 4  # swap id, token, receiver, amount
# About three times what the costliest token takes.
GAS_LIMIT_APPROVE: Final = 150_000
EXTRA: Final = ("step", "status", "signing_standard", "expires_at", "detail")


class JsonApprovalRendering:
    """From what is to be done to the bytes that are answered."""

    def pull_of(self, stored: StoredSwap) -> Pull | None:
        """Return what the Depository will take out of the wallet; None where it takes nothing."""
        if stored.rendered.action is None:
            return None
        action = orjson.loads(stored.rendered.action)
        arguments: list[str] = action["encoded_args"] or []
        if action["type"] != "transfer" or len(arguments) != DEPOSIT_ERC20_ARGUMENTS:
            return None
        _, token, _, units = arguments
        return Pull(action["network"]["name"], token, action["to_address"], int(units))

    def approval(self, stored: StoredSwap, pull: Pull) -> bytes:
        assert stored.rendered.action is not None, "only what waits for a deposit is asked for"
        data = encode_approve(pull.spender, pull.base_units)
        return orjson.dumps(
            {
                **orjson.loads(stored.rendered.action),
                "type": "approve",
                "to_address": pull.token,
                "call_data": f"0x{data.hex()}",
                "gas_limit": str(GAS_LIMIT_APPROVE),
                "encoded_args": [pull.spender, str(pull.base_units)],
            }
        )

    def steps(self, stored: StoredSwap, approval: bytes | None) -> bytes:
        """Return the list of `GET …/deposit_actions`: each step with its status."""
        expires_at = stored.expires_at.isoformat()
        if approval is None:
            rendered_action = stored.rendered.action
            action = (
                without_data(stored) if rendered_action is None else orjson.loads(rendered_action)
            )
            step = _step(action, "deposit", stored.rendered.step_status, expires_at)
            return orjson.dumps([{**step, "detail": payment_uri_of(rendered_action)}])
        first = _step(orjson.loads(approval), "approve", StepStatus.ACTION_REQUIRED, expires_at)
        then = _step({**WITHOUT_DATA, "order": 2}, "deposit", StepStatus.PENDING, expires_at)
        return orjson.dumps([first, then])

    def next_of(self, steps: bytes) -> bytes:
        """Return the step to go now as the one thing to do; null when none is to be gone."""
        to_go = [s for s in orjson.loads(steps) if s["status"] == StepStatus.ACTION_REQUIRED]
        if not to_go:
            return b"null"
        [step] = to_go
        members = {name: step.pop(name) for name in EXTRA}
        return orjson.dumps({**members, "action": step})

    def action_of(self, next_action: bytes) -> bytes | None:
        """Return what the user's wallet is to do of the one thing to do, as it stands inline."""
        next_step = orjson.loads(next_action)
        return None if next_step is None else orjson.dumps(next_step["action"])

    def without_signer(self, step: str, detail: str) -> bytes:
        """Return the next action while its signer is unknown."""
        members = {"step": step, "status": StepStatus.ACTION_REQUIRED, "signing_standard": None}
        return orjson.dumps({**members, "action": None, "expires_at": None, "detail": detail})


def _step(action: dict[str, Any], step: str, status: str, expires_at: str) -> dict[str, Any]:
    more = {"step": step, "status": status, "signing_standard": None, "detail": None}
    return {**action, **more, "expires_at": expires_at}


@dataclass(frozen=True, slots=True)
class Pull:
    """What a contract will take out of the user's wallet, once that was approved."""

    network: str
    token: str
    spender: str
    base_units: int
