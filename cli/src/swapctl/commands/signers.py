"""The hot keys that sign payments."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

signer = typer.Typer(no_args_is_help=True, help="The keys that sign payments.")
COLUMNS = (
    "network", "address", "next_nonce", "open_slots", "oldest_slot_seconds", "halted", "means",
    "act",
)  # fmt: skip


@signer.command("list")
def list_signers(context: typer.Context, *, as_json: Json = False) -> None:
    """List each signer with its open nonces, its halt, and the next action."""
    signers = internal(context, ServiceName.SETTLER).get("/signers")["signers"]
    show_all(signers, as_json=as_json, columns=COLUMNS)


@signer.command("resume")
def resume_signers(
    context: typer.Context,
    network: str,
    *,
    reason: Annotated[str, reason_option("Why is it safe to resume", "Stored with the signer.")],
    _by: IgnoredBy = None,
    address: Annotated[
        str | None, typer.Option("--signer", help="Only this signer of the network.")
    ] = None,
    used_by: Annotated[
        list[str] | None,
        typer.Option(help="A final external transaction that used its nonce; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Resume a network's halted signers once the cause is known.

    With --used-by the settler verifies at the nodes which transactions used the nonces, and
    reassigns their payments.
    """
    body: dict[str, object] = {"reason": reason, "address": address}
    if used_by:
        body["used_by"] = used_by
    result = internal(context, ServiceName.SETTLER).post(f"/signers/{network}/resume", body)
    show(result, as_json=as_json)
