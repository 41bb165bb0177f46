"""Stops of signing, and the queue of payments."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import By
from swapctl.output import Json, show_all

payouts = typer.Typer(
    no_args_is_help=True, help="Stop signing, let it go on, and see what waits for its turn."
)
COLUMNS = ("network", "at", "by", "reason", "means")
NOT_YET = (
    "swapctl: it is stopped, but a round that began before hangs and may still keep what it signs "
    "for some seconds: stop it once more, until this is not said"
)
ENDED = ("intent_id", "swap_id", "end", "to", "token", "base_units")
QUEUE = ("since", "intent_id", "kind", "network", "token", "base_units", "reason")
Where = Annotated[str | None, typer.Argument(help="A network; without one, all of them.")]


@payouts.command("stops")
def list_stops(context: typer.Context, *, as_json: Json = False) -> None:
    """List where nothing is signed, since when and why; `*` is everywhere."""
    result = internal(context, ServiceName.SETTLER).get("/payouts/stops")["stops"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@payouts.command("stop")
def stop(
    context: typer.Context,
    network: Where = None,
    *,
    reason: Annotated[str, typer.Option(help="Kept for ever.")] = "not said",
    _by: By = None,
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
    network: Where = None,
    *,
    reason: Annotated[str, typer.Option(prompt="Why is it right to go on", help="Kept for ever.")],
    _by: By = None,
    losses: Annotated[
        bool, typer.Option("--losses", help="What the network's loss budget stopped.")
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
    result = internal(context, ServiceName.SETTLER).get("/payouts/queue")["waiting"]
    show_all(result, as_json=as_json, columns=QUEUE)


@payouts.command("pass")
def pass_payment(
    context: typer.Context,
    intent_id: Annotated[str, typer.Argument(help="As it is listed in the queue.")],
    *,
    reason: Annotated[str, typer.Option(prompt="Why may it go now", help="Kept for ever.")],
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Let one payment leave although its caps are used up; it counts under them."""
    body = {"reason": reason}
    port = internal(context, ServiceName.SETTLER)
    result = port.post(f"/payouts/queue/{intent_id}/pass", body)["waiting"]
    show_all(result, as_json=as_json, columns=QUEUE)


@payouts.command("explain")
def explain(
    context: typer.Context,
    network: str,
    transaction_hash: Annotated[
        str, typer.Argument(help="Final, not signed here, and it paid what one of ours was to pay.")
    ],
    *,
    reason: Annotated[str, typer.Option(prompt="How did it come about", help="Kept for ever.")],
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Reconcile payments whose ids at the Treasury an external transaction spent.

    The settler asks the nodes for the proof. What was paid as ordered is made; what was not can
    never be made by its id: it fails, and its money is claimable. What its own recipient got as
    another sum, or what has no other id (a claim, a partner's fee), is left for people to settle.
    A refund or claim that a restored ledger has forgotten is booked once its recovery has ended.
    """
    body = {"network": network, "transaction_hash": transaction_hash, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/payouts/explain", body)["ended"]
    show_all(result, as_json=as_json, columns=ENDED)
