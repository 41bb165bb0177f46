"""Faults that make alerts fire, and their repair.

Each cause is a generator: it causes a fault and yields the alerts that must fire by then. The code
after its last `yield` ends the fault.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final
from uuid import uuid4

import httpx
import psycopg
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from eth_account import Account
from eth_utils.address import to_checksum_address

from swap_runtime.messaging.kafka_security import connection_options
from swap_stack.files import read_json
from swap_stack.processes import Registry, send
from tests.e2e.chains import Chain
from tests.e2e.outside import Outside, Route, call_data, new_address
from tests.e2e.swapctl_commands import swapctl
from tests.e2e.test_reorgs import AT_ONCE, deposit_in_a_block, has_no_balances, shows_inputs
from tests.observability.coverage import CAUSED, PENDING
from tests.observability.monitoring import Monitoring
from tests.plugins.stack import Stack
from tests.support.falsifying_node import a_falsifying_node
from tests.support.waiting import until

Alerts = Sequence[str]
Cause = Callable[[Stack, Outside, Monitoring], AsyncIterator[Alerts]]

REORG_NETWORK: Final = AT_ONCE.source_network
SIGNING: Final = "POLYGON_DEVNET"
FALSE_NODE_NETWORK: Final = "POLYGON_DEVNET"
OUT: Final = Route("ETHEREUM_DEVNET", "ETH", SIGNING, "POL", "0.01")
BACK: Final = Route(FALSE_NODE_NETWORK, "POL", "ETHEREUM_DEVNET", "ETH", "40")
PLAIN: Final = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.1")
BY_ADDRESS: Final = {"use_depository": False, "use_deposit_address": True}
BY: Final = {"by": "a test", "reason": "an alert was caused on purpose"}
TOO_LARGE: Final = 3_000_000  # bytes; a broker accepts about one million
REORG_DEPTH: Final = 2  # less than the finality of a development chain
RESTARTS: Final = 4  # the alert needs more than three
TARGETED: Final = "SELECT count(*) FROM chain_watcher.deposit_target WHERE address = %s"
MOVED: Final = "SELECT count(*) FROM chain_watcher.movement WHERE to_address = %s"
ADD_MESSAGE: Final = """
INSERT INTO {schema}.outbox (message_id, topic, key, payload) VALUES (%s, %s, %s, %s)
"""
PARKED: Final = "SELECT id FROM {schema}.parked WHERE state IN ('parked', 'unverified')"


async def rows(stack: Stack, query: str, *values: object) -> list[tuple[Any, ...]]:
    connection = await psycopg.AsyncConnection.connect(stack.superuser_url, autocommit=True)
    async with connection:
        cursor = await connection.execute(query, values)
        return await cursor.fetchall() if cursor.description else []


async def drop_parked(stack: Stack, service: str) -> None:
    for (parked_id,) in await rows(stack, PARKED.format(schema=service)):
        done = await swapctl(stack, "parked", "drop", str(parked_id), "--service", service)
        assert done.code == 0, done.error


# Messages


async def bad_messages(stack: Stack, _: Outside, __: Monitoring) -> AsyncIterator[Alerts]:
    """A message that no consumer can read, one too large for Kafka, one without an outbox row."""
    sent = {"swap.requests.v1": b"no document", "deposit.hinted.v1": b"x" * TOO_LARGE}
    for topic, payload in sent.items():
        statement = ADD_MESSAGE.format(schema="api")
        await rows(stack, statement, uuid4(), topic, uuid4().hex.encode(), payload)
    await forge_message(stack)
    yield "MessagesParked", "MessagesUnverified", "OutboxMessageTooLarge"
    for service in ("settler", "chain_watcher"):
        await drop_parked(stack, service)


async def forge_message(stack: Stack) -> None:
    producer = AIOKafkaProducer(**connection_options(stack.kafka))
    await producer.start()
    try:
        # Without a position in the outbox, because a position before the watermark is a duplicate.
        headers = [("message_id", str(uuid4()).encode())]
        await producer.send_and_wait(
            "deposit.changed.v1", b"no document", key=uuid4().hex.encode(), headers=headers
        )
    finally:
        await producer.stop()


# Processes


async def unreadable_secrets(
    stack: Stack, outside: Outside, _: Monitoring
) -> AsyncIterator[Alerts]:
    """A notifier that starts with another key than the one that encrypted the secrets."""
    other = base64.b64encode(secrets.token_bytes(32)).decode()
    await stack.restart("notifier", SWAP_NOTIFIER__SECRET_KEYS=json.dumps([other]))
    await outside.swap(PLAIN)
    yield ("WebhookSecretUnreadable",)
    await stack.restart("notifier")


async def restarts(stack: Stack, _: Outside, monitoring: Monitoring) -> AsyncIterator[Alerts]:
    """A console that restarts several times; each start is scraped."""
    seen = {await started_at(monitoring, "console")}
    for _number in range(RESTARTS):
        await stack.restart("console")

        async def is_scraped() -> bool:
            return await started_at(monitoring, "console") not in seen

        await until(is_scraped, what="the new console is scraped", every=0.5)
        seen.add(await started_at(monitoring, "console"))
    yield ("ServiceRestarts",)


async def started_at(monitoring: Monitoring, service: str) -> str:
    """Return the start time in Prometheus, after its first scrape."""
    query = f'process_start_time_seconds{{service="{service}"}}'
    found = await until(lambda: monitoring.query(query), what=query, every=0.5)
    return str(found[0]["value"][1])


async def outage(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """The broker, a chain's node, a partner's receiver and a service are stopped or killed."""
    paused = ("kafka", f"anvil-{SIGNING.lower()}", "webhook-receiver")
    send_signal(stack, paused, signal.SIGSTOP)
    try:
        await outside.swap(PLAIN)  # delivered by the sweeps
        yield "OutboxOld", "ConsumerSilent", "HeadStopped", "WebhooksFail"
    finally:
        send_signal(stack, paused, signal.SIGCONT)
    async with stack.hold("dashboard"):
        yield ("ServiceMissing",)


def send_signal(stack: Stack, names: Sequence[str], number: signal.Signals) -> None:
    for record in Registry(stack.places.processes_file).list_records():
        if record.name in names:
            send(record, number)


# Chains


async def loss(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """A reorg that removes a deposit after its payout; then the deposit is mined again."""
    chain = Chain.of(stack.description, REORG_NETWORK)
    async with chain.stop_mining():
        swap_id, sent = await deposit_in_a_block(outside, chain, AT_ONCE)
        await outside.follow(swap_id, to=["completed"])
        raw = await chain.raw(sent)
        await chain.reorg(1)
        await shows_inputs(outside, swap_id)
        yield "DepositLostAfterPayout", "LossBudgetSpent"
        await chain.call("eth_sendRawTransaction", raw)
        await chain.mine()
        await shows_inputs(outside, swap_id, sent)
    await until(lambda: has_no_balances(stack, swap_id), what="nothing is owed or lost")
    order = {"network": REORG_NETWORK, "is_of_losses": True, **BY}
    await stack.order("settler", "/payouts/go", order)


async def reorgs(stack: Stack, _: Outside, monitoring: Monitoring) -> AsyncIterator[Alerts]:
    """Reorgs that together revert more than ten blocks."""
    chain = Chain.of(stack.description, REORG_NETWORK)

    async def is_noticed() -> bool:
        await chain.reorg(REORG_DEPTH)
        return "firing" in await monitoring.state("ReorgDeep")

    await until(is_noticed, what="ReorgDeep fires", every=1)
    yield ("ReorgDeep",)


async def missing_coins(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """A deposit address with coins that disappear before the sweep."""
    prepared = await outside.partner().create(PLAIN, new_address(), **BY_ADDRESS)
    [action] = prepared["deposit_actions"]
    address = action["to_address"]
    chain = Chain.of(stack.description, PLAIN.source_network)

    async def has_rows(query: str) -> bool:
        [(count,)] = await rows(stack, query, address)
        return int(count) > 0

    await until(lambda: has_rows(TARGETED), what=f"{address} is followed")
    async with stack.hold("settler"):  # it would sweep them
        await outside.fund(prepared, PLAIN)
        await until(lambda: has_rows(MOVED), what=f"coins at {address} are counted")
        held = await chain.call("eth_getBalance", address, "latest")
        await chain.call("anvil_setBalance", address, "0x0")
        yield ("AddressCoinsMissing",)
        await chain.call("anvil_setBalance", address, held)
    await outside.follow(prepared["swap"]["id"])


# Signers and contracts


async def empty_signer(stack: Stack, _: Outside, __: Monitoring) -> AsyncIterator[Alerts]:
    """A signer with less than its ledger balance, which cannot pay for gas."""
    chain = Chain.of(stack.description, SIGNING)
    signer = await signer_of(stack, SIGNING)
    held = await chain.call("eth_getBalance", signer, "latest")
    await chain.call("anvil_setBalance", signer, "0x1")
    yield "SignerHoldsLess", "SignerGasEmpty"
    await chain.call("anvil_setBalance", signer, held)


async def signer_of(stack: Stack, network: str) -> str:
    found = (await stack.admin("settler", "/signers"))["signers"]
    [address] = [row["address"] for row in found if row["network"] == network]
    return str(address)


async def used_nonce(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """The signer's key signs another transaction for the nonce of a payment."""
    chain = Chain.of(stack.description, SIGNING)
    async with chain.stop_mining():
        prepared = await outside.partner().create(OUT, new_address())
        await outside.fund(prepared, OUT)
        await until(chain.has_waiting, what="the output waits for a block")
        external = await replace_waiting(stack, chain)
        await chain.mine(REORG_DEPTH + 1)
    # Payments that the ledger does not explain may mean a restored database, so older payments are
    # held.
    yield "SignerNonceUnexplained", "SignerHalted", "RecoveryOpen"
    resumed = await swapctl(
        stack, "signer", "resume", SIGNING, "--used-by", external, "--reason", BY["reason"]
    )
    assert resumed.code == 0, resumed.error
    yield ("SignerNonceUsedExternally",)
    await outside.follow(prepared["swap"]["id"])


