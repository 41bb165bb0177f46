"""A framework, a plain application and a database that answer with the same bytes, in one process.

    python -m tests.bench.api.bare PORT DATABASE_URL FOLDER

FOLDER holds `swap.json` and `quote.json`, recorded answers of the service. The process also
receives webhooks at three addresses: one answers at once, one after ten seconds, one never.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import orjson
import uvicorn
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel
from sqlalchemy import LargeBinary, Uuid
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Mapped, mapped_column

from swap_contracts.public.models import PreparedSwapModel
from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from tests.bench.api.plain_create import (
    KEY_HEADER,
    SCHEMA,
    Base,
    CommitPerRequest,
    Envelope,
    Pattern,
    add_framework_create,
)

CONNECTIONS = 16
SLOW_SECONDS = 10
LISTED = 20
SEARCH_PATH = f"-c search_path={SCHEMA},public"
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Document(Base):
    __tablename__ = "bench_document"

    id: Mapped[Any] = mapped_column(Uuid, primary_key=True)
    document: Mapped[bytes] = mapped_column(LargeBinary)


class Envelopes(BaseModel):
    data: list[PreparedSwapModel]
    error: None = None


def open_sessions(database_url: str) -> async_sessionmaker[AsyncSession]:
    engine = create_async_engine(
        database_url.replace("postgresql://", "postgresql+psycopg://"),
        pool_size=CONNECTIONS,
        connect_args={"options": SEARCH_PATH},
    )
    return async_sessionmaker(engine, expire_on_commit=False)


def framework(
    sessions: async_sessionmaker[AsyncSession], pattern: Pattern, swap: bytes, quote: bytes
) -> FastAPI:
    """Return the application as in the framework's tutorials: models, and a session per request."""
    app = FastAPI()
    quoted = orjson.loads(quote)
    add_framework_create(app, sessions, pattern, swap)

    @app.post("/framework/quote", response_model=QuoteAnswer)
    async def read_quote(question: QuoteQuestion) -> Any:
        return quoted

    @app.get("/framework/swaps", response_model=Envelopes)
    async def list_all() -> Any:
        return {"data": [orjson.loads(swap)["data"]] * LISTED}

    @app.get("/framework/swaps/{swap_id}", response_model=Envelope)
    async def read(swap_id: str) -> Any:
        async with sessions() as session:
            found = await session.get(Document, swap_id)
            assert found is not None
            return orjson.loads(found.document)

    return app


class BareServer:
    """Plain ASGI; paths that begin with `/framework` are passed on to the framework."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._swap = (folder / "swap.json").read_bytes()
        self._quote = (folder / "quote.json").read_bytes()
        self._database_url = database_url
        self._framework: FastAPI
        self._commit: CommitPerRequest
        self._pool: AsyncConnectionPool[Any]
        self._received = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._run_lifespan(receive, send)
        path: str = scope["path"]
        if path.startswith("/framework"):
            return await self._framework(scope, receive, send)
        if path == "/commit":
            await self._commit(dict(scope["headers"])[KEY_HEADER], (await receive())["body"])
            return await _answer(send, self._swap)
        return await _answer(send, await self._body(path, receive))

    async def _body(self, path: str, receive: Receive) -> bytes:
        if path.startswith("/hooks"):
            return await self._receive_webhook(path, receive)
        if path == "/single-row":
            return await self._add_row(receive)
        constant = {"/constant/quote": self._quote, "/constant/swap": self._swap}.get(path)
        if constant is not None:
            return constant
        if path == "/received":
            return b"%d" % self._received
        return await self._read_point(path.rpartition("/")[2])

    async def _read_point(self, swap_id: str) -> bytes:
        query = "SELECT document FROM bench_document WHERE id = %s"
        async with self._pool.connection() as connection:
            row = await (await connection.execute(query, (swap_id,))).fetchone()
        assert row is not None
        return cast(bytes, row[0])

    async def _add_row(self, receive: Receive) -> bytes:
        """The floor: one row of two columns, without a lookup."""
        orjson.loads((await receive())["body"])
        query = "INSERT INTO bench_document (id, document) VALUES (%s, %s)"
        async with self._pool.connection() as connection:
            await connection.execute(query, (uuid4(), self._swap))
        return self._swap

    async def _receive_webhook(self, path: str, receive: Receive) -> bytes:
        await receive()
        if path == "/hooks/dead":
            await asyncio.Event().wait()
        if path == "/hooks/slow":
            await asyncio.sleep(SLOW_SECONDS)
        if path == "/hooks":
            self._received += 1
        return b""

    async def _start(self) -> None:
        self._pool = AsyncConnectionPool(
            self._database_url,
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            open=False,
            # One round trip for each statement outside of a transaction.
            kwargs={"autocommit": True, "options": SEARCH_PATH},
        )
        await self._pool.open(wait=True)
        pattern = await Pattern.read(self._database_url)
        self._commit = CommitPerRequest(self._pool, pattern)
        sessions = open_sessions(self._database_url)
        self._framework = framework(sessions, pattern, self._swap, self._quote)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._start()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


async def _answer(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    port, database_url, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    uvicorn.run(
        BareServer(database_url, folder),
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        access_log=False,
        log_level="critical",
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
