"""Deposits by signature, put together."""

from __future__ import annotations

from swap_runtime.process.service import Service
from swap_settler.gasless.usecases.expire_authorizations import ExpireAuthorizations
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.store.unit_of_work import CONSUMER, PostgresUnitOfWork
from swap_settler.settings import SettlerGroup


def build(service: Service, group: SettlerGroup, swap_messages: SwapMessages) -> None:
    expire_authorizations = ExpireAuthorizations(
        PostgresUnitOfWork(service.engine, consumer=CONSUMER),
        clock=service.clock,
        swap_messages=swap_messages,
    )
    service.every("expire-authorizations", group.expiry_interval, expire_authorizations)