async def replace_waiting(stack: Stack, chain: Chain) -> str:
    """Replace the pending transaction by a transfer of the signer to itself; return its hash."""
    signer = Account.from_key(read_json(stack.places.secrets_file)["signer_key"])
    nonce = await chain.call("eth_getTransactionCount", signer.address, "latest")
    price = int(await chain.call("eth_gasPrice"), 16)
    signed = signer.sign_transaction(
        {
            "type": 2,
            "chainId": int(await chain.call("eth_chainId"), 16),
            "nonce": int(nonce, 16),
            "to": signer.address,
            "value": 0,
            "gas": 21_000,
            "maxFeePerGas": 100 * price,
            "maxPriorityFeePerGas": 50 * price,
        }
    )
    return str(await chain.call("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex()))


async def unknown_operator(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """The Treasury's owner adds an operator that is not in the catalogue."""
    treasury = outside.networks[SIGNING]["contracts"]["treasury"]
    operator = new_address()
    await send_as_owner(stack, treasury, call_data("addOperator(address)", operator))
    await stack.restart("settler")  # a lane compares contracts at its start
    yield ("ContractOperatorUnknown",)
    await send_as_owner(stack, treasury, call_data("removeOperator(address)", operator))
    await stack.restart("settler")


async def send_as_owner(stack: Stack, contract: str, data: str) -> None:
    chain = Chain.of(stack.description, SIGNING)
    answer = await chain.call("eth_call", {"to": contract, "data": call_data("owner()")}, "latest")
    owner = to_checksum_address(answer[-40:])
    await chain.call("anvil_impersonateAccount", owner)
    try:
        sent = await chain.call(
            "eth_sendTransaction", {"from": owner, "to": contract, "data": data}
        )

        async def is_mined() -> bool:
            return await chain.block_of(sent) is not None

        await until(is_mined, what="the owner's transaction is mined")
    finally:
        await chain.call("anvil_stopImpersonatingAccount", owner)


# Nodes


async def false_node(stack: Stack, outside: Outside, _: Monitoring) -> AsyncIterator[Alerts]:
    """A node that hides logs, and then reports another final block than the second node."""
    [url] = outside.networks[FALSE_NODE_NETWORK]["rpc_urls"]
    with a_falsifying_node(url) as node_proxy:
        nodes = json.dumps({FALSE_NODE_NETWORK: [node_proxy.url, url]})
        await stack.restart("chain_watcher", SWAP_NODES=nodes)
        node_proxy.change = hide_logs
        prepared = await outside.partner().create(BACK, new_address())
        await outside.fund(prepared, BACK)
        yield ("MovementMissed",)
        node_proxy.change = report_other_final_block
        yield "NodesContradict", "NetworkHalted"
        node_proxy.change = return_unchanged
        await until(lambda: resume(stack), what=f"{FALSE_NODE_NETWORK} is resumed", every=1)
        await outside.follow(prepared["swap"]["id"])
        await stack.restart("chain_watcher")


def return_unchanged(_: str, __: list[Any], result: Any) -> Any:
    return result


def hide_logs(method: str, _: list[Any], result: Any) -> Any:
    return [] if method == "eth_getLogs" else result


def report_other_final_block(method: str, params: list[Any], result: Any) -> Any:
    if method == "eth_getBlockByNumber" and params[0] == "finalized":
        return {**result, "hash": "0x" + "ab" * 32}
    return result


async def resume(stack: Stack) -> bool:
    try:
        await stack.order("chain_watcher", f"/networks/{FALSE_NODE_NETWORK}/resume", {})
    except httpx.HTTPError:
        return False
    return True


# The causes of a row run one after the other; rows run in parallel.
FIRST: Final[Sequence[Sequence[Cause]]] = (
    (restarts, bad_messages, unreadable_secrets),
    (empty_signer,),
    (loss, reorgs),
)
# They stop services that the others need, and the last one holds payments.
LATER_CAUSES: Final[Sequence[Cause]] = (
    outage, missing_coins, unknown_operator, false_node, used_nonce,
)  # fmt: skip


async def cause_all(
    stack: Stack, outside: Outside, monitoring: Monitoring
) -> Sequence[tuple[str, Exception]]:
    """Run all causes; return the failed ones. A failure does not hide the others."""
    failed: list[tuple[str, Exception]] = []

    async def in_order(causes: Sequence[Cause]) -> None:
        for one in causes:
            try:
                await cause(one, stack, outside, monitoring)
            except Exception as error:
                failed.append((one.__name__, error))

    await asyncio.gather(*(in_order(causes) for causes in FIRST))
    await in_order(LATER_CAUSES)
    return failed


async def cause(one: Cause, stack: Stack, outside: Outside, monitoring: Monitoring) -> None:
    """Cause a fault, wait for its alerts, and end it, even if an alert did not fire."""
    late: list[str] = []
    async for alerts in one(stack, outside, monitoring):
        late += await monitoring.late(CAUSED & set(alerts))
        await monitoring.until_pending(PENDING & set(alerts))
    assert late == [], f"{late} did not fire"
