"""The whole process against a real node, a real Postgres and a broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from anvil_stack import NETWORK, Stack, a_stack

from swap_domain.catalogue import NATIVE
from tests.plugins.broker import Broker
from tests.support.waiting import block_until

pytestmark = [pytest.mark.connected, pytest.mark.timeout(180)]

ABSENT = "0x00000000000000000000000000000000000000Ff"


@pytest.fixture(scope="module")
def stack(
    migrate_schema: Callable[[str], str], broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    with a_stack(
        migrate_schema("chain_watcher"), broker, tmp_path_factory.mktemp("anvil")
    ) as stack:
        yield stack


@pytest.fixture(scope="module")
def watched(stack: Stack) -> Iterator[Stack]:
    watcher = stack.watcher(stack.catalogue())
    watcher.start()
    yield stack
    watcher.stop()


class TestDeposits:
    @pytest.mark.fault("W16")
    def test_w16_through_the_depository_are_published_once(self, watched: Stack) -> None:
        transaction_hash = watched.deposit(7, 1000)

        block_until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        [message] = watched.messages_about(transaction_hash)
        assert (message["kind"], message["sequence_number"]) == ("deposited", 7)
        assert (message["from_address"], message["to_address"]) == (
            watched.addresses["user"],
            watched.addresses["treasury"],
        )
        assert (message["token"], message["base_units"]) == (watched.addresses["usdc"], "1000")

    @pytest.mark.fault("W16")
    def test_w16_of_coins_through_the_depository_are_published_once(self, watched: Stack) -> None:
        a = watched.addresses
        transaction_hash = watched.user(
            "Depository",
            a["depository"],
            "depositNative",
            (8).to_bytes(32, "big"),
            a["treasury"],
            value=1000,
        )

        block_until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        assert {body["kind"] for body in watched.messages_about(transaction_hash)} == {"deposited"}
        assert {body["token"] for body in watched.messages_about(transaction_hash)} == {NATIVE}

    @pytest.mark.fault("W13")
    def test_w13_through_an_external_depository_have_no_sequence_number(
        self, watched: Stack
    ) -> None:
        a = watched.addresses
        key = (9).to_bytes(32, "big")
        transaction_hash = watched.user(
            "Depository", a["copy"], "depositERC20", key, a["usdc"], a["treasury"], 500
        )

        block_until(lambda: watched.messages_about(transaction_hash))
        kinds = {
            (b["kind"], b["sequence_number"]) for b in watched.messages_about(transaction_hash)
        }
        assert kinds == {("token_transfer", None)}

    @pytest.mark.fault("W12")
    def test_of_a_token_outside_the_catalogue_are_quarantined(self, watched: Stack) -> None:
        a = watched.addresses
        key = (10).to_bytes(32, "big")
        transaction_hash = watched.user(
            "Depository", a["depository"], "depositERC20", key, a["fake"], a["treasury"], 500
        )
        unclaimed = watched.user("DevToken", a["fake"], "transfer", a["treasury"], 500)
        ours = watched.user("DevToken", a["usdc"], "transfer", a["treasury"], 500)

        block_until(lambda: watched.messages_about(ours))
        (seen, *_) = watched.messages_about(transaction_hash)
        assert seen["quarantine_reason"] == "unknown_token"
        assert watched.messages_about(unclaimed) == []


class TestReorgs:
    def test_take_back_a_payout_and_find_it_again(self, watched: Stack) -> None:
        a = watched.addresses
        transaction_hash = watched.owner(
            "Treasury", a["treasury"], "pay", 4711, NATIVE, a["user"], 5
        )
        block_until(lambda: watched.states_of(transaction_hash) == [("confirmed", 2)])
        raw = watched.rpc("eth_getRawTransactionByHash", transaction_hash)

        watched.rpc("anvil_reorg", 1, [])
        reverted = [("confirmed", 2), ("reverted", 3)]
        block_until(lambda: watched.states_of(transaction_hash) == reverted)
        watched.rpc("anvil_mine", "0x1")
        watched.rpc("eth_sendRawTransaction", raw)

        again = [*reverted, ("confirmed", 5)]
        block_until(lambda: watched.states_of(transaction_hash) == again)
        numbers = [body["block_number"] for body in watched.messages_about(transaction_hash)]
        assert numbers[0] < numbers[-1]
        assert {body["intent_id"] for body in watched.messages_about(transaction_hash)} == {"4711"}


class TestOperators:
    def test_see_where_the_network_stands(self, watched: Stack) -> None:
        head = int(watched.rpc("eth_blockNumber"), 16)

        def shown() -> dict[str, Any]:
            status, body = watched.asks("/admin/networks")
            assert status == 200
            network: dict[str, Any] = json.loads(body)["networks"][0]
            return network

        block_until(lambda: shown()["cursor"] == head)
        assert (shown()["network"], shown()["lag_blocks"]) == (NETWORK, 0)
        assert (shown()["finalized"], shown()["halted"]) == (head - 2, None)

    def test_resume_only_what_is_halted(self, watched: Stack) -> None:
        assert watched.asks(f"/admin/networks/{NETWORK}/resume", method="POST")[0] == 409
        assert watched.asks("/admin/networks/NOWHERE/resume", method="POST")[0] == 409

    def test_read_the_numbers(self, watched: Stack) -> None:
        block_until(lambda: "swap_watch_head_lag_blocks" in watched.asks("/metrics")[1])

        metrics = watched.asks("/metrics")[1]
        assert f'swap_watch_blocks_total{{network="{NETWORK}"}}' in metrics
        assert "swap_watch_detection_delay_seconds_bucket" in metrics

    @pytest.mark.fault("M12")
    def test_are_refused_a_catalogue_that_is_not_the_chain(self, watched: Stack) -> None:
        # It has a separate log, because the running watcher would write after the expected error.
        folder = watched.folder / "refused"
        folder.mkdir()
        other = Stack(watched.node, folder, watched.database_url, watched.broker, watched.addresses)
        contracts = {"treasury": ABSENT, "depository": watched.addresses["depository"]}

        with pytest.raises(RuntimeError, match="no contract at"):
            other.watcher(other.catalogue(contracts=contracts)).start()


def test_every_message_reaches_the_topics(watched: Stack) -> None:
    watched.deposit(11, 1)

    def all_published() -> bool:
        with psycopg.connect(watched.database_url.replace("+psycopg", "")) as connection:
            row = connection.execute(
                "SELECT count(*), count(published_at) FROM outbox WHERE topic LIKE 'deposit%'"
            ).fetchone()
        return row is not None and row[0] == row[1] > 0

    block_until(all_published)
