"""Each part starts, answers, stops, and keeps its persistent data."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from deploy.embedded.tests.chain_state import wait_until_written
from swap_stack.contracts import deploy_and_fund, find_deployment
from swap_stack.daemon import Daemon, StackError
from swap_stack.database import DATABASE, FinalBlock, make_roles
from swap_stack.infrastructure import require_nothing_final_lost
from swap_stack.keys import LOGIN_ROLES, development_keys
from swap_stack.node import Node
from swap_stack.parts.anvil import CHAINS, Anvil
from swap_stack.parts.broker import BrokerChoice, choose_broker, make_broker
from swap_stack.parts.kafka import unavailable_reason
from swap_stack.parts.postgres import Postgres
from swap_stack.parts.valkey import Valkey
from swap_stack.places import Places, default_places
from swap_stack.ports import Ports, is_free
from swap_stack.processes import Registry, end, send

pytestmark = [pytest.mark.connected, pytest.mark.timeout(90)]


class Workshop:
    """An empty folder of a stack."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder, default_places().root)
        self.ports = Ports(self.places.ports_file)
        self.registry = Registry(self.places.processes_file)

    def postgres(self) -> Postgres:
        return Postgres(self.places, self.ports, self.registry, "secret")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "var")
    yield workshop
    for record in workshop.registry.list_alive():
        asyncio.run(end(record))


async def start(part: Daemon) -> None:
    await part.start()  # type: ignore[attr-defined]
    await part.ready()


