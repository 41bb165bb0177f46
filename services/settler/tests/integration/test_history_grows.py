"""The cost of the settler's statements depends on their result, not on the history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any, Final
from uuid import UUID

import pytest

from services.settler.tests.factories import ETHEREUM as NETWORK
from services.settler.tests.factories import SIGNER
from services.settler.tests.integration.long_history import (
    APP,
    FIRST_NONCE_OPEN,
    OPEN,
    TOKEN,
    history,
    ids,
    watched_history,
    what_is_open,
)
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import Statement
from swap_settler.model.store import (
    counted_outflow,
    statements,
    swap_statements,
    sweeps,
    treasury_withdrawals,
    work_queue_statements,
)
from swap_settler.model.store.swap_statements import Loading
from swap_settler.operator.store import (
    backlogs,
    blocked,
    caps,
    claims,
    external_nonces,
    external_payments,
    losses,
    partner_fees,
    records,
    rescues,
    signers,
    stops,
    sweep_orders,
)
from swap_settler.paying.store import lane_statements, lane_sweeps, outflow_statements
from swap_settler.settling.store import due_refunds, due_requotes, dwelling
from tests.plugins.plans import Question, Readers

pytestmark = pytest.mark.connected

MODULES: Final[tuple[ModuleType, ...]] = (
    backlogs, blocked, caps, claims, work_queue_statements, due_refunds, due_requotes, dwelling,
    external_nonces, lane_statements, losses, outflow_statements, partner_fees, records, rescues,
    signers, statements, stops,
    swap_statements, sweep_orders, sweeps, external_payments, treasury_withdrawals,
    counted_outflow, lane_sweeps,
)  # fmt: skip
AT_MOST: Final = 170  # pages, and rows of each step: most look up seven ids
# These get all open rows.
PAGES: Final[Mapping[str, int]] = {
    # 199 for five heads. The holds of a recovery, looked up in each of four branches (decision
    # 0046), take 93. Operators' stops take 46, the reverts of each recipient (decision 0057) 44.
    "outflow_statements.HEADS": 400,
    # At the start of a lane: the payments among the first and last thousand of its signer.
    "lane_statements.OLDEST_AND_NEWEST_PAID": 250,
    "statements.LOCK_ACCOUNTS": 600,
    "lane_sweeps.CLOSE_SWEEPS": 200,
    "statements.PROVE_DEAD": 250,
    "swap_statements.BY_ID attempts": 200,
    "swap_statements.BY_KEY attempts": 250,
    "statements.UPSERT_INTENTS": 400,
    "sweeps.SWEEPS_MINED": 200,
    # Twenty entries, eleven pages each: the posting and its account by key.
    "losses.ENTRIES": 260,
}
# Stops, passes and silences of networks are read; a few rows of each exist.
ROWS: Final = dict.fromkeys(
    (
        "dwelling.STUCK",
        "dwelling.UNSENT",
        "due_refunds.REFUNDS_DUE",
        "lane_statements.OPEN_SIGNED",
        "losses.STOP",
        "outflow_statements.CAP_REQUESTS",
    ),
    3000,
)
REQUESTED = [*OPEN, 1001, 1002]
NEW = [8001, 8002]  # without a swap yet
NONCES = [*(FIRST_NONCE_OPEN + n for n in OPEN), 1001, 1002]
HASHES = [f"tx{n} 2" for n in REQUESTED]
NOW = datetime.now(UTC)
# The value of each parameter, unless a statement has another one below.
USUAL: Final[Mapping[str, Any]] = {
    "network": NETWORK,
    "networks": [NETWORK] * len(REQUESTED),
    "signer": SIGNER,
    "address": SIGNER,
    "addresses": [f"at {n}" for n in REQUESTED],
    "token": TOKEN,
    "tokens": [TOKEN] * len(REQUESTED),
    "consumer": "settler",
    "keys": [f"key {n}" for n in REQUESTED],
    "ids": ids("output", REQUESTED),
    "swap_ids": ids("swap", REQUESTED),
    "intent_ids": ids("output", REQUESTED),
    "deposit_ids": ids("nobodys", REQUESTED),
    "paid_ids": [str(n) for n in REQUESTED],
    "hashes": HASHES,
    "hash": "paid1001",
    "nonces": NONCES,
    "signers": [f"user {n}" for n in REQUESTED],
    "permit": b"perm",
    "native": "0x" + "00" * 20,
    "limit": 20,
    "now": NOW,
    "after": None,
    "after_at": None,
    "after_id": 0,
    "after_address": "",
    "after_network": "",
    "at": NOW,
    "first": 0,
    "lowest": FIRST_NONCE_OPEN + 2,
    "below": FIRST_NONCE_OPEN + 5,
    "number": 5,
    "block_number": 5,
    "block_hash": "block",
    "final_number": 5,
    "final_hash": "block",
    "count": 1,
    "by": "me",
    "because": "so",
    "reason": "so",
    "last_lifted": None,
    "stopped_at": None,
    "units": 5,
    "may_raise": True,
    "app_id": APP,
    "milliseconds": "1000",
    **dict.fromkeys(
        ("pause", "older_than", "span", "payment", "deadline", "dwell", "silent_after"),
        timedelta(minutes=1),
    ),
}
SWAPS, OUTPUTS, RELAYS = ids("swap", REQUESTED), ids("output", REQUESTED), ids("relay", REQUESTED)
SWEEPS, ENTRIES = ids("sweep", REQUESTED), ids("entry", NEW)
PLACES: Final = {
    "network": [NETWORK] * 5,
    "address": [f"at {n}" for n in OPEN],
    "token": [TOKEN] * 5,
}
OF_APP: Final = {"app_id": ids("app", [1])[0], "id": 1}
MINED: Final = {
    "transaction_hash": HASHES,
    "is_mined": [True] * len(REQUESTED),
    "block_number": REQUESTED,
    "block_hash": ["block"] * len(REQUESTED),
    "block_time": [NOW] * len(REQUESTED),
}
QUEUE_ENTRIES: Final = {"intent_id": OUTPUTS, "cap_id": [1] * len(REQUESTED)}
SPECIAL: Final[Mapping[str, Mapping[str, Any]]] = {
    "backlogs.COVERS": {"networks": [NETWORK], "treasuries": ["treasury"]},
    "backlogs.DEPOSIT_ITEMS": {"after_id": UUID(int=0)},
    "backlogs.REFUND_ITEMS": {"after_id": UUID(int=0)},
    "blocked.BLOCK": {"addresses": ["new"]},
    "blocked.LIFT": {"addresses": ["somebody 1010"]},
    "rescues.NEWEST": {"before": None},
    "blocked.FIND": {"address": "somebody 1010", "network": ""},
    "caps.FIND_WAITING": {"intent_id": OUTPUTS[1]},
    "caps.SET": {"units": "5", "set_at": None},
    "caps.LIFT": {"set_at": None},
    "caps.GRANT_PASS": {"intent_id": OUTPUTS[1]},
    "caps.WAKE": {"intent_id": OUTPUTS[1]},
    "claims.CLAIMABLE": {"id": 1},
    "claims.ADD_ORDER": {"id": OUTPUTS[1]},
    "dwelling.STUCK": {"networks": [NETWORK], "after_id": UUID(int=0)},
    "dwelling.BEGIN_SILENCE": {"networks": [NETWORK]},
    "dwelling.REPORT": {"network": [NETWORK], "stuck": [1]},
    "lane_statements.ADD_SIGNER": {"nonce": 1},
    "lane_statements.LOCK_REPLACED": {"nonce": FIRST_NONCE_OPEN + 3},
    "lane_statements.ASSIGN_INTENTS": {"ids": OUTPUTS[1:2]},
    "lane_statements.COUNT_REVERTS": {"besides": OUTPUTS[:1]},
    "lane_statements.CLOSE_SLOTS": {"witnesses": ["{}"] * len(REQUESTED)},
    "lane_statements.POSTPONE": {
        "id": OUTPUTS,
        "failures": [1] * len(REQUESTED),
        "pause": [timedelta(minutes=1)] * len(REQUESTED),
    },
    "lane_statements.SIGNER_BALANCE": {"address": "treasury"},
    "lane_statements.MARK_SENT": {"hash": HASHES, "sent_ago": [timedelta(0)] * len(HASHES)},
    "losses.COUNTED_LOSSES": {"span": timedelta(days=1)},
    "losses.ENTRIES": {"after_at": NOW, "after_id": UUID(int=0)},
    "outflow_statements.ADD_SPENT": {"cap_id": [1], "spent": ["1"]},
    "outflow_statements.ADD_COUNTED": {
        "intent_id": OUTPUTS[:5],
        "cap_id": [1] * 5,
        "amount": ["1"] * 5,
    },
    "outflow_statements.DROP_COUNTED": {"ids": [1]},
    "outflow_statements.DROP_SPENT": {"ids": [1]},
    "outflow_statements.LEAVE_QUEUES": QUEUE_ENTRIES,
    "outflow_statements.JOIN_QUEUES": {
        **QUEUE_ENTRIES,
        "amount": ["1"] * len(REQUESTED),
        "is_too_large": [False] * len(REQUESTED),
    },
    "partner_fees.ASSET": OF_APP,
    "partner_fees.FIND_FEE": OF_APP,
    "partner_fees.LOCK_FEE": OF_APP,
    "partner_fees.PAID": OF_APP,
    "records.FIND_CLAIMABLE": {"id": 1},
    "records.SWAP": {"id": SWAPS[-1]},
    "records.DEPOSIT": {"id": ids("nobodys", REQUESTED)[-1]},
    "records.DEPOSIT_LEDGER": {"id": ids("deposit", REQUESTED)[-1], "funding_keys": ["funded/1/1"]},
    "signers.OPEN_NONCES": {"after": 0, "after_id": UUID(int=0), "no_id": UUID(int=0)},
    "signers.RESUME": {"network": [NETWORK], "address": [SIGNER], "halted_reason": ["so"]},
    **{f"swap_statements.BY_ID {part}": {"ids": SWAPS} for part in Loading._fields},
    **{
        f"swap_statements.BY_KEY {part}": {"deposit_ids": ids("deposit", REQUESTED)}
        for part in Loading._fields
    },
    "swap_statements.UNMATCHED": {
        "ids": ids("nobodys", REQUESTED),
        "keys": [f"nobody {n}" for n in REQUESTED],
    },
    "statements.ADD_ATTACHMENT": {"id": ids("deposit", REQUESTED)[0]},
    "swap_statements.LOCK_STANDALONE_INTENTS": {"ids": ids("claim", [1010, 1020])},
    "swap_statements.PAID_BY": {
        "networks": [NETWORK] * 4,
        "paid_ids": [str(n) for n in (*REQUESTED[-2:], 1_001_010, 1_001_020)],
    },
    "swap_statements.LIVE_STANDALONE_INTENTS": {"deposit_ids": ids("nobodys", [1010, 1020])},
    "work_queue_statements.ADD_REFUNDS_DUE": {
        "network": [NETWORK] * 5,
        "swap_id": SWAPS[:5],
        "deposit_id": [None] * 5,
    },
    "work_queue_statements.DROP_REFUNDS_DUE": {"ids": [1, 2]},
    "work_queue_statements.ADD_REQUOTES_DUE": {"swap_id": SWAPS[:5]},
    "work_queue_statements.POSTPONE_REQUOTES": {"ids": SWAPS},
    "work_queue_statements.DROP_REQUOTES_DUE": {"ids": SWAPS},
    "work_queue_statements.ADD_COMPLETIONS_DUE": {"swap_id": SWAPS[:5], "due_at": [NOW] * 5},
    "work_queue_statements.DROP_COMPLETIONS_DUE": {"ids": SWAPS},
    "statements.LEAVE_UNSIGNED": {"ids": RELAYS},
    "statements.PROVE_DEAD": {"ids": ids("dead", REQUESTED)},
    "statements.HALT_SIGNERS": {"network": [NETWORK], "reason": ["so"], "at": [NOW]},
    "sweep_orders.ORDER": {"address": "at 1001"},
    "sweeps.SWEEPS_MINED": MINED,
    "sweeps.ADD_SWEEPS_DUE": PLACES,
    "sweeps.MARK_BOOKED": {
        "id": ids("swept", REQUESTED),
        "is_nobodys": [False] * len(REQUESTED),
    },
    "sweeps.DROP_DUE": PLACES,
    "sweeps.POSTPONE_DUE": PLACES,
    "sweeps.POSTPONE_REFUNDS": {"ids": [1, 2]},
    "lane_sweeps.POSTPONE": {"ids": SWEEPS},
    "lane_sweeps.CLOSE_SWEEPS": {
        "nonce": NONCES,
        "transaction_hash": HASHES,
        "block_number": REQUESTED,
        "block_hash": ["block"] * len(REQUESTED),
        "succeeded": [True] * len(REQUESTED),
    },
    "external_payments.CLAIMABLE_OF": {"swap_id": SWAPS[-1], "deposit_id": None},
    "external_payments.SET_SLOT_TIME": {"intent_id": OUTPUTS, "at": [NOW] * len(REQUESTED)},
    "treasury_withdrawals.MARK_BOOKED": {"ids": ids("withdrawal", REQUESTED)},
}
# These get existing open rows, which they write again.
GIVEN_ROWS: Final[Mapping[str, str]] = {
    "statements.UPSERT_SWAPS": "swap",
    "statements.UPSERT_DEPOSITS": "deposit",
    "statements.UPSERT_INTENTS": "intent",
    "statements.UPSERT_AUTHORIZATIONS": "gasless_authorization",
    "statements.LOCK_ACCOUNTS": "account",
    "statements.MOVE_INVENTORY": "(SELECT *, 1 AS held, 1 AS owed FROM inventory) AS i",
    "sweeps.SAVE_SWEPT": "swept",
    "treasury_withdrawals.SAVE": "withdrawal",
}
# They insert their parameters into one table, without a lookup.
INSERTIONS: Final = frozenset({
    "external_nonces.ADD_EXTERNAL_TRANSACTIONS",
    "lane_statements.ADD_SLOTS", "lane_statements.ADD_SLOT_INTENTS",
    "lane_statements.ADD_ATTEMPTS", "lane_statements.ADD_RECEIPTS",
    "lane_statements.ADD_SIGNER_TRANSACTIONS", "lane_statements.ADD_SNAPSHOTS", "rescues.ORDER",
    "statements.ADD_TRANSITIONS", "sweeps.ADD_DEPOSIT_ADDRESSES",
    "sweeps.ADD_SWEEPS", "external_payments.ADD_EXTERNAL_PAYMENTS",
})  # fmt: skip
# A ledger transaction is inserted with its postings: see BOOKED.
BOOKING: Final = frozenset({"statements.ADD_LEDGER_TRANSACTIONS", "statements.BOOK"})
# One of each kind of lookup of an account: by swap, deposit, address, app, and without any.
ACCOUNTS: Final = {
    "kind": ["in_flight", "swap_liability", "suspense", "custody", "partner_fee", "equity"],
    "network": [NETWORK] * 6,
    "token": [TOKEN] * 6,
    "swap_id": [*SWAPS[:2], *[None] * 4],
    "deposit_id": [None, None, ids("nobodys", [1010])[0], *[None] * 3],
    "holder": [*[None] * 3, "deposit_address", None, None],
    "address": [*[None] * 3, "at 1001", None, None],
    "app_id": [*[None] * 4, ids("app", [1])[0], None],
}
BOOKED: Final = Question(
    statements.BOOK,
    {
        **ACCOUNTS,
        "moved": ["-1", "0", "-1", "1", "-1", "2"],
        "transaction_id": [ENTRIES[0]] * 4 + [ENTRIES[1]] * 4,
        "n": [0, 1, 2, 3] * 2,
        "account_n": [1, 2, 4, 6, 2, 3, 5, 6],
        "base_units": ["-1", "-1", "1", "1", "1", "-1", "-1", "1"],
    },
    at_most=400,  # six accounts are created or found, and checked at the end
    after=Question(
        statements.ADD_LEDGER_TRANSACTIONS,
        {
            "id": ENTRIES,
            "kind": ["new"] * 2,
            "swap_id": [SWAPS[0]] * 2,
            "dedupe_key": ["new", "newer"],
            "network": [NETWORK] * 2,
            "effective_block": [1] * 2,
        },
        after=Question(statements.LOCK_ACCOUNTS, ACCOUNTS),
    ),
)

# Dicts of statements about one row, and the row.
OF_ONE: Final = {"PARTS": SWAPS[-1], "DEPOSIT_PARTS": ids("deposit", REQUESTED)[-1]}
# They are not urgent: an operator requests them, one at a time.
EXCUSED: Final = frozenset(
    {"partner_fees.PAID", "records.CLAIMABLE", "backlogs.ACCOUNTS", "caps.COUNTED"}
)


async def questions(engine: Engine) -> Mapping[str, Question]:
    """Return every statement by name, with its parameters for the open swaps."""
    questions = {"booking": BOOKED}
    for module in MODULES:
        of = {
            f"{parts} {name}": part
            for parts in OF_ONE
            for name, part in getattr(module, parts, {}).items()
        }
        for name, statement in {**vars(module), **of, **_loadings(module)}.items():
            full = f"{module.__name__.rpartition('.')[2]}.{name}"
            if not isinstance(statement, Statement) or full in INSERTIONS | BOOKING | EXCUSED:
                continue
            values: Mapping[str, Any] = {**USUAL, **SPECIAL.get(full, {})}
            if full in GIVEN_ROWS:
                values = await _rows(engine, GIVEN_ROWS[full], statement.names)
            elif (parts := name.partition(" ")[0]) in OF_ONE:
                values = {"id": OF_ONE[parts]}
            questions[full] = Question(statement, values, PAGES.get(full, AT_MOST), ROWS.get(full))
    return questions


def _loadings(module: ModuleType) -> Mapping[str, Statement]:
    """Return the statements that load swaps together, by funding method and name."""
    ways = {name: of for name, of in vars(module).items() if isinstance(of, Loading)}
    return {
        f"{way} {name}": statement
        for way, of in ways.items()
        for name, statement in of._asdict().items()
    }


async def _rows(engine: Engine, table: str, names: Sequence[str]) -> Mapping[str, Any]:
    async with engine.connect() as connection:
        found = [row._asdict() for row in await connection.execute(f"SELECT * FROM {table}")]
    return {name: [_plain(row[name]) for row in found] for name in names}


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, engine: Engine, watcher: Engine
) -> None:
    past = history(engine)
    await past.run(*what_is_open())
    statement = await questions(engine)

    assert await readers.among(statement, past, watched_history(watcher)) == {}
