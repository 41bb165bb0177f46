"""A durable create in plain code that stores the same rows as the service's create, one by one.

A create of the service (without an idempotency key) finds the API key by its hash. It checks
whether an address is one of its deposit addresses, and prices the swap. It writes two rows in one
transaction: the swap with its rendered document, and the message to the settler. These two
baselines do the same, in tables with the columns and the indexes of the service:

- with a framework and an ORM: a dependency finds the key. Models come in and out, each request has
  a session, and objects are added and committed;
- with plain ASGI and psycopg: the same statements by hand, one transaction for each request.

Neither requests a price nor renders anything: document and message are stored bytes of the service.
Their messages are not published. The service does all of this.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import randbelow
from typing import Annotated, Any, Self, cast
from uuid import UUID, uuid4

import orjson
import psycopg
from fastapi import Depends, FastAPI, Header, HTTPException
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel
from sqlalchemy import BigInteger, Identity, LargeBinary, Table, Text, Uuid, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from swap_api.management.store.models import ApiKeyTable, AppTable
from swap_contracts.public.models import PreparedSwapModel
from tests.bench.api.plain_tables import SwapTable

SCHEMA = "bench"
# Copies with every index, default and constraint, and one row of each as the pattern.
TABLES = f"""
DROP SCHEMA IF EXISTS {SCHEMA} CASCADE;
CREATE SCHEMA {SCHEMA};
CREATE TABLE {SCHEMA}.app (LIKE api.app INCLUDING ALL);
CREATE TABLE {SCHEMA}.api_key (LIKE api.api_key INCLUDING ALL);
CREATE TABLE {SCHEMA}.swap (LIKE api.swap INCLUDING ALL);
CREATE TABLE {SCHEMA}.outbox (LIKE api.outbox INCLUDING ALL);
INSERT INTO {SCHEMA}.app SELECT * FROM api.app;
INSERT INTO {SCHEMA}.api_key SELECT * FROM api.api_key;
INSERT INTO {SCHEMA}.swap SELECT * FROM api.swap LIMIT 1;
INSERT INTO {SCHEMA}.outbox (message_id, topic, key, payload, published_at)
SELECT message_id, topic, key, payload, now() FROM api.outbox LIMIT 1
"""
# The pepper of the service's hashes is not known here, so the hash is replaced.
SET_KEY_HASH = f"UPDATE {SCHEMA}.api_key SET hash = sha256(%s) WHERE id = %s"
KEY_HEADER = b"x-svc-apikey"
LIFETIME = timedelta(hours=1)
SEQUENCE_NUMBER_MAX = 2**53 - 1

FIND_KEY = """
SELECT api_key.id, api_key.kind, api_key.expires_at, app.id, app.environment
FROM api_key JOIN app ON app.id = api_key.app_id
WHERE api_key.hash = %s AND api_key.revoked_at IS NULL
"""
OWN_ADDRESS = "SELECT deposit_address FROM swap WHERE deposit_address = %s"
COLUMNS = tuple(SwapTable.model_fields)
ADD_SWAP = f"INSERT INTO swap ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
ADD_MESSAGE = "INSERT INTO outbox (message_id, topic, key, payload) VALUES (%s, %s, %s, %s)"


class Base(DeclarativeBase):
    pass


class App(Base):
    __table__ = cast(Table, AppTable.__table__)  # type: ignore[attr-defined]


class ApiKey(Base):
    __table__ = cast(Table, ApiKeyTable.__table__)  # type: ignore[attr-defined]


class Swap(Base):
    __table__ = cast(Table, SwapTable.__table__)  # type: ignore[attr-defined]


class Message(Base):
    __tablename__ = "outbox"

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    message_id: Mapped[UUID] = mapped_column(Uuid)
    topic: Mapped[str] = mapped_column(Text)
    key: Mapped[bytes] = mapped_column(LargeBinary)
    payload: Mapped[bytes] = mapped_column(LargeBinary)


class NewSwap(BaseModel):
    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    destination_address: str
    amount: str
    use_depository: bool


class Envelope(BaseModel):
    data: PreparedSwapModel
    error: None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A swap and a message of the service; new ones differ in ids, times and addresses."""

    swap: Mapping[str, Any]
    message: Mapping[str, Any]

    @classmethod
    async def read(cls, database_url: str) -> Self:
        connecting = psycopg.AsyncConnection.connect(
            database_url, options=f"-c search_path={SCHEMA}", row_factory=dict_row
        )
        async with await connecting as connection:
            swap = await (await connection.execute("TABLE swap LIMIT 1")).fetchone()
            message = await (await connection.execute("TABLE outbox LIMIT 1")).fetchone()
        assert swap is not None
        assert message is not None
        return cls(swap, message)

    def new(self, destination_address: str) -> tuple[dict[str, Any], dict[str, Any]]:
        swap_id, now = uuid4(), datetime.now(UTC)
        swap = {
            **self.swap,
            "id": swap_id,
            "sequence_number": 1 + randbelow(SEQUENCE_NUMBER_MAX),
            "destination_address": destination_address.lower(),
            "created_at": now,
            "expires_at": now + LIFETIME,
        }
        message = {
            "message_id": uuid4(),
            "topic": self.message["topic"],
            "key": str(swap_id).encode(),
            "payload": self.message["payload"],
        }
        return swap, message


