"""The root of the command line."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from swapctl.admin_client import AwaitsApproval, RequestFailed
from swapctl.commands import (
    approvals,
    audit,
    books,
    caps,
    claimable,
    doctor,
    fees,
    invariants,
    listen,
    members,
    networks,
    operators,
    parked,
    partners,
    payouts,
    policy,
    reconcile,
    recovery,
    rescue,
    signers,
    stuck,
    swaps,
    trail,
    treasury,
    version,
    webhooks,
)
from swapctl.endpoints import (
    AUDITOR_VARIABLE,
    OPERATOR_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLES,
    NotConfigured,
    ServiceName,
    find_endpoints,
)
from swapctl.port_forwards import PortForwards

AWAITS_APPROVAL = 3
TERMINATED = 128 + signal.SIGTERM
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Operate a swap service: organizations, keys, webhooks, signers, parked messages, audits.",
)
app.add_typer(partners.partner, name="organization")
app.add_typer(partners.partner, name="partner", hidden=True)  # its name in older scripts
app.add_typer(partners.app, name="app")
app.add_typer(partners.key, name="key")
app.add_typer(members.member, name="member")
app.add_typer(members.token, name="token")
app.add_typer(webhooks.webhook, name="webhook")
app.add_typer(swaps.swap, name="swap")
app.add_typer(networks.network, name="network")
app.add_typer(signers.signer, name="signer")
app.add_typer(payouts.payouts, name="payouts")
app.add_typer(caps.caps, name="caps")
app.add_typer(policy.policy, name="policy")
app.add_typer(treasury.treasury, name="treasury")
app.add_typer(recovery.recovery, name="recovery")
app.add_typer(parked.parked, name="parked")
app.add_typer(claimable.claimable, name="claimable")
app.add_typer(fees.fees, name="fees")
app.add_typer(approvals.approvals, name="approvals")
app.add_typer(operators.operator, name="operator")
app.command("audit")(audit.list_orders)
app.command("listen")(listen.listen)
app.command("balances")(books.list_balances)
app.command("losses")(books.list_losses)
app.command("rescue")(rescue.rescue)
app.command("doctor")(doctor.doctor)
app.command("version")(version.list_versions)
app.command("stuck")(stuck.list_stuck)
app.command("reconcile")(reconcile.reconcile)
app.command("trail")(trail.show_trail)
app.command("invariants")(invariants.check_invariants)

Url = Annotated[str | None, typer.Option(help="Address of its internal port.", show_default=False)]


@app.callback()
def root(
    context: typer.Context,
    *,
    stack: Annotated[
        Path | None,
        typer.Option(
            envvar="SWAPCTL_STACK", help="A stack's description; var/stack.json if it exists."
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            envvar="SWAPCTL_NAMESPACE",
            help="A namespace of kubectl's cluster, from which internal ports are forwarded.",
        ),
    ] = None,
    api_url: Url = None,
    quoter_url: Url = None,
    watcher_url: Url = None,
    settler_url: Url = None,
    notifier_url: Url = None,
    dashboard_url: Url = None,
    token: Annotated[str | None, typer.Option(help="The operator's token.")] = None,
    operator: Annotated[
        str | None, typer.Option(help="The name of an operator in the stack's description.")
    ] = None,
    auditor_url: Annotated[str | None, typer.Option(help="The database, read-only.")] = None,
) -> None:
    """Resolve the addresses and tokens of the deployment."""
    urls = {
        ServiceName.API: api_url,
        ServiceName.QUOTER: quoter_url,
        ServiceName.WATCHER: watcher_url,
        ServiceName.SETTLER: settler_url,
        ServiceName.NOTIFIER: notifier_url,
        ServiceName.DASHBOARD: dashboard_url,
    }
    overrides = {URL_VARIABLES[service]: url for service, url in urls.items()}
    named = {
        TOKEN_VARIABLE: token,
        OPERATOR_VARIABLE: operator,
        AUDITOR_VARIABLE: auditor_url,
    }
    if stack is not None and namespace is not None and _chosen_deployment(context) == "stack":
        namespace = None
    forwards = None
    if namespace is not None:
        forwards = PortForwards(namespace)
        context.call_on_close(forwards.close)
    context.obj = find_endpoints(stack, {**overrides, **named}, forwards)


def _chosen_deployment(context: typer.Context) -> str:
    """Return which of two deployments the command names: an option, beside a variable.

    :raises NotConfigured: when both are options, or both are variables.
    """
    chosen = [
        name
        for name in ("stack", "namespace")
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    if len(chosen) != 1:
        raise NotConfigured(
            "--stack (SWAPCTL_STACK) and --namespace (SWAPCTL_NAMESPACE) each name "
            "a deployment: give one of them"
        )
    return chosen[0]


def main() -> None:
    """Run one command. A failure is one line, with exit code 1.

    An order that awaits a second operator is one line, with exit code 3.
    """
    signal.signal(signal.SIGTERM, _exit)  # as other ends do, it ends what the command started
    try:
        app()
    except AwaitsApproval as error:
        typer.echo(f"swapctl: {error}", err=True)
        sys.exit(AWAITS_APPROVAL)
    except (RequestFailed, NotConfigured) as error:
        typer.echo(f"swapctl: {error}", err=True)
        sys.exit(1)


def _exit(_number: int, _frame: FrameType | None) -> None:
    sys.exit(TERMINATED)
