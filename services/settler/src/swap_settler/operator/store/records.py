"""What an operator may look at, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.records import Record, to_record

SWAP: Final = sql("SELECT * FROM swap WHERE id = :id")
PARTS: Final = {
    "transitions": sql("""
SELECT sequence, from_status, to_status, at, cause FROM swap_transition
WHERE swap_id = :id ORDER BY sequence"""),
    "deposits": sql("SELECT * FROM deposit WHERE swap_id = :id ORDER BY heard_at, id"),
    "intents": sql("SELECT * FROM intent WHERE swap_id = :id ORDER BY created_at, id"),
    "attempts": sql("""
SELECT intent_id, network, signer, nonce, transaction_hash, is_cancel, signed_at, first_sent_at,
       closed_at
FROM slot_intent JOIN nonce_slot USING (network, signer, nonce)
LEFT JOIN attempt USING (network, signer, nonce)
WHERE intent_id IN (SELECT id FROM intent WHERE swap_id = :id) ORDER BY signed_at"""),
    "taken": sql("""
SELECT taken_payment.* FROM intent JOIN taken_payment ON taken_payment.intent_id = intent.id
WHERE intent.swap_id = :id ORDER BY taken_payment.at"""),
    "ledger": sql("""
SELECT entry.kind, entry.at, entry.effective_block, account.kind AS account, account.network,
       account.token, account.deposit_id, posting.base_units
FROM ledger_transaction AS entry
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
WHERE entry.swap_id = :id ORDER BY entry.at, entry.id, posting.n"""),
    "balances": sql("""
SELECT kind, network, token, deposit_id, balance FROM account
WHERE swap_id = :id AND balance <> 0 ORDER BY kind"""),
}
DEPOSIT: Final = sql("SELECT * FROM deposit WHERE id = :id")
# Accounts of a deposit: without its swap, then on the swap's own leg of it.
_ACCOUNTS_OF_DEPOSIT: Final = """
SELECT account.* FROM deposit AS own JOIN account ON account.kind IN ('suspense', 'in_flight')
    AND (account.network, account.token) = (own.network, own.token)
    AND account.swap_id IS NULL AND account.deposit_id = own.id WHERE own.id = :id
UNION ALL
SELECT account.* FROM deposit AS own JOIN account
    ON account.swap_id = own.swap_id AND account.deposit_id = own.id WHERE own.id = :id
"""
# What was booked on its accounts, and what has its id as the second part of its key
# (model/ledger/ledger.py).
DEPOSIT_LEDGER: Final = sql(f"""
SELECT entry.kind, entry.at, entry.effective_block, account.kind AS account, account.network,
       account.token, account.swap_id, posting.base_units
FROM (SELECT transaction_id AS id FROM posting
        JOIN ({_ACCOUNTS_OF_DEPOSIT}) AS of_it ON of_it.id = posting.account_id
    UNION SELECT booked.id FROM deposit AS own JOIN ledger_transaction AS booked
        ON booked.swap_id = own.swap_id
            AND split_part(booked.dedupe_key, '/', 2) = CAST(own.id AS text)
        WHERE own.id = :id
    UNION SELECT id FROM ledger_transaction
        WHERE dedupe_key = ANY(CAST(:funding_keys AS text[]))) AS found
JOIN ledger_transaction AS entry ON entry.id = found.id
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
ORDER BY entry.at, entry.id, posting.n""")
DEPOSIT_PARTS: Final = {
    "balances": sql(f"""
SELECT id, kind, network, token, swap_id, -balance AS base_units
FROM ({_ACCOUNTS_OF_DEPOSIT}) AS of_it WHERE balance <> 0 ORDER BY id"""),
    "payments": sql("""
SELECT kind, state, network, token, base_units, to_address, transaction_hash FROM (
    SELECT * FROM intent WHERE kind = 'claim' AND state <> 'dead' AND deposit_id = :id
    UNION
    SELECT refund.* FROM deposit AS own JOIN intent AS refund ON refund.swap_id = own.swap_id
        AND refund.deposit_id = own.id AND refund.state <> 'dead' WHERE own.id = :id) AS of_it
ORDER BY created_at, id"""),
}
_CLAIMABLE: Final = """
SELECT id, kind, network, token, swap_id, deposit_id, -balance AS base_units FROM account
WHERE kind IN ('claimable', 'suspense') AND balance <> 0
"""
CLAIMABLE: Final = sql(f"{_CLAIMABLE} AND id > :after ORDER BY id LIMIT :limit")
FIND_CLAIMABLE: Final = sql(f"{_CLAIMABLE} AND id = :id")


class PostgresRecords:
    """What an operator may look at. Locks nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find_swap(self, swap_id: UUID) -> Record | None:
        """Return a swap with its history, deposits, intents with their attempts, and postings.

        With what took the ids of its payments without us, as it was explained.
        """
        swap = await self._rows(SWAP, id=swap_id)
        if not swap:
            return None
        parts = {name: await self._rows(part, id=swap_id) for name, part in PARTS.items()}
        return {"swap": swap[0], **parts}

    async def find_deposit(self, deposit_id: UUID) -> Record | None:
        """Return a deposit with the postings about it, its balances and the payments of it."""
        deposit = await self._rows(DEPOSIT, id=deposit_id)
        if not deposit:
            return None
        [record] = deposit
        ledger = await self._rows(
            DEPOSIT_LEDGER, id=deposit_id, funding_keys=_funding_keys(deposit_id, record["version"])
        )
        parts = {name: await self._rows(one, id=deposit_id) for name, one in DEPOSIT_PARTS.items()}
        return {"deposit": record, "ledger": ledger, **parts}

    async def list_claimable(self, *, after: int, limit: int) -> Sequence[Record]:
        """Return the balances that wait for their owners, and those in suspense; oldest first.

        :param after: only those with a higher id.
        """
        return await self._rows(CLAIMABLE, after=after, limit=limit)

    async def find_claimable(self, id: int) -> Record | None:
        """Return one of them; None where nothing is left of it."""
        rows = await self._rows(FIND_CLAIMABLE, id=id)
        return rows[0] if rows else None

    async def _rows(self, statement: Statement, **values: object) -> Sequence[Record]:
        return [to_record(row) for row in await read_alone(self._engine, statement, values)]


def _funding_keys(deposit_id: UUID, version: object) -> Sequence[str]:
    """Return the keys of what the ledger has of a deposit by the Treasury's owner."""
    assert isinstance(version, int)
    versions = range(1, version + 1)
    return [f"{kind}/{deposit_id}/{n}" for kind in ("funded", "unfunded") for n in versions]