def add_framework_create(
    app: FastAPI, sessions: async_sessionmaker[AsyncSession], pattern: Pattern, answer: bytes
) -> None:
    """Add a create as the tutorials of the framework and of the ORM show it."""

    async def open_session() -> AsyncIterator[AsyncSession]:
        async with sessions() as session:
            yield session

    async def find_caller(
        session: Annotated[AsyncSession, Depends(open_session)],
        x_svc_apikey: Annotated[str, Header()],
    ) -> ApiKey:
        found = await session.execute(
            select(ApiKey, App)
            .join(App, App.__table__.c.id == ApiKey.__table__.c.app_id)
            .where(ApiKey.__table__.c.hash == _hash(x_svc_apikey.encode()))
            .where(ApiKey.__table__.c.revoked_at.is_(None))
        )
        known = found.one_or_none()
        if known is None:
            raise HTTPException(403)
        key: ApiKey = known[0]
        return key

    async def create(
        body: NewSwap,
        session: Annotated[AsyncSession, Depends(open_session)],
        caller: Annotated[ApiKey, Depends(find_caller)],
    ) -> Any:
        address = Swap.__table__.c.deposit_address
        own = select(address).where(address == body.destination_address.lower())
        if await session.scalar(own) is not None:
            raise HTTPException(400)
        swap, message = pattern.new(body.destination_address)
        session.add_all([Swap(**swap), Message(**message)])
        await session.commit()
        return orjson.loads(answer)

    app.post("/framework/swaps", response_model=Envelope)(create)


class CommitPerRequest:
    """The same in plain code: two lookups, and one transaction with two rows."""

    def __init__(self, pool: AsyncConnectionPool[Any], pattern: Pattern) -> None:
        self._pool = pool
        self._pattern = pattern

    async def __call__(self, key: bytes, body: bytes) -> None:
        address = orjson.loads(body)["destination_address"]
        async with self._pool.connection() as connection:
            known = await (await connection.execute(FIND_KEY, (_hash(key),))).fetchone()
            assert known is not None
            own = await (await connection.execute(OWN_ADDRESS, (address.lower(),))).fetchone()
            assert own is None
            swap, message = self._pattern.new(address)
            async with connection.transaction():
                await connection.execute(ADD_SWAP, [swap[name] for name in COLUMNS])
                await connection.execute(ADD_MESSAGE, list(message.values()))


def _hash(key: bytes) -> bytes:
    return sha256(key).digest()
