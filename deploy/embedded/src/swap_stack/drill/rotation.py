"""`make drill-rotate`: keys, passwords and a certificate are replaced while a swap is under way."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
import psycopg
import yaml
from psycopg import sql

from swap_sdk import AsyncClient
from swap_stack.daemon import StackError
from swap_stack.demo.journeys import NATIVE_TO_NATIVE
from swap_stack.deploying import mine_transaction
from swap_stack.down import down
from swap_stack.drill.checks import require_invariants, require_paid_once
from swap_stack.drill.fleet import ORDER, Fleet, with_settings
from swap_stack.infrastructure import Infrastructure
from swap_stack.keys import DevelopmentKey, Secrets, development_keys, key_of, load_or_make
from swap_stack.node import Node
from swap_stack.options import Options
from swap_stack.partners import Operator
from swap_stack.parts.kafka import Kafka, unavailable_reason
from swap_stack.places import Places
from swap_stack.ports import PortsInUse
from swap_stack.processes import Registry
from swap_stack.report import Report
from swap_stack.services import ON_KAFKA
from swap_stack.swaps import PlannedSwap, open_swaps
from swap_stack.up import up
from swap_stack.wallet import Wallet, call_data

PATIENCE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.5
GAS_MONEY: Final = 100 * 10**18
OPERATED: Final = ("treasury", "paymaster")
ROLES: Final = ("api", "quoter", "chain_watcher", "settler", "notifier", "dashboard")


@dataclass(frozen=True, slots=True)
class Rotation:
    """One secret, and how it is replaced."""

    name: str
    run: Callable[[], Awaitable[None]]


class Rotations:
    """The steps of docs/key-rotation.md, on a running stack."""

    def __init__(
        self,
        fleet: Fleet,
        stack: Mapping[str, Any],
        made: Secrets,
        broker: Kafka | None,
        session: aiohttp.ClientSession,
    ) -> None:
        """
        :param broker: a secured one, or None where the broker asks for no login.
        """
        self._fleet = fleet
        self._stack = stack
        self._made = made
        self._broker = broker
        self._session = session
        self._urls = {row["name"]: row["internal_url"] for row in stack["services"]}

    def list_all(self) -> Sequence[Rotation]:
        """Return the rotations in an order in which each stands alone."""
        found = [
            Rotation("keys of pay links", self.rotate_pay_link_keys),
            Rotation("pepper of API keys", self.rotate_pepper),
            Rotation("sealing keys", self.rotate_sealing_keys),
            Rotation("passwords of roles", self.rotate_role_passwords),
            Rotation("hot signer", self.rotate_signer),
        ]
        if self._broker is not None:
            found += [
                Rotation("passwords of Kafka", self.rotate_kafka_passwords),
                Rotation("certificate of Kafka", self.rotate_kafka_certificate),
            ]
        return found

    async def rotate_pay_link_keys(self) -> None:
        old, new = self._made.pay_link_key, secrets.token_urlsafe(32)
        for keys in ([old, new], [new, old], [new]):
            await self._set("api", SWAP_API__PAY_LINK_KEYS=_json(keys))

    async def rotate_pepper(self) -> None:
        old, new = self._made.key_pepper, secrets.token_urlsafe(32)
        await self._set("api", SWAP_API__OTHER_KEY_PEPPERS=_json([new]))
        await self._set("api", SWAP_API__KEY_PEPPER=new, SWAP_API__OTHER_KEY_PEPPERS=_json([old]))
        await self._use_key()
        await self._set("api", SWAP_API__OTHER_KEY_PEPPERS="[]")
        await self._use_key()

    async def rotate_sealing_keys(self) -> None:
        new = b64encode(secrets.token_bytes(32)).decode()
        for name, old in (
            ("notifier", self._made.webhook_key),
            ("dashboard", self._made.dashboard_key),
        ):
            variable = f"SWAP_{name.upper()}__SECRET_KEYS"
            await self._set(name, **{variable: _json([old, new])})
            await self._set(name, **{variable: _json([new, old])})
        await self._until(self._all_are_sealed_anew, "secrets of webhooks are sealed with the new")
        await self._set("notifier", SWAP_NOTIFIER__SECRET_KEYS=_json([new]))

    async def rotate_role_passwords(self) -> None:
        url = self._stack["postgres"]["url"]
        for role in ROLES:
            password, variable = secrets.token_urlsafe(24), f"SWAP_{role.upper()}__DATABASE_URL"
            env = self._fleet.services[role].env
            new = env[variable].replace(self._made.role_passwords[role], password)
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as admin:
                change = sql.SQL("ALTER ROLE {} PASSWORD {}")
                await admin.execute(change.format(sql.Identifier(role), sql.Literal(password)))
            await self._set(role, **{variable: new})

    async def rotate_signer(self) -> None:
        operator = Operator.of_stack(self._stack)
        old, new = key_of(self._made.signer_key), key_of("0x" + secrets.token_hex(32))
        await self._change_operators("addOperator(address)", new)
        for network in self._stack["networks"]:
            node = Node(network["rpc_urls"][0])
            funder = await Wallet.open(node, development_keys(old.private_key).funder.private_key)
            await mine_transaction(node, await funder.pay(new.address, GAS_MONEY))
        self._write_signers([old.address, new.address])
        await self._set(
            *("chain_watcher", "settler"),
            SWAP_SETTLER__SIGNER_KEYS=_json({one.address: one.private_key for one in (old, new)}),
            SWAP_SETTLER__RETIRED_SIGNERS=_json([old.address]),
        )

        async def has_nothing_open() -> bool:
            rows = operator.run("signer", "list")
            return not any(row["open_slots"] for row in rows if row["address"] == old.address)

        await self._until(has_nothing_open, "the old signer has nothing in flight")
        self._write_signers([new.address])
        await self._set(
            *("chain_watcher", "settler"),
            SWAP_SETTLER__SIGNER_KEYS=_json({new.address: new.private_key}),
            SWAP_SETTLER__RETIRED_SIGNERS="[]",
        )
        await self._change_operators("removeOperator(address)", old)

    async def rotate_kafka_passwords(self) -> None:
        assert self._broker is not None
        for name in ON_KAFKA:
            password = secrets.token_urlsafe(24)
            await self._broker.set_passwords({name: password})
            await self._set(name, SWAP_KAFKA__PASSWORD=password)

    async def rotate_kafka_certificate(self) -> None:
        """The certificate is its own authority, so clients have to trust the next one first."""
        assert self._broker is not None
        await self._broker.add_certificate()
        await self._set(*ON_KAFKA)
        await self._broker.restart_with_added_certificate()
        await self._broker.remove_former_certificate()
        await self._set(*ON_KAFKA)

    async def _change_operators(self, function: str, of: DevelopmentKey) -> None:
        owner_key = development_keys(self._made.signer_key).owner.private_key
        for network in self._stack["networks"]:
            node = Node(network["rpc_urls"][0])
            owner = await Wallet.open(node, owner_key)
            for contract in OPERATED:
                data = call_data(function, of.address)
                await mine_transaction(
                    node, await owner.send(network["contracts"][contract], data=data)
                )

    def _write_signers(self, addresses: Sequence[str]) -> None:
        """Write the catalogue that the services read at their next start."""
        path = Path(self._fleet.services["settler"].env["SWAP_CATALOGUE"])
        catalogue = yaml.safe_load(path.read_text())
        for network in catalogue["networks"]:
            network["signers"] = list(addresses)
        path.write_text(yaml.safe_dump(catalogue, sort_keys=False))

    async def _set(self, *names: str, **settings: str) -> None:
        await self._fleet.replace(sorted(names, key=ORDER.index), with_settings(**settings))

    async def _use_key(self) -> None:
        """Ask with each partner's key: it is hashed anew when it is used.

        :raises SwapError: when one does not open any more.
        """
        for partner in self._stack["partners"]:
            async with AsyncClient(self._stack["gateway"]["url"], partner["api_key"]) as client:
                await client.networks()

    async def _all_are_sealed_anew(self) -> bool:
        async with self._session.get(f"{self._urls['notifier']}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if line.startswith("swap_notifier_sec"))
        others = [float(n) for name, n in values.items() if "otherwise" in name or "clear" in name]
        return bool(values) and not any(others)

    async def _until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not await is_so():
            if asyncio.get_running_loop().time() > deadline:
                raise StackError(f"not within {PATIENCE_SECONDS:.0f} s: {what}")
            await asyncio.sleep(POLL_SECONDS)


def _json(value: Sequence[str] | Mapping[str, str]) -> str:
    """Return a value of a setting that is JSON."""
    return orjson.dumps(value).decode()


async def rotate_all(
    places: Places, stack: Mapping[str, Any], options: Options, report: Report
) -> None:
    """Run a swap across each rotation, and check what was paid.

    :raises StackError: when a swap does not complete, or money is not where it should be.
    """
    made = load_or_make(places.secrets_file)
    registry = Registry(places.processes_file)
    parts = Infrastructure.of(places, PortsInUse(places.ports_file), registry, made, options)
    secured = parts.broker if parts.broker_choice.is_secured else None
    fleet = Fleet(places, stack)
    with report.time_step("services", "without a supervisor, one by one"):
        await fleet.take_over()
    crossed: list[PlannedSwap] = []
    async with aiohttp.ClientSession() as session, open_swaps(stack) as swaps:
        broker = secured if isinstance(secured, Kafka) else None
        if broker is None:
            report.print_step("login of Kafka", "not rotated: this broker has no login and no TLS")
        for rotation in Rotations(fleet, stack, made, broker, session).list_all():
            planned = PlannedSwap(f"across {rotation.name}", NATIVE_TO_NATIVE)
            await swaps.create(planned)
            await swaps.pay(planned)
            with report.time_step(rotation.name, "replaced"):
                await rotation.run()
            report.print_step(
                await swaps.follow(planned), f"{swaps.id_of(planned)}, {planned.name}"
            )
            crossed.append(planned)
        await require_paid_once(stack, swaps, crossed)
        await require_invariants(places)


async def drill(places: Places, options: Options, report: Report) -> None:
    """Rotate everything on a stack of its own, from nothing, and stop.

    :raises StackError: when a swap does not complete, or money is not where it should be.
    """
    security = (
        "scram" if options.broker != "embedded" and unavailable_reason(places) is None else "none"
    )
    fresh = replace(options, fresh=True, kafka_security=security)
    stack = await up(places, fresh, report)
    try:
        await rotate_all(places, stack, replace(fresh, fresh=False), report)
    finally:
        await down(places, report)
    report.print_step("nothing was lost", "each swap was paid once, and no invariant is violated")
