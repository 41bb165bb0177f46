"""Keys, tokens and invitations stay valid during a pepper rotation, in both rollout orders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from api_factories import a_body
from api_harness import PEPPER, App, Harness, start
from people import Person, an_owner

from swap_api.model.members import OPERATOR, Role

pytestmark = pytest.mark.connected
NEW = "another pepper for tests"


@pytest.fixture
async def before(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    """A process that hashes with the old pepper, and also accepts the new one."""
    harness = start(database_url, redis_url, catalogue_file, other_key_peppers=[NEW])
    yield harness
    await harness.stop()


@pytest.fixture
async def after(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    """A process that hashes with the new pepper, and also accepts the old one."""
    harness = start(
        database_url, redis_url, catalogue_file, key_pepper=NEW, other_key_peppers=[PEPPER]
    )
    yield harness
    await harness.stop()


@pytest.fixture
async def last(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    """A process with only the new pepper."""
    harness = start(database_url, redis_url, catalogue_file, key_pepper=NEW)
    yield harness
    await harness.stop()


async def status(api: Harness, app: App) -> int:
    """Send a request with a key, to a process without a cache."""
    api.parts.admission.callers._remembered.clear()
    return (await api.get(app, "/health")).status_code


async def test_a_key_works_during_the_rotation_and_then_only_with_the_new_pepper(
    api: Harness, before: Harness, after: Harness, last: Harness
) -> None:
    app = await api.an_app()
    assert await status(last, app) == 403

    # During a rollout each version finds keys that the other one has hashed.
    for process in (before, after, before, after):
        assert await status(process, app) == 200

    assert await status(last, app) == 200
    assert await status(api, app) == 403
    assert (await last.create(app, a_body())).status_code == 200


async def test_an_unused_key_keeps_its_hash_and_ends_with_the_old_pepper(
    api: Harness, after: Harness, last: Harness
) -> None:
    used, unused = await api.an_app(), await api.an_app()

    assert await status(after, used) == 200

    assert (await status(last, used), await status(last, unused)) == (200, 403)


async def test_a_members_token_and_an_invitation_are_rehashed(
    api: Harness, after: Harness, last: Harness
) -> None:
    owner = await an_owner(api)
    issued = await api.parts.management.manage_members.invite(
        owner.organization_id,  # type: ignore[arg-type]
        name="ada",
        role=Role.VIEWER,
        actor=OPERATOR,
    )
    path = f"/organizations/{owner.organization_id}/members"

    def at(process: Harness) -> Person:
        return Person(owner.id, owner.organization_id, owner.token, process)

    assert (await at(after).get(path)).status_code == 200
    joined = await after.parts.management.manage_members.accept(
        issued.token, label="first", request_id="1"
    )

    assert (await at(last).get(path)).status_code == 200
    assert joined.token.startswith("svc_user_")


async def test_a_nonexistent_key_stays_unknown(api: Harness, after: Harness) -> None:
    app = await api.an_app()
    wrong = App(**{**{name: getattr(app, name) for name in app.__slots__}, "key": app.key + "0"})

    assert await status(after, wrong) == 403
    assert await status(api, app) == 200


async def test_a_key_is_known_to_all_who_ask_at_once_in_both_kinds_of_process(
    api: Harness, before: Harness, after: Harness
) -> None:
    app = await api.an_app()

    async def is_known(process: Harness) -> bool:
        process.parts.admission.callers._remembered.clear()
        return await process.parts.admission.callers.find(app.key) is not None

    for _ in range(20):
        lookups = [is_known(process) for process in (before, after, before, after)]
        assert all(await asyncio.gather(*lookups))
