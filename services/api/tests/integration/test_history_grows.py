"""The cost of the api's statements does not grow with the history of swaps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from api_settler_swaps import INSERT_SWAPS, OTHER_COLUMNS

from swap_api.admission.store import callers, idempotency
from swap_api.funding.store import sign_requests, unmatched_transfers
from swap_api.management.decide.app_fees import FeeEntryKind, FeeFilter
from swap_api.management.store import app_fees, figures
from swap_api.model.listing import SwapFilter
from swap_api.read_model.store import swaps
from swap_api.read_model.store.listing import count_statement, page_statement
from swap_api.swaps.store import creations, hints, own_addresses, refund_addresses
from swap_domain.lifecycle import Status
from swap_runtime.postgres.database import Engine
from tests.plugins.plans import History, Question, Readers

pytestmark = pytest.mark.connected

SWAPS: Final = 5000
TABLES: Final = (
    "partner, app, api_key, swap, transaction_hash, idempotency, sign_request, deposit_hint, "
    "deposit_attachment"
)
NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
# All swaps are one app's, and most of them one client's. Every thousandth has another owner, and
# the
# last five are pending.
FILL: Final = (
    f"""
INSERT INTO swap (id, app_id, sequence_number, sequence, status, client, is_unpaid,
                  source_network, destination_network, source_address, destination_address,
                  refund_address, reference_id, created_at, expires_at, document, step_status,
                  deposit_address)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad('1', 32, '0')::uuid, n, 1, 'completed',
       CASE n % 2 WHEN 0 THEN 'client' END, n > {SWAPS} - 10,
       'ETHEREUM_DEVNET', CASE n % 1000 WHEN 0 THEN 'BASE_DEVNET' ELSE 'ETHEREUM_DEVNET' END,
       who, who, who, 'reference' || n, '2029-12-01Z'::timestamptz + n * interval '1 s',
       '2030-01-01Z', 'document', 'completed', 'own' || n
FROM generate_series(1, {SWAPS}) AS n CROSS JOIN LATERAL (
  SELECT CASE n % 1000 WHEN 0 THEN 'somebody' ELSE 'everybody' END AS who) AS named
""",
    f"""
INSERT INTO transaction_hash (app_id, hash, swap_id)
SELECT lpad('1', 32, '0')::uuid, 'hash' || n, lpad(to_hex(n), 32, '0')::uuid
FROM generate_series(1, {SWAPS}) AS n
""",
    f"""
INSERT INTO idempotency (app_id, key, body_hash, claim, claimed_until, created_at, swap_id, answer)
SELECT lpad('1', 32, '0')::uuid, 'key' || n, 'hash', lpad(to_hex(n), 32, '0')::uuid,
       '2030-01-01Z', '2029-12-01Z'::timestamptz + n * interval '1 s',
       lpad(to_hex(n), 32, '0')::uuid, CASE WHEN n <= {SWAPS} - 5 THEN 'answer'::bytea END
FROM generate_series(1, {SWAPS}) AS n
""",
    f"""
INSERT INTO sign_request (swap_id, signer, issue, standard, nonce, valid_after, valid_before,
                          submission)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'signer', 1, 'eip3009', 1, 1, 1, 1
FROM generate_series(1, {SWAPS}) AS n
""",
    f"""
