"""Stops of signing, and the payment queue."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show_all

payouts = typer.Typer(
    no_args_is_help=True, help="Stop and resume signing, and inspect the payment queue."
)
COLUMNS = ("network", "at", "by", "reason", "means")
NOT_YET = (
    "swapctl: signing is stopped, but a round that started before may still store signed "
    "transactions for some seconds: repeat the command until this message does not appear"
)
ENDED = ("intent_id", "swap_id", "end", "to", "token", "base_units")
QUEUE = ("since", "intent_id", "kind", "network", "token", "base_units", "reason")
NetworkName = Annotated[str | None, typer.Argument(help="A network; without one, all of them.")]


@payouts.command("stops")
def list_stops(context: typer.Context, *, as_json: Json = False) -> None:
    """List the stops of signing with time and reason; `*` means every network."""
    result = internal(context, ServiceName.SETTLER).get("/payouts/stops")["stops"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@payouts.command("stop")
def stop(
    context: typer.Context,
    network: NetworkName = None,
    *,
    reason: Annotated[str, typer.Option(help="Stored permanently.")] = "not said",
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Stop signing. Chains are still watched and requests answered."""
    body = {"network": network, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/payouts/stop", body)
    show_all(result["stops"], as_json=as_json, columns=COLUMNS)
    if not result["nothing_is_signed"]:
        typer.echo(NOT_YET, err=True)
        raise typer.Exit(1)


@payouts.command("go")
def go(
    context: typer.Context,
    network: NetworkName = None,
    *,
    reason: Annotated[str, reason_option("Why is it safe to resume")],
    _by: IgnoredBy = None,
    losses: Annotated[
        bool, typer.Option("--losses", help="Resume what the network's loss budget stopped.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Resume signing where it was stopped; queued payments are sent."""
    body: dict[str, object] = {"network": network, "reason": reason}
    if losses:
        body["is_of_losses"] = True
    result = internal(context, ServiceName.SETTLER).post("/payouts/go", body)["stops"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@payouts.command("queue")
def list_queue(context: typer.Context, *, as_json: Json = False) -> None:
    """List the payments that a cap holds, oldest first, with the reason."""
    result = internal(context, ServiceName.SETTLER).get_all("/payouts/queue", "waiting")
    show_all(result, as_json=as_json, columns=QUEUE)


@payouts.command("pass")
def pass_payment(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="The id in the queue.")],
    *,
    reason: Annotated[str, reason_option("Why is the payment safe")],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Send one payment although its caps are exhausted; it counts under them."""
    body = {"reason": reason}
    port = internal(context, ServiceName.SETTLER)
    result = port.post(f"/payouts/queue/{intent_id}/pass", body)["waiting"]
    show_all(result, as_json=as_json, columns=QUEUE)


@payouts.command("explain")
def explain(
    context: typer.Context,
    network: str,
    transaction_hash: Annotated[
        str, typer.Argument(help="A final external transaction that made a payment of the service.")
    ],
    *,
    reason: Annotated[str, reason_option("What is known about it")],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Reconcile payments with ids that an external transaction used at the Treasury.

    The settler reads the proof from the nodes. A payment that was made as ordered is completed.
    Any other payment can never be made with its id: it fails, and its money is claimable.
    Two exceptions stay open for operators: the recipient got another amount, or the payment has no
    other id (a claim, a partner's fee). A refund or claim that is missing in a restored ledger is
    booked when its recovery has ended.
    """
    body = {"network": network, "transaction_hash": transaction_hash, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/payouts/explain", body)["ended"]
    show_all(result, as_json=as_json, columns=ENDED)
