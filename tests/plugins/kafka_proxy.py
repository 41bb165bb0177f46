"""A proxy before a Kafka broker that loses or changes responses, by the API of their request."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import IntEnum
from typing import Final

from swap_runtime.settings import KafkaSettings

HOST: Final = "127.0.0.1"
LEADER_NOT_AVAILABLE: Final = 5
UNKNOWN_SERVER_ERROR: Final = -1


class Api(IntEnum):
    """The API keys of a consumer's requests."""

    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14


class KafkaProxy:
    """Forwards everything until responses of an API must be lost.

    Clients reconnect to it, because it replaces the broker's address in every response.
    """

    def __init__(self, broker_port: int) -> None:
        self._broker_port = broker_port
        self._losses: dict[Api, int] = {}
        self._changes: dict[Api, Callable[[bytes], bytes]] = {}
        self.port = 0
        self.lost: list[Api] = []

    def lose(self, api: Api, times: int = 1) -> None:
        """Drop the next responses of an API; the connection stays open."""
        self._losses[api] = times

    def remove_leaders(self, node: int, partitions: int) -> None:
        """Report every partition as without a leader.

        :param node: the only broker, which leads all of them.
        """
        led = [struct.pack(">hii", 0, each, node) for each in range(partitions)]
        without_leader = [
            struct.pack(">hii", LEADER_NOT_AVAILABLE, each, -1) for each in range(partitions)
        ]

        def change(response: bytes) -> bytes:
            brokers, address, topics = response.partition(_address(self._broker_port))
            for before, after in zip(led, without_leader, strict=True):
                topics = topics.replace(before, after)
            return brokers + address + topics

        self._changes[Api.METADATA] = change

    def fail(self, api: Api) -> None:
        """Report an error of the server in responses that end with an error code."""
        self._changes[api] = lambda response: (
            response[:-2] + struct.pack(">h", UNKNOWN_SERVER_ERROR)
        )

    def heal(self) -> None:
        """Forward everything unchanged again."""
        self._losses.clear()
        self._changes.clear()

    async def handle(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        server, forth = await asyncio.open_connection(HOST, self._broker_port)
        api_keys: dict[int, int] = {}
        sending = asyncio.create_task(self._requests(client, forth, api_keys))
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await self._responses(server, back, api_keys)
        sending.cancel()
        for writer in (back, forth):
            writer.close()

    async def _requests(
        self, client: asyncio.StreamReader, forth: asyncio.StreamWriter, api_keys: dict[int, int]
    ) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await _frame(client)
                api, _, correlation_id = struct.unpack(">hhi", request[:8])
                api_keys[correlation_id] = api
                await _send(forth, request)
        forth.write_eof()

    async def _responses(
        self, server: asyncio.StreamReader, back: asyncio.StreamWriter, api_keys: dict[int, int]
    ) -> None:
        there, here = _address(self._broker_port), _address(self.port)
        while True:
            answer = await _frame(server)
            key = api_keys.pop(struct.unpack(">i", answer[:4])[0])
            api = Api(key) if key in set(Api) else None
            if api is not None:
                if self._losses.get(api, 0) > 0:
                    self._losses[api] -= 1
                    self.lost.append(api)
                    continue
                if api in self._changes:
                    answer = self._changes[api](answer)
            await _send(back, answer.replace(there, here))


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


async def _send(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)) + frame)
    await writer.drain()


def _address(port: int) -> bytes:
    """Return the broker's address as encoded in a response: host, then port."""
    return HOST.encode() + struct.pack(">i", port)


@asynccontextmanager
async def kafka_proxy(kafka: KafkaSettings) -> AsyncIterator[tuple[KafkaProxy, KafkaSettings]]:
    """Put a proxy before a broker; yield it and the settings for it."""
    proxy = KafkaProxy(int(kafka.bootstrap_servers.rpartition(":")[2]))
    server = await asyncio.start_server(proxy.handle, HOST, 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy, kafka.model_copy(update={"bootstrap_servers": f"{HOST}:{proxy.port}"})
    finally:
        server.close()