async def test_postgres_keeps_its_data_over_a_restart(workshop: Workshop) -> None:
    first = workshop.postgres()
    await start(first)
    with psycopg.connect(first.url()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT uuidv7() AS id")
    await first.stop()

    second = Postgres(
        workshop.places, Ports(workshop.places.ports_file), workshop.registry, "secret"
    )
    await start(second)

    assert second.port == first.port
    with psycopg.connect(second.url()) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (1,)
    await second.stop()


async def test_no_view_of_the_auditor_s_holds_up_a_migration(workshop: Workshop) -> None:
    postgres, root = workshop.postgres(), workshop.places.root
    passwords = dict.fromkeys(LOGIN_ROLES, "secret")
    await start(postgres)
    await make_roles(postgres, root, passwords)
    with psycopg.connect(postgres.url(DATABASE), autocommit=True) as connection:
        connection.execute("CREATE TABLE settler.thing (name text)")
        connection.execute("CREATE SCHEMA invariant")
        connection.execute("CREATE VIEW invariant.thing AS SELECT name FROM settler.thing")

    await make_roles(postgres, root, passwords)

    with psycopg.connect(postgres.url(DATABASE), autocommit=True) as connection:
        connection.execute("ALTER TABLE settler.thing ALTER name TYPE varchar(9)")
        changed = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'name'"
        of_thing = f"{changed} AND attrelid = 'settler.thing'::regclass"
        assert connection.execute(of_thing).fetchone() == ("character varying(9)",)
    await postgres.stop()


async def test_valkey_starts_and_stops(workshop: Workshop) -> None:
    valkey = Valkey(workshop.places, workshop.ports, workshop.registry)
    await start(valkey)
    await valkey.stop()

    assert is_free(valkey.port)
    assert workshop.registry.list_records() == ()


@pytest.mark.parametrize("kind", ["kafka", "embedded"])
async def test_a_broker_starts_and_stops(workshop: Workshop, kind: str) -> None:
    if kind == "kafka" and (reason := unavailable_reason(workshop.places)):
        pytest.skip(reason)
    choice = BrokerChoice(kind, "asked for")
    broker = make_broker(choice, workshop.places, workshop.ports, workshop.registry)
    await start(broker)
    assert broker.is_running()
    await broker.stop()

    assert is_free(broker.port)


async def test_a_chain_continues_after_a_restart(workshop: Workshop) -> None:
    def anvil() -> Anvil:
        ports = Ports(workshop.places.ports_file)
        return Anvil(CHAINS[2], workshop.places, ports, workshop.registry)

    first = anvil()
    await start(first)
    node = Node(first.rpc_url)
    await node.call("anvil_setBalance", "0x" + "11" * 20, "0x7")
    await node.call("anvil_mine", "0x5")
    head = await node.number("eth_blockNumber")
    await first.stop()

    second = anvil()
    await start(second)

    assert await node.number("eth_blockNumber") >= head
    for block in ("latest", "finalized"):
        assert await node.call("eth_getBalance", "0x" + "11" * 20, block) == "0x7"
    await second.stop()


@pytest.mark.slow
async def test_a_chain_is_recognised_after_five_restarts_and_a_kill(workshop: Workshop) -> None:
    chain, root, file = CHAINS[2], workshop.places.root, workshop.places.deployment_file

    async def started() -> tuple[Anvil, Node]:
        ports = Ports(workshop.places.ports_file)
        anvil = Anvil(chain, workshop.places, ports, workshop.registry)
        await start(anvil)
        return anvil, Node(anvil.rpc_url)

    anvil, node = await started()
    keys = development_keys("0x" + "11" * 32)
    deployment = await deploy_and_fund(file, root, chain, node, keys)
    for _ in range(5):
        await anvil.stop()
        anvil, node = await started()
        assert await find_deployment(file, chain, node) == deployment
    state = workshop.places.var / f"anvil/{chain.network}.json"
    await asyncio.to_thread(wait_until_written, state)
    (record,) = workshop.registry.list_alive()
    send(record, signal.SIGKILL)
    await anvil.stop()

    anvil, node = await started()
    assert await find_deployment(file, chain, node) == deployment
    await anvil.stop()


async def test_a_recreated_chain_is_not_mistaken_for_the_former_one(workshop: Workshop) -> None:
    chain, root, file = CHAINS[2], workshop.places.root, workshop.places.deployment_file
    earlier = Anvil(chain, workshop.places, workshop.ports, workshop.registry)
    keys = development_keys("0x" + "11" * 32)
    await start(earlier)
    await deploy_and_fund(file, root, chain, Node(earlier.rpc_url), keys)
    await earlier.stop()
    (workshop.places.var / f"anvil/{chain.network}.json").unlink()
    # Two chains that start in the same second have the same blocks.
    begin = ["--timestamp", "1700000000"]
    anvil = Anvil(chain, workshop.places, workshop.ports, workshop.registry, begin)
    await start(anvil)
    node = Node(anvil.rpc_url)
    # The same key and the same nonce give the same addresses.
    elsewhere = workshop.places.var / "another.json"
    await deploy_and_fund(elsewhere, root, chain, node, keys)

    with pytest.raises(StackError, match="lost its contracts"):
        await find_deployment(file, chain, node)
    await anvil.stop()


async def test_a_chain_that_lost_a_final_block_is_refused(workshop: Workshop) -> None:
    chain = CHAINS[2]
    anvil = Anvil(chain, workshop.places, workshop.ports, workshop.registry)
    await start(anvil)
    node, in_full = Node(anvil.rpc_url), False
    await node.call("anvil_mine", "0x5")
    [final, lost] = [
        FinalBlock(chain.network, number, block["hash"])
        for number in (2, 4)
        if (block := await node.call("eth_getBlockByNumber", hex(number), in_full))
    ]
    depth = await node.number("eth_blockNumber") - final.number
    await node.call("anvil_reorg", depth, [])

    await require_nothing_final_lost({chain.network: node}, [final])
    with pytest.raises(StackError, match="block 4, which was final"):
        await require_nothing_final_lost({chain.network: node}, [final, lost])
    await require_nothing_final_lost({}, [lost])  # another catalogue's network
    await anvil.stop()


async def test_a_chain_that_was_killed_during_a_write_reports_it(workshop: Workshop) -> None:
    state = workshop.places.var / "anvil/POLYGON_DEVNET.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"block": {"number": "0x1')
    torn = Anvil(CHAINS[2], workshop.places, workshop.ports, workshop.registry)

    with pytest.raises(StackError, match="FRESH=1"):
        await start(torn)


async def test_a_part_that_cannot_start_reports_the_reason(workshop: Workshop) -> None:
    wrong = Anvil(
        CHAINS[0], workshop.places, workshop.ports, workshop.registry, ["--no-such-argument"]
    )
    with pytest.raises(StackError, match="no-such-argument"):
        await start(wrong)


def test_an_unknown_broker_is_refused(workshop: Workshop) -> None:
    with pytest.raises(StackError, match="BROKER=rabbit"):
        choose_broker("rabbit", workshop.places)
