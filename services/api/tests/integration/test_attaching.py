"""Transfers without a swap: shown with the text to sign, and attached by a signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from api_factories import ALICE, BOB, HASH, TREASURY, a_body, a_catalogue_document
from api_harness import App, Harness, start
from eth_account import Account
from eth_account.messages import encode_defunct

from swap_api.model.keys import Environment
from swap_domain.catalogue import NATIVE
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

OF_ALICE = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
OF_BOB = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
SUBMITTED = "SELECT payload FROM outbox WHERE topic = 'swap.requests.v1' ORDER BY id"


@pytest.fixture
def database_url(database_url: str, database: Database) -> str:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("TRUNCATE settler.swap, settler.deposit CASCADE")
    return database_url


@pytest.fixture
async def app(api: Harness) -> App:
    return await api.an_app()


class ReceivedTransfers:
    """The settler's rows about transfers that the api reads."""

    def __init__(self, database: Database) -> None:
        self._url = database.superuser_url

    def add(self, *, nth: int = 1, sender: str = ALICE, **changes: Any) -> UUID:
        row = {
            "id": UUID(int=nth),
            "version": 2,
            "state": "credited",
            "method": "direct",
            "network": "ETHEREUM_DEVNET",
            "token": NATIVE,
            "base_units": 10**17,
            "is_booked": True,
            "transaction_hash": HASH,
            "block_number": 7,
            "block_hash": HASH,
            "block_time": "2026-01-02T03:04:05Z",
            "from_address": sender,
            "to_address": TREASURY,
            "confirmations_required": 1,
            "heard_at": "2026-01-02T03:04:05Z",
            **changes,
        }
        names, places = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        with psycopg.connect(self._url) as connection:
            connection.execute(
                f"INSERT INTO settler.deposit ({names}) VALUES ({places})",  # type: ignore[arg-type]
                row,
            )
        return UUID(int=nth)


@pytest.fixture
def received(database: Database, api: Harness) -> ReceivedTransfers:
    return ReceivedTransfers(database)


async def a_swap(api: Harness, app: App) -> str:
    answer = await api.create(app, a_body())
    return str(answer.json()["data"]["swap"]["id"])


async def shown(api: Harness, app: App, swap_id: str) -> list[dict[str, Any]]:
    answer = await api.get(app, f"/swaps/{swap_id}/attach_deposit?transaction_id={HASH}")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def signed(text: str, key: str = OF_ALICE) -> str:
    return "0x" + Account.sign_message(encode_defunct(text=text), key).signature.hex()


async def attach(api: Harness, app: App, swap_id: str, signature: str, **more: Any) -> Any:
    body = {"transaction_id": HASH, "signature": signature, **more}
    return await api.post(app, f"/swaps/{swap_id}/attach_deposit", body)


def a_live_catalogue(folder: Path, **changes: Any) -> Path:
    """Write a catalogue whose networks have one node each."""
    path = folder / "live.yaml"
    path.write_text(json.dumps(a_catalogue_document(environment="live", **changes)))
    return path


async def submitted_bodies(api: Harness) -> list[dict[str, Any]]:
    bodies = [json.loads(bytes(row.payload))["body"] for row in await api.rows(SUBMITTED)]
    return [body for body in bodies if body["type"] == "DepositAttached"]


