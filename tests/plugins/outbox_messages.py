"""Messages sent as a service sends them: from its outbox, by the relay."""

from __future__ import annotations

from pydantic import SecretStr

from swap_runtime.messaging.outbox import Outgoing, add_to_outbox
from swap_runtime.messaging.producing import KafkaProducer
from swap_runtime.messaging.relay import Relay
from swap_runtime.postgres.database import create_engine, transaction
from tests.plugins.broker import Broker


async def send_from_outbox(database_url: str, broker: Broker, *messages: Outgoing) -> None:
    """Commit messages to a service's outbox and publish them to Kafka.

    :param database_url: the URL for the role of the service that sends them.
    """
    engine = create_engine(SecretStr(database_url), application_name="test")
    relay = Relay(engine, KafkaProducer(broker.settings), holder="test")
    try:
        async with transaction(engine) as connection:
            add_to_outbox(connection, messages)
        assert await relay.publish_batch() == len(messages)
        await relay.stop()
    finally:
        await engine.dispose()