INSERT INTO deposit_attachment (swap_id, deposit_id, submission, submitted_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad('1', 32, '0')::uuid, 1, '2029-12-01Z'
FROM generate_series(1, {SWAPS}) AS n
""",
    f"""
INSERT INTO deposit_hint (swap_id, transaction_hash)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'hash' FROM generate_series(1, {SWAPS}) AS n
""",
    "INSERT INTO partner (id, name, created_at) VALUES (lpad('1', 32, '0')::uuid, 'p', now())",
    """
INSERT INTO app (id, partner_id, name, environment, created_at)
VALUES (lpad('1', 32, '0')::uuid, lpad('1', 32, '0')::uuid, 'app', 'test', now())
""",
    f"""
INSERT INTO api_key (id, app_id, kind, hash, last_four, created_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad('1', 32, '0')::uuid, 'secret',
       convert_to(lpad(to_hex(n), 32, '0'), 'UTF8'), '1234', now()
FROM generate_series(1, {SWAPS}) AS n
""",
)
# The settler's rows of all swaps.
SETTLED_SWAPS: Final = f"""
{INSERT_SWAPS}
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad('1', 32, '0')::uuid, n, 'key' || n, 1, 'completed',
       {OTHER_COLUMNS}
FROM generate_series(1, {SWAPS}) AS n
"""
# In two tokens, one of them rare; the account's balance is their sum.
EARNED: Final = (
    f"""
INSERT INTO earned_partner_fee (transaction_id, app_id, network, token, swap_id, at, base_units)
SELECT lpad(to_hex(n), 32, '0')::uuid, lpad('1', 32, '0')::uuid, 'ETHEREUM_DEVNET',
       CASE n % 1000 WHEN 0 THEN 'rare' ELSE 'usual' END, lpad(to_hex(n), 32, '0')::uuid,
       '2029-12-01Z'::timestamptz + n * interval '1 s', 1
FROM generate_series(1, {SWAPS}) AS n
""",
    f"""
INSERT INTO account (kind, network, token, app_id, balance)
SELECT 'partner_fee', 'ETHEREUM_DEVNET', 'usual', lpad(to_hex(n), 32, '0')::uuid, -1
FROM generate_series(1, {SWAPS}) AS n
""",
)
APP: Final = UUID(int=1)
NUMBERS: Final = (2000, 2001, 2500, 3001, 4998)
IDS: Final = [UUID(int=n) for n in NUMBERS]
NEW: Final = [UUID(int=10**6 + n) for n in NUMBERS]
KEYS: Final = [f"key{n}" for n in NUMBERS]
TABLE_HASHES: Final = [f"{n:032x}".encode() for n in NUMBERS]


def swap_columns(ids: list[UUID]) -> dict[str, list[Any]]:
    return {
        "id": ids,
        "app_id": [APP] * 5,
        "sequence_number": [one.int for one in ids],
        "sequence": [2] * 5,
        "status": ["completed"] * 5,
        "client": [None] * 5,
        "is_unpaid": [False] * 5,
        "source_network": ["ETHEREUM_DEVNET"] * 5,
        "destination_network": ["BASE_DEVNET"] * 5,
        "source_address": ["a"] * 5,
        "destination_address": ["b"] * 5,
        "refund_address": ["c"] * 5,
        "reference_id": [None] * 5,
        "created_at": [NOW] * 5,
        "expires_at": [NOW] * 5,
        "document": [b"document"] * 5,
        "gaps": [None] * 5,
        "action": [None] * 5,
        "step_status": ["completed"] * 5,
        "gasless": [None] * 5,
        "deposit_address": [None] * 5,
        "closed_at": [None] * 5,
        "value_usd_micros": ["1"] * 5,
    }


HELD: Final = {"app_id": [APP] * 5, "key": KEYS}
ONE: Final = {"app_id": APP, "key": "key4998", "claim": UUID(int=4998), "swap_id": IDS[0]}
SIGNED: Final = {"swap_id": IDS[0], "signer": "signer", "issue": 1}
CREATED: Final = {
    **swap_columns(NEW),
    "claim_of": [UUID(int=n) for n in range(SWAPS - 4, SWAPS + 1)],
    "claim_app_id": [APP] * 5,
    "claim_key": [f"key{n}" for n in range(SWAPS - 4, SWAPS + 1)],
    "claim": [UUID(int=n) for n in range(SWAPS - 4, SWAPS + 1)],
    "answered_id": NEW,
    "answer": [b"answer"] * 5,
    "message_id": NEW,
    "topic": ["topic"] * 5,
    "key": [b"key"] * 5,
    "payload": [b"payload"] * 5,
    "swap_id": NEW[:1],
    "signer": ["signer"],
    "issue": [1],
    "standard": ["eip3009"],
    "nonce": ["1"],
    "valid_after": [1],
    "valid_before": [1],
}
SEARCHES: Final = {
    "all": {},
    "an address": {"addresses": ("somebody",)},
    "an address of many": {"addresses": ("everybody",)},
    "statuses": {"statuses": (Status.COMPLETED,)},
    "expired": {"include_expired": True},
    "a reference": {"reference_id": "reference2000"},
    "after": {"created_after": datetime(2029, 12, 1, 1, 23, 10, tzinfo=UTC)},
    "before": {"created_before": datetime(2029, 12, 1, 0, 1, tzinfo=UTC)},
    "networks": {"networks": ("ETHEREUM_DEVNET",)},
}


def looked_up(statement: Any, at_most: int = 80, **values: Any) -> Question:
    return Question(statement, {name: values[name] for name in statement.names}, at_most)


def listed(at_most: int = 100, **wanted: Any) -> Question:
    every = {"app_id": APP, "page": 1, "page_size": 10} | wanted
    return Question(*page_statement(SwapFilter(**every)), at_most)


def counted(at_most: int = 100, **wanted: Any) -> Question:
    every = {"app_id": APP, "page": 1, "page_size": 10} | wanted
    return Question(*count_statement(SwapFilter(**every)), at_most)


def fees_listed(at_most: int = 100, **wanted: Any) -> Question:
    return Question(*app_fees.page_statement(FeeFilter(APP, 10, **wanted)), at_most)


QUESTIONS: Final = {
    "FIND_CALLERS": looked_up(callers.FIND_CALLERS, hashes=TABLE_HASHES),
    "NOTE_USE": looked_up(callers.NOTE_USE, at_most=150, id=IDS, at=[NOW] * 5),
    "CLAIM": looked_up(
        idempotency.CLAIM,
        at_most=150,
        **HELD,
        body_hash=[b"hash"] * 5,
        claim=IDS,
        claimed_until=[NOW] * 5,
        now=NOW,
        forgotten_before=NOW - timedelta(days=365),
    ),
    "FIND_HELD": looked_up(idempotency.FIND_HELD, **HELD),
    "RELEASE_CLAIM": looked_up(idempotency.RELEASE_CLAIM, **ONE),
    "BEGIN_CLAIM": looked_up(idempotency.BEGIN_CLAIM, **ONE),
    "FORGET_KEYS": looked_up(idempotency.FORGET_KEYS, at_most=100, before=NOW, limit=5),
    "SOURCE_NETWORK": looked_up(swaps.SOURCE_NETWORK, id=IDS[0], app_id=APP),
    "SET_REFUND_ADDRESS": looked_up(
        refund_addresses.SET_REFUND_ADDRESS, id=IDS[0], refund_address="a"
    ),
    "REFUND_ADDRESS": looked_up(refund_addresses.REFUND_ADDRESS, id=IDS[0]),
    "ANSWER_CLAIM": looked_up(idempotency.ANSWER_CLAIM, **ONE, answer=b"answer"),
    "HELD_CLAIM_IDS": looked_up(creations.HELD_CLAIM_IDS, **HELD, claim=IDS),
    "SIGN_REQUESTS_OF": looked_up(sign_requests.SIGN_REQUESTS_OF, **SIGNED),
    "SIGN_REQUEST": looked_up(sign_requests.SIGN_REQUEST, **SIGNED),
    "LAST_SIGN_REQUEST": looked_up(sign_requests.LAST_SIGN_REQUEST, **SIGNED),
    "LAST_SUBMISSION": looked_up(sign_requests.LAST_SUBMISSION, **SIGNED),
    "ADD_SIGN_REQUEST": looked_up(
        sign_requests.ADD_SIGN_REQUEST,
        **SIGNED,
        standard="eip3009",
        nonce="1",
        valid_after=1,
        valid_before=1,
    ),
    "REFUSE_SIGN_REQUEST": looked_up(sign_requests.REFUSE_SIGN_REQUEST, **SIGNED),
    "SUBMIT_SIGN_REQUEST": looked_up(sign_requests.SUBMIT_SIGN_REQUEST, **SIGNED, submission=1),
    "LOCK_GASLESS": looked_up(sign_requests.LOCK_GASLESS, **SIGNED),
    "UPSERT_SWAPS": looked_up(swaps.UPSERT_SWAPS, at_most=250, **swap_columns(IDS)),
    "CREATE_SWAPS": looked_up(creations.CREATE_SWAPS, at_most=400, **CREATED),
    "ADD_HASHES": looked_up(
        swaps.ADD_HASHES, app_id=[APP] * 5, hash=[f"hash{n}" for n in NUMBERS], swap_id=IDS
    ),
    "OWN_ADDRESSES": looked_up(own_addresses.OWN_ADDRESSES, addresses=[f"own{n}" for n in NUMBERS]),
    "CREATED_SWAP_IDS": looked_up(creations.CREATED_SWAP_IDS, ids=IDS),
    "FIND_SWAPS": looked_up(swaps.FIND_SWAPS, ids=IDS),
    "FIND_BY_HASH": looked_up(
        swaps.FIND_BY_HASH, app_id=[APP] * 5, hash=[f"hash{n}" for n in NUMBERS]
    ),
    "COUNT_UNPAID_OF_CLIENT": looked_up(
        swaps.COUNT_UNPAID_OF_CLIENT, app_id=APP, client="client", up_to=10
    ),
    "COUNT_OPEN_ADDRESSES": looked_up(
        swaps.COUNT_OPEN_ADDRESSES, network="ETHEREUM_DEVNET", up_to=10
    ),
    "COUNT_OPEN_ADDRESSES_OF_APP": looked_up(
        swaps.COUNT_OPEN_ADDRESSES_OF_APP, network="ETHEREUM_DEVNET", app_id=APP, up_to=10
    ),
    "COUNT_UNPAID_OF_APP": looked_up(swaps.COUNT_UNPAID_OF_APP, app_id=APP, up_to=10),
    "figures.LIVE": looked_up(figures.LIVE, app_id=APP),
    "figures.BY_STATUS": looked_up(
        figures.BY_STATUS,
        app_id=APP,
        day=datetime(2029, 12, 1, 1, 23, 15, tzinfo=UTC),
        week=datetime(2029, 12, 1, 1, 23, 10, tzinfo=UTC),
    ),
    "figures.BY_DAY": looked_up(
        figures.BY_DAY, app_id=APP, since=datetime(2029, 12, 1, 1, 23, 10, tzinfo=UTC)
    ),
    "app_fees.BALANCES": looked_up(app_fees.BALANCES, app_id=APP),
    **{
        f"fees {kind} {asset} {after}": fees_listed(kind=kind, asset=asset, starting_after=after)
        for kind in (None, *FeeEntryKind)
        for asset in (None, ("ETHEREUM_DEVNET", "rare"))
        for after in (None, UUID(int=2000))
    },
    "figures.NEWEST": looked_up(figures.NEWEST, app_id=APP),
    "hints.ADD": looked_up(
        hints.ADD, swap_id=IDS[0], transaction_hash="another", most=10
    ),
    "hints.DELETE_OLD": looked_up(
        hints.DELETE_OLD, before=datetime(2000, 1, 1, tzinfo=UTC), limit=5
    ),
    "unmatched_transfers.COUNT": looked_up(
        unmatched_transfers.COUNT, swap_id=IDS[0], deposit_id=NEW[0]
    ),
    "unmatched_transfers.SUBMIT": looked_up(
        unmatched_transfers.SUBMIT, swap_id=IDS[0], deposit_id=APP, now=NOW, again_before=NOW
    ),
    **{f"a page of {name}": listed(**wanted) for name, wanted in SEARCHES.items()},
    "how many of an address": counted(addresses=("somebody",)),
    "how many of a reference": counted(reference_id="reference2000"),
    "how many after": counted(created_after=datetime(2029, 12, 1, 1, 23, 10, tzinfo=UTC)),
}  # fmt: skip


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, engine_of: Callable[[str], Engine]
) -> None:
    tables = "swap, account, earned_partner_fee"
    settled = History(engine_of("settler"), tables, (SETTLED_SWAPS, *EARNED))

    assert await readers.among(QUESTIONS, History(engine_of("api"), TABLES, FILL), settled) == {}
