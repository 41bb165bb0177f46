"""The one shape of a process.

`__main__.py` calls `main()` of `app.py`, which reads the settings and calls `run`. `run` calls the
service's `build` with a `Service`, to which the service adds its consumers, background tasks and
ports. Then everything starts, and on SIGTERM everything stops in order.

    def main() -> None:
        settings = SettlerSettings()
        run("settler", settings, settings.settler, build, schema_revision=SCHEMA_REVISION)

    async def build(service: Service) -> None:
        work = PostgresUnitOfWork(service.engine, consumer="settler")
        settle_deposits = SettleDeposits(work, clock=service.clock)
        deposits.subscribe(
            service.subscriptions, settle_deposits=settle_deposits,
            parking=service.parking("settler"),
        )
        service.every("expire-swaps", timedelta(seconds=1), ExpireSwaps(work, clock=service.clock))
"""

from __future__ import annotations

from swap_runtime.process.components import Build, Service
from swap_runtime.process.running import run_service
from swap_runtime.settings import ServiceGroup, SharedSettings

__all__ = ["Build", "Service", "run"]


def run(
    name: str,
    settings: SharedSettings,
    group: ServiceGroup,
    build: Build,
    *,
    schema_revision: str,
    publishes: bool = True,
) -> None:
    """Run the process until a stop signal.

    :param schema_revision: the last migration of the service; it does not run on an older schema.
    :param publishes: whether it has messages to send: then it runs a relay for its outbox.
    :raises SystemExit: with a code other than 0 when it cannot go on.
    """
    run_service(
        lambda: Service(
            name, settings, group, publishes=publishes, schema_revision=schema_revision
        ),
        build,
    )