class TestATransferWithoutASwap:
    async def test_is_attached_by_what_was_shown(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id, transfer = await a_swap(api, app), received.add()
        [one] = await shown(api, app, swap_id)
        assert (one["status"], one["transfer_id"]) == ("attachable", str(transfer))

        answer = await attach(api, app, swap_id, signed(one["text"]))

        assert answer.status_code == 200, answer.text
        assert answer.json()["data"] == {**one, "status": "submitted"}
        assert await shown(api, app, swap_id) == [{**one, "status": "submitted"}]
        [body] = await submitted_bodies(api)
        assert body["swap_id"] == swap_id
        assert (body["deposit_id"], body["signer"]) == (str(transfer), ALICE)
        assert (body["text"], body["signature"]) == (one["text"], signed(one["text"]))
        assert not body["is_by_contract"]

    async def test_is_published_once_however_often_it_is_sent(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add()
        [one] = await shown(api, app, swap_id)

        for _ in range(3):
            assert (await attach(api, app, swap_id, signed(one["text"]))).status_code == 200

        assert len(await submitted_bodies(api)) == 1

    async def test_is_named_where_its_transaction_has_several(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add(nth=1)
        second = received.add(nth=2)
        one, other = await shown(api, app, swap_id)
        assert one["text"] != other["text"]
        signature = signed(other["text"])

        unclear = await attach(api, app, swap_id, signature)
        wrong = await attach(api, app, swap_id, signature, transfer_id=one["transfer_id"])
        right = await attach(api, app, swap_id, signature, transfer_id=str(second))

        assert unclear.json()["error"]["metadata"]["field_errors"].keys() == {"transfer_id"}
        assert wrong.json()["error"]["code"] == "SIGNATURE_INVALID"
        assert right.status_code == 200
        assert [body["deposit_id"] for body in await submitted_bodies(api)] == [str(second)]

    @pytest.mark.parametrize(
        "changes",
        [
            {"quarantine_reason": "foreign_receiver", "state": "quarantined"},
            {"method": "depository"},
            {"state": "reverted"},
            {"network": "BASE_DEVNET"},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    async def test_is_none_when_it_is(
        self, api: Harness, app: App, received: ReceivedTransfers, changes: dict[str, Any]
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add(**changes)

        answer = await api.get(app, f"/swaps/{swap_id}/attach_deposit?transaction_id={HASH}")

        assert answer.json()["error"]["code"] == "NOT_FOUND"

    async def test_that_is_attached_is_reported_to_its_owner_only(
        self, api: Harness, app: App, received: ReceivedTransfers, database: Database
    ) -> None:
        swap_id, transfer = await a_swap(api, app), received.add()
        [one] = await shown(api, app, swap_id)
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                "INSERT INTO settler.intent (id, paid_id, deposit_id, kind, network, token,"
                " to_address, base_units, charged_base_units, usd_micros, state, due_at,"
                " created_at, version) VALUES (%s, 1, %s, 'claim', 'ETHEREUM_DEVNET', %s, %s, 1,"
                " 1, 0, 'reserved', now(), now(), 0)",
                (uuid4(), transfer, NATIVE, ALICE),
            )

        answer = await attach(api, app, swap_id, signed(one["text"]))
        by_other_signer = await attach(api, app, swap_id, signed(one["text"], OF_BOB))

        assert (answer.status_code, answer.json()["error"]["code"]) == (
            409,
            "DEPOSIT_NOT_ATTACHABLE",
        )
        assert by_other_signer.json()["error"]["code"] == "SIGNATURE_INVALID"
        assert await submitted_bodies(api) == []


class TestASignature:
    async def test_of_another_owner_is_refused(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add()
        [one] = await shown(api, app, swap_id)

        answer = await attach(api, app, swap_id, signed(one["text"], OF_BOB))

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "SIGNATURE_INVALID")
        assert await submitted_bodies(api) == []

    async def test_for_one_swap_is_invalid_for_another(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        first, second = await a_swap(api, app), await a_swap(api, app)
        received.add()
        [one] = await shown(api, app, first)

        answer = await attach(api, app, second, signed(one["text"]))

        assert answer.json()["error"]["code"] == "SIGNATURE_INVALID"

    async def test_gives_the_money_to_whom_the_text_names(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add()

        [one] = await shown(api, app, swap_id)

        *_, paid, empty, last = one["text"].split("\n")
        assert (paid, empty) == (f"Paid out to: {ALICE} on BASE_DEVNET", "")
        assert last.startswith("Signing this gives the transfer to that recipient.")

    async def test_over_the_text_before_a_refund_address_was_set_is_refused(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add()
        [before] = await shown(api, app, swap_id)
        path = f"/swaps/{swap_id}/refund_address"
        assert (await api.post(app, path, {"refund_address": BOB})).status_code == 200
        [after] = await shown(api, app, swap_id)
        assert f"Sent back to, if not paid out: {BOB} on ETHEREUM_DEVNET\n" in after["text"]

        stale = await attach(api, app, swap_id, signed(before["text"]))
        fresh = await attach(api, app, swap_id, signed(after["text"]))

        assert (stale.status_code, stale.json()["error"]["code"]) == (400, "SIGNATURE_INVALID")
        assert "read it again" in stale.json()["error"]["message"]
        assert fresh.status_code == 200, fresh.text

    async def test_of_a_wallet_with_code_is_verified_by_the_wallet(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add(sender=BOB)
        api.wallets.accepted_signatures[BOB] = b"\x51" * 80

        wrong = await attach(api, app, swap_id, "0x" + "52" * 80)
        right = await attach(api, app, swap_id, "0x" + "51" * 80)

        assert "operator" in wrong.json()["error"]["message"]
        assert right.json()["data"]["status"] == "submitted"
        [body] = await submitted_bodies(api)
        assert body["is_by_contract"]

    async def test_is_refused_with_503_when_no_node_answers(
        self, api: Harness, app: App, received: ReceivedTransfers
    ) -> None:
        swap_id = await a_swap(api, app)
        received.add(sender=BOB)
        api.wallets.is_away = True

        answer = await attach(api, app, swap_id, "0x" + "51" * 80)

        assert answer.json()["error"]["code"] == "SERVICE_UNAVAILABLE"

    async def test_of_a_wallet_with_code_is_an_operators_to_judge_by_one_live_provider(
        self, database_url: str, redis_url: str, tmp_path: Path, received: ReceivedTransfers
    ) -> None:
        """One false report would give the transfer away; a key's signature needs no node."""
        api = start(database_url, redis_url, a_live_catalogue(tmp_path))
        try:
            app = await api.an_app(environment=Environment.LIVE)
            swap_id = await a_swap(api, app)
            received.add(nth=1, sender=BOB)
            of_a_key = received.add(nth=2)
            api.wallets.accepted_signatures[BOB] = b"\x51" * 80
            contracts, key = await shown(api, app, swap_id)

            refused = await attach(
                api, app, swap_id, "0x" + "51" * 80, transfer_id=contracts["transfer_id"]
            )
            accepted = await attach(
                api, app, swap_id, signed(key["text"]), transfer_id=str(of_a_key)
            )

            assert (refused.status_code, refused.json()["error"]["code"]) == (
                400,
                "SIGNATURE_INVALID",
            )
            assert "operator" in refused.json()["error"]["message"]
            assert api.wallets.requests == []
            assert accepted.status_code == 200, accepted.text
            assert [body["deposit_id"] for body in await submitted_bodies(api)] == [str(of_a_key)]
        finally:
            await api.stop()


async def test_a_swap_is_given_ten_transfers_and_no_more(
    api: Harness, app: App, received: ReceivedTransfers
) -> None:
    swap_id = await a_swap(api, app)
    for nth in range(1, 12):
        received.add(nth=nth)
    answers = [
        await attach(api, app, swap_id, signed(one["text"]), transfer_id=one["transfer_id"])
        for one in await shown(api, app, swap_id)
    ]

    assert [answer.status_code for answer in answers] == [200] * 10 + [409]
    assert len(await submitted_bodies(api)) == 10


async def test_swap_of_another_partner_is_answered_like_an_unknown_one(
    api: Harness, app: App, received: ReceivedTransfers
) -> None:
    other_app, swap_id = await api.an_app(), await a_swap(api, app)
    received.add()

    for id in (swap_id, str(uuid4())):
        read = await api.get(other_app, f"/swaps/{id}/attach_deposit?transaction_id={HASH}")
        sent = await attach(api, other_app, id, "0x" + "51" * 65)
        assert [(a.status_code, a.json()["error"]["message"]) for a in (read, sent)] == [
            (404, "There is nothing here")
        ] * 2
    bad = await api.get(app, f"/swaps/{swap_id}/attach_deposit?transaction_id=nonsense")
    assert bad.status_code == 400
