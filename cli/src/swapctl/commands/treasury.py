"""Plans for the Treasuries. Nothing is sent from here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from swapctl import checkup
from swapctl.admin_client import RequestFailed
from swapctl.auditor import Auditor, Row, open_auditor
from swapctl.call_data import WrongAddress, check_address, encode_call
from swapctl.context import get_endpoints
from swapctl.endpoints import Endpoints, NotConfigured
from swapctl.network_nodes import find_nodes
from swapctl.node_rpc import NATIVE
from swapctl.output import Json, show_all
from swapctl.treasury_plan import (
    TRANSFER,
    WITHDRAW,
    GasTank,
    Holding,
    Move,
    Plan,
    Step,
    free_target,
    make_plan,
)

treasury = typer.Typer(no_args_is_help=True, help="Plans for the Treasuries; nothing is sent.")
STEPS: Final = ("network", "sender", "to", "value", "data", "why")

INVENTORY: Final = """
SELECT inventory.network, inventory.token, held_base_units, owed_base_units,
       (SELECT address FROM settler.account WHERE kind = 'custody' AND holder = 'treasury'
            AND account.network = inventory.network ORDER BY id DESC LIMIT 1) AS treasury
FROM settler.inventory ORDER BY inventory.network, inventory.token
"""
CAPS: Final = """
SELECT network, token, units FROM settler.outflow_cap
WHERE units IS NOT NULL AND token IS NOT NULL AND app_id IS NULL
"""
SIGNERS: Final = "SELECT network, address FROM settler.signer ORDER BY network, address"
FUNDER_MISSING: Final = "inventory leaves a Treasury: name its recipient with --funder"
WRONG_USE: Final = 2  # exit code of a command line that cannot be carried out


def _read_funder(text: str | None) -> str | None:
    """
    :raises typer.BadParameter: when it is not an address, or is the zero address.
    """
    if text == NATIVE:
        raise typer.BadParameter("the zero address has no owner")
    try:
        return None if text is None else check_address(text)
    except WrongAddress as error:
        raise typer.BadParameter(str(error)) from error


@treasury.command("plan")
def show_plan(
    context: typer.Context,
    *,
    targets: Annotated[
        Path | None,
        typer.Option(
            help='JSON: {"tokens": {"NETWORK": {"SYMBOL": {"contract": null or address, '
            '"decimals": 6, "target": "250000"}}}}. Required without a stack.'
        ),
    ] = None,
    funder: Annotated[
        str | None,
        typer.Option(
            callback=_read_funder,
            help="The address that inventory passes through; one of the funders. Required if "
            "inventory leaves a Treasury.",
        ),
    ] = None,
    payouts: Annotated[
        int, typer.Option(help="Number of payouts for which a signer should have gas.")
    ] = 1000,
    as_json: Json = False,
) -> None:
    """Print the transactions that bring each Treasury and each signer to its target.

    Liabilities are never moved. Without a target, a token's cap on its network is the target. The
    operator bridges between networks: a plan names the amounts that leave and that must arrive.
    """
    known = get_endpoints(context)
    tokens = _tokens(known, targets)
    with open_auditor(known.auditor_url) as auditor:
        holdings = list(_holdings(auditor, tokens))
        tanks = list(_tanks(auditor, known))
    plan = make_plan(holdings)
    if plan.moves and funder is None:
        typer.echo(f"swapctl: {FUNDER_MISSING}", err=True)
        raise typer.Exit(WRONG_USE)
    try:
        steps = list(_inventory_steps(plan, funder))
    except WrongAddress as error:
        raise RequestFailed(f"the database contains an invalid address: {error}") from error
    for tank in tanks:
        if missing := tank.top_up(payouts):
            why = f"gas for {payouts} payouts"
            steps.append(Step(tank.network, "anybody", tank.signer, str(missing), "0x", why))
    show_all([asdict(step) for step in steps], as_json=as_json, columns=STEPS)


def _inventory_steps(plan: Plan, funder: str | None) -> Iterator[Step]:
    for move in plan.moves:
        assert funder is not None, "a plan with moves is refused without a funder"
        yield from _steps(move, funder)
    for short in plan.shortages:
        symbol, units = short.holding.symbol, short.missing
        why = f"{units} base units of {symbol} from outside: no network can spare them"
        yield _transfer(short.holding, units, why=why)


def _tokens(known: Endpoints, targets: Path | None) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Return symbol, decimals and target of each token, by network and lower-case address.

    :raises NotConfigured: when no tokens are known.
    """
    if targets is not None:
        try:
            document = json.loads(targets.read_text())["tokens"]
            return {
                (network, (row["contract"] or NATIVE).lower()): {"symbol": symbol, **row}
                for network, rows in document.items()
                for symbol, row in rows.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RequestFailed(f"{targets} cannot be used: {error!r}") from error
    found = {
        (network["name"], (row["contract"] or NATIVE).lower()): row
        for network in known.stack.get("networks", ())
        for row in network["tokens"]
    }
    if not found:
        raise NotConfigured("no token is configured: name a file with --targets, or a stack")
    return found


def _holdings(
    auditor: Auditor, tokens: Mapping[tuple[str, str], Mapping[str, Any]]
) -> Iterator[Holding]:
    caps = auditor.rows(CAPS)
    for row in auditor.rows(INVENTORY):
        token = tokens.get((row["network"], row["token"].lower()))
        if token is None or row["treasury"] is None:
            continue
        decimals = int(token["decimals"])
        chosen = token.get("target")
        yield Holding(
            symbol=str(token["symbol"]),
            network=row["network"],
            token=row["token"],
            decimals=decimals,
            treasury=row["treasury"],
            held=int(row["held_base_units"]),
            owed=int(row["owed_base_units"]),
            target=free_target(
                caps_per_window=_caps_of(caps, row),
                chosen=None if chosen is None else int(Decimal(str(chosen)).scaleb(decimals)),
            ),
        )


def _caps_of(caps: Sequence[Row], row: Row) -> Sequence[int]:
    asset = row["network"], row["token"].lower()
    return [int(cap["units"]) for cap in caps if (cap["network"], cap["token"].lower()) == asset]


def _tanks(auditor: Auditor, known: Endpoints) -> Iterator[GasTank]:
    nodes = find_nodes(known)
    for row in auditor.rows(SIGNERS):
        network, address = row["network"], row["address"]
        if network not in nodes:
            continue
        balance, price = nodes[network].ask(
            lambda node, address=address: (node.balance(address), node.gas_price())  # type: ignore[misc]
        )
        yield GasTank(network, address, balance, max(price, 1) * checkup.PAYOUT_GAS)


def _steps(move: Move, funder: str) -> Iterator[Step]:
    source, destination = move.source, move.destination
    yield Step(
        network=source.network,
        sender="owner of the Treasury",
        to=source.treasury,
        value="0",
        data=encode_call(WITHDRAW, source.token, funder, move.source_units),
        why=f"{move.source_units} base units of {move.symbol} leave for {destination.network}",
    )
    why = f"{move.destination_units} base units of {move.symbol} arrive, once they are bridged"
    yield _transfer(destination, move.destination_units, why=why)


def _transfer(holding: Holding, units: int, *, why: str) -> Step:
    """Return a transfer by a funder to the Treasury."""
    is_native = holding.token == NATIVE
    return Step(
        network=holding.network,
        sender="funder",
        to=holding.treasury if is_native else holding.token,
        value=str(units) if is_native else "0",
        data="0x" if is_native else encode_call(TRANSFER, holding.treasury, units),
        why=why,
    )
