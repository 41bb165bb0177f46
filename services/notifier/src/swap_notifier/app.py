"""Wires the notifier: settings, stores, use cases and the consumer."""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from typing import Final
from uuid import uuid4

import orjson

from swap_chains.evm.codec import checksum_address
from swap_contracts.public.catalogue import PublicCatalogue
from swap_contracts.public.rendering import render_webhook
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import SwapChanged
from swap_domain.catalogue import NATIVE, Catalogue
from swap_notifier.adapters.database_clock import DatabaseClock
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.guard import SystemNames, guarded_connector, raise_resolver_threads
from swap_notifier.adapters.http_sender import HttpSender
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.adapters.statements import MESSAGES_DUE
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.windows import Windows
from swap_notifier.handlers import swaps
from swap_notifier.http.admin import EndpointRoutes
from swap_notifier.settings import NotifierGroup, NotifierSettings
from swap_notifier.usecases.add_endpoint import AddEndpoint
from swap_notifier.usecases.check_clock import CheckClock
from swap_notifier.usecases.choose_events import ChooseEvents
from swap_notifier.usecases.create_messages import CreateMessages, Render
from swap_notifier.usecases.deliver_messages import DeliverMessages
from swap_notifier.usecases.discard_messages import DiscardMessages
from swap_notifier.usecases.forget_messages import ForgetMessages
from swap_notifier.usecases.list_sent import ListSent
from swap_notifier.usecases.measure_queue import MeasureQueue
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_notifier.usecases.seal_secrets import SealSecrets
from swap_notifier.usecases.send_test import SendTest
from swap_notifier.usecases.switch_endpoints import SwitchEndpoints
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.wake import Wake
from swap_runtime.process.service import Service, run
from swap_runtime.public_catalogue import public_catalogue
from swap_runtime.sealing import Sealing
from swap_runtime.telemetry.logging import configure_logging

SCHEMA_REVISION: Final = "0011"  # the last of the migrations
REST = timedelta(milliseconds=20)  # so that what is due together is claimed together
DISCARD_INTERVAL = timedelta(minutes=1)
FORGET_INTERVAL = timedelta(hours=1)
CLOCK_INTERVAL = timedelta(minutes=1)
SEAL_INTERVAL = timedelta(minutes=1)
QUEUE_INTERVAL = timedelta(seconds=15)  # as often as metrics are read


def main() -> None:
    configure_logging("notifier")  # first: a wrong setting is logged, too
    settings = NotifierSettings()  # type: ignore[call-arg]  # the environment fills it
    run(
        "notifier",
        settings,
        settings.notifier,
        build,
        publishes=False,
        schema_revision=SCHEMA_REVISION,
    )


async def build(service: Service) -> None:
    group = service.group
    assert isinstance(group, NotifierGroup)
    raise_resolver_threads(asyncio.get_running_loop())
    catalogue = load_catalogue(service.settings.catalogue, checksum_address)
    render = renderer(public_catalogue(catalogue))
    swaps.subscribe(
        service.subscriptions,
        create_messages=CreateMessages(
            PostgresUnitOfWork(service.engine, consumer="notifier"),
            render,
            keep=group.keep_messages,
            clock=service.clock,
        ),
        parking=service.parking("notifier"),
    )
    sealing = Sealing.with_keys([key.get_secret_value() for key in group.secret_keys])
    _deliver(service, group, sealing)
    _administer(service, group, sealing, catalogue, render)


def renderer(catalogue: PublicCatalogue) -> Render:
    """Return what turns a swap into the bytes that every attempt sends."""

    def render(swap: SwapChanged) -> bytes:
        return orjson.dumps(render_webhook(swap, catalogue))

    return render


def _deliver(service: Service, group: NotifierGroup, sealing: Sealing) -> None:
    sender = HttpSender(
        guarded_connector(allow_loopback=group.allow_loopback), timeout=group.attempt_timeout
    )
    windows = Windows(total_max=group.concurrency_max, endpoint_max=group.endpoint_concurrency_max)
    due, ended = service.wakes.on(MESSAGES_DUE), Wake()
    due.set_local_condition(lambda: windows.free > 0)
    deliver_messages = DeliverMessages(
        PostgresDeliveries(service.engine, sealing),
        sender,
        windows,
        due=due,
        ended=ended,
        attempt_timeout=group.attempt_timeout,
        clock=service.clock,
        new_id=uuid4,
        randbelow=secrets.randbelow,
    )
    interval = group.poll_interval

    # They pause after every round, also after a busy one. All possible deliveries are in flight,
    # and their results are stored together.
    async def begin_due() -> None:
        await deliver_messages.begin_due()

    async def record_ended() -> None:
        await deliver_messages.record_ended()

    service.every("begin-deliveries", interval, begin_due, wake=due, rest=REST)
    service.every("record-deliveries", interval, record_ended, wake=ended, rest=REST)
    # Closed in reverse: first what is under way ends, then its connections.
    service.on_stop(sender.close)
    service.on_stop(deliver_messages.finish)


def _administer(
    service: Service, group: NotifierGroup, sealing: Sealing, catalogue: Catalogue, render: Render
) -> None:
    clock = service.clock
    endpoints = PostgresEndpoints(service.engine, sealing)
    messages = PostgresMessages(service.engine)
    forget_messages = ForgetMessages(messages, keep=group.keep_messages, clock=clock)
    discard_messages = DiscardMessages(messages, clock=clock)
    service.every("seal-secrets", SEAL_INTERVAL, SealSecrets(endpoints))
    service.every("discard-messages", DISCARD_INTERVAL, discard_messages)
    service.every("forget-messages", FORGET_INTERVAL, forget_messages)
    service.every("measure-queue", QUEUE_INTERVAL, MeasureQueue(messages, clock=clock))
    service.every(
        "check-clock", CLOCK_INTERVAL, CheckClock(DatabaseClock(service.engine), clock=clock)
    )
    EndpointRoutes(
        list_sent=ListSent(endpoints, messages),
        add_endpoint=AddEndpoint(
            endpoints,
            SystemNames(),
            environment=catalogue.environment,
            allow_loopback=group.allow_loopback,
            clock=clock,
            new_id=uuid4,
            random_bytes=secrets.token_bytes,
        ),
        choose_events=ChooseEvents(endpoints),
        rotate_secret=RotateSecret(endpoints, clock=clock, random_bytes=secrets.token_bytes),
        switch_endpoints=SwitchEndpoints(endpoints, clock=clock),
        replay_messages=ReplayMessages(messages, clock=clock),
        send_test=SendTest(
            messages, render, asset=_any_asset(catalogue), clock=clock, new_id=uuid4
        ),
    ).add_to(service)


def _any_asset(catalogue: Catalogue) -> AssetRef:
    """Return some network's own coin, for an example."""
    network = next(iter(catalogue.networks))
    return AssetRef(
        network=network, token=NATIVE, decimals=catalogue.network(network).token(NATIVE).decimals
    )
