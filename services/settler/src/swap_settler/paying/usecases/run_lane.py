"""One lane for as long as its lease is held: send what is due, look after what is out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from swap_chains.errors import ChainError, ChainMismatch, WrongChain
from swap_chains.ports import ChainReader
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.wake import Wake
from swap_settler.paying import observe
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.buffer_sent_attempts import BufferSentAttempts
from swap_settler.paying.usecases.close_slots import CloseSlots
from swap_settler.paying.usecases.fence_nonces import FenceNonces
from swap_settler.paying.usecases.rebroadcast import Rebroadcast
from swap_settler.paying.usecases.replace_stuck import ReplaceStuck
from swap_settler.paying.usecases.send_payouts import SendPayouts
from swap_settler.paying.usecases.send_sweeps import SendSweeps
from swap_settler.paying.usecases.snapshot_treasury import SnapshotTreasury

Result = TypeVar("Result")


class RunLane:
    """The only sender of one (network, signer)."""

    def __init__(
        self,
        *,
        chain: ChainReader,
        signer: str,
        store: PostgresLaneStore,
        send: SendPayouts,
        rebroadcast: Rebroadcast,
        replace: ReplaceStuck,
        close_slots: CloseSlots,
        fence: FenceNonces,
        buffer_sent_attempts: BufferSentAttempts,
        snapshot: SnapshotTreasury,
        check_chain: Callable[[], Awaitable[None]],
        check_contracts: Callable[[], Awaitable[None]],
        poll_interval: timedelta,
        upkeep_interval: timedelta,
        contracts_interval: timedelta,
        sweep: SendSweeps | None = None,
    ) -> None:
        """
        :param sweep: nothing where a network has no deposit addresses.
        """
        self._sweep = sweep
        self._chain = chain
        self._signer = signer
        self._store = store
        self._send = send
        self._rebroadcast = rebroadcast
        self._replace = replace
        self._close_slots = close_slots
        self._fence = fence
        self._sent_attempts = buffer_sent_attempts
        self._snapshot = snapshot
        self._check_chain = check_chain
        self._check_contracts = check_contracts
        self._poll_interval = poll_interval
        self._upkeep_interval = upkeep_interval
        self._contracts_interval = contracts_interval

    async def send(self, wake: Wake, *, epoch: int, beat: Callable[[], None]) -> None:
        """Send for ever; commits wake it, the poll is what makes it certain.

        :raises ChainMismatch: or WrongChain, when signing here would be a mistake.
        """
        await self._start()
        while True:
            beat()
            sent = await self._try(lambda: self._send(epoch=epoch))
            if self._sweep is not None:
                await self._try(partial(self._sweep, epoch=epoch))
            if not (sent and self._send.has_more):
                await wake.wait(self._poll_interval)

    async def run_upkeep(self, *, epoch: int, beat: Callable[[], None]) -> None:
        """Rebroadcast, replace, close slots and compare balances for ever, beside the sending."""
        while True:
            beat()
            await self._try(self._rebroadcast)
            await self._try(lambda: self._replace(epoch=epoch))
            await self._try(partial(self._close_slots, epoch=epoch))
            await self._try(partial(self._fence_nonces, epoch))
            await self._try(self._snapshot)
            await self._try(self._report_age)
            await asyncio.sleep(self._upkeep_interval.total_seconds())

    async def mark_sent_attempts(self, *, beat: Callable[[], None]) -> None:
        """Mark sent attempts for ever, in the background: sending does not wait for it."""
        while True:
            beat()
            await self._try(self._sent_attempts)

    async def compare_contracts(self) -> None:
        """Compare the contracts with the catalogue for ever: a difference alerts an operator.

        The lane goes on (docs/decisions/0099-a-changed-contract-alerts-and-payments-go-on.md).
        """
        while True:
            await asyncio.sleep(self._contracts_interval.total_seconds())
            await self._try(self._compare)

    async def _compare(self) -> None:
        with suppress(ChainMismatch):  # it was counted
            await self._check_contracts()

    async def _report_age(self) -> None:
        observe.oldest_unpaid(self._chain.network, await self._store.oldest_unpaid())

    async def _start(self) -> None:
        """A chain that is ahead of our slots was used without us: a theft, unless the database was
        restored.

        Nothing is signed until an operator resumes it, or the nonces are fenced.
        """
        await self._check()
        nonce, known = await self._open_signer()
        if known < nonce and not await self._awaits_fence():
            await self._store.halt(f"the chain is at nonce {nonce}, the ledger at {known}")
            observe.signer_halted(self._chain.network, self._signer, known, nonce)

    async def _open_signer(self) -> tuple[int, int]:
        """Return the next nonce by the chain and by the ledger, once the database is compared."""
        while True:
            nonce = await self._try(self._nonce)
            if nonce is not None:
                known = await self._store.open_signer(nonce)
                if known is not None:
                    return nonce, known
                waits_for = "the database is not compared with the chain (swapctl recovery status)"
                observe.lane_waits(self._chain.network, waits_for)
            await asyncio.sleep(self._poll_interval.total_seconds())

    async def _awaits_fence(self) -> bool:
        """Whether it is known that a restored ledger is behind; the lane fences it then."""
        while True:
            is_awaited = await self._try(self._fence.is_awaited)
            if is_awaited is not None:
                return is_awaited
            await asyncio.sleep(self._poll_interval.total_seconds())

    async def _fence_nonces(self, epoch: int) -> None:
        if await self._fence(epoch=epoch):
            self._send.expect_unsigned_slots()

    async def _check(self) -> None:
        while True:
            try:
                await self._check_chain()
                return
            except (ChainMismatch, WrongChain):
                raise
            except (ChainError, Unavailable) as error:
                observe.lane_waits(self._chain.network, str(error))
                await asyncio.sleep(self._upkeep_interval.total_seconds())

    async def _nonce(self) -> int:
        return await self._chain.nonce(self._signer, at=await self._chain.head())

    async def _try(self, work: Callable[[], Awaitable[Result]]) -> Result | None:
        try:
            return await work()
        except (ChainError, Unavailable) as error:
            observe.lane_waits(self._chain.network, str(error))
            return None
