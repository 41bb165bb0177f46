"""Claimable money: payments that could not be sent, and deposits without a swap."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

claimable = typer.Typer(
    invoke_without_command=True,
    help="Money owed to a known or unknown owner: list it, pay it, or attach it to a swap.",
)
COLUMNS = ("id", "kind", "network", "token", "base_units", "swap_id", "deposit_id")


@claimable.callback()
def list_claimable(context: typer.Context, *, as_json: Json = False) -> None:
    """List balances that an operator has to pay; `suspense` is a deposit without a swap."""
    if context.invoked_subcommand is not None:
        return
    result = internal(context, ServiceName.SETTLER).get_all("/claimable", "claimable")
    show_all(result, as_json=as_json, columns=COLUMNS)


@claimable.command("sweep")
def sweep(
    context: typer.Context,
    network: Annotated[str, typer.Argument(help="The network of the token.")],
    address: Annotated[str, typer.Argument(help="The deposit address.")],
    token: Annotated[str, typer.Argument(help="A symbol, or an address.")],
    *,
    reason: Annotated[str, reason_option("Why is it worth its gas", None)],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Sweep a deposit without a swap, so that its owner can be paid.

    An unsolicited token is not swept automatically, because of its gas.
    """
    body = {"network": network, "address": address, "token": token, "reason": reason}
    show(internal(context, ServiceName.SETTLER).post("/sweeps", body), as_json=as_json)


@claimable.command("pay")
def pay_claimable(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id in the list.")],
    *,
    to: Annotated[str, typer.Option(help="The address of its owner, on the balance's network.")],
    base_units: Annotated[str, typer.Option(help="The full listed amount, as a confirmation.")],
    reason: Annotated[
        str, reason_option("What proves who the owner is", "Stored with the payment.")
    ],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Order the payment of a claimable balance; the service sends it.

    It may need a second operator. A repeated command does not pay twice.
    """
    body = {"to_address": to, "base_units": base_units, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post(f"/claimable/{id}/pay", body)
    show(result, as_json=as_json)


@claimable.command("attach")
def attach_claimable(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id in the list, of kind suspense.")],
    *,
    swap: Annotated[str, typer.Option(help="The swap that it was meant for.")],
    base_units: Annotated[str, typer.Option(help="The full listed amount, as a confirmation.")],
    reason: Annotated[
        str, reason_option("What proves who the owner is", "Stored with the deposit.")
    ],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Attach a deposit without a swap to a swap. It becomes an ordinary deposit."""
    body = {"swap_id": swap, "base_units": base_units, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post(f"/claimable/{id}/attach", body)
    show(result, as_json=as_json)
