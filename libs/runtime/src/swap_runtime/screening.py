"""Which addresses must not be paid: by the operators' list and an external service.

Addresses are screened where a swap is priced and created, and again before each payment. So an
address that is blocked in between is not paid either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from time import monotonic
from typing import Final, Protocol

import aiohttp
import psycopg
import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from swap_domain.rehearsals import is_rehearsed
from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import Engine, forbid_open_transaction, reading
from swap_runtime.postgres.sql import sql
from swap_runtime.settings import ScreeningSettings
from swap_runtime.telemetry.metrics import begin_at_zero, counter

LIVE: Final = "live"
CACHED_MAX: Final = 50_000
ADDRESSES_PER_REQUEST_MAX: Final = 500
# Alert: no response, for long. What cannot be screened is not paid.
SCREENING: Final = counter("screening", "Responses of the screening service", ["answer"])
log = structlog.get_logger()

VERSION: Final = sql("SELECT version FROM settler.blocked_version")
BLOCKED: Final = sql("SELECT address, network FROM settler.blocked")


class Verdict(Enum):
    CLEAR = "clear"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"  # no answer: the request waits, or is refused for now


@dataclass(frozen=True, slots=True)
class Party:
    """An address on a network, in any spelling."""

    network: str
    address: str

    @property
    def normalised(self) -> Party:
        return Party(self.network, self.address.lower())


Verdicts = Mapping[Party, Verdict]


class Screening(Protocol):
    async def screen(self, parties: Collection[Party]) -> Verdicts:
        """Return the result for each; a missing answer raises nothing."""
        ...


class BlockList:
    """The operators' list, held in memory and read again when it has changed.

    Until it was read once, every address is unknown.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._version: int | None = None
        self._known: frozenset[tuple[str, str | None]] = frozenset()

    async def refresh(self) -> None:
        """
        :raises Unavailable: when Postgres is away, or has no list yet; what was known stands.
        """
        try:
            async with reading(self._engine) as connection:
                version = await connection.scalar(VERSION)
                if version == self._version:
                    return
                rows = await connection.execute(BLOCKED)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege) as error:
            raise Unavailable("there is no list of blocked addresses yet") from error
        self._known = frozenset((row.address, row.network) for row in rows)
        self._version = version

    async def screen(self, parties: Collection[Party]) -> Verdicts:
        return {party: self._verdict(party.normalised) for party in parties}

    def _verdict(self, party: Party) -> Verdict:
        if self._version is None:
            return Verdict.UNKNOWN
        entries = {(party.address, None), (party.address, party.network)}
        return Verdict.BLOCKED if self._known & entries else Verdict.CLEAR


class FreshList:
    """The same list, read for every query: for irreversible actions."""

    def __init__(self, blocked: BlockList) -> None:
        self._blocked = blocked

    async def screen(self, parties: Collection[Party]) -> Verdicts:
        try:
            await self._blocked.refresh()
        except Unavailable as error:
            log.warning("block list unavailable", reason=str(error))
            return dict.fromkeys(parties, Verdict.UNKNOWN)
        return await self._blocked.screen(parties)


class _ScreenedAddress(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    network: str
    address: str
    blocked: bool


class _ScreeningResponse(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    results: list[_ScreenedAddress]


class ScreeningService:
    """`POST {"addresses": [{"network", "address"}]}` answers `{"results": [{…, "blocked"}]}`."""

    def __init__(self, settings: ScreeningSettings, session: aiohttp.ClientSession) -> None:
        self._settings = settings
        self._session = session
        self._known: dict[Party, tuple[Verdict, float]] = {}
        begin_at_zero(SCREENING, ("none", "some"))

    async def screen(self, parties: Collection[Party]) -> Verdicts:
        normalised_parties = {party: party.normalised for party in parties}
        now = monotonic()
        # Looked up before the queries: concurrent tasks change the cache meanwhile.
        known = {p: self._known[p] for p in normalised_parties.values() if p in self._known}
        unknown = [
            p
            for p in dict.fromkeys(normalised_parties.values())
            if p not in known or known[p][1] <= now
        ]
        results: dict[Party, Verdict] = {}
        for start in range(0, len(unknown), ADDRESSES_PER_REQUEST_MAX):
            results |= await self._request(unknown[start : start + ADDRESSES_PER_REQUEST_MAX])
        self._cache(results, now)
        absent = {party: self._verdict_without_response(known.get(party)) for party in unknown}
        verdicts = {party: verdict for party, (verdict, _) in known.items()} | absent | results
        return {party: verdicts[normalised] for party, normalised in normalised_parties.items()}

    def _verdict_without_response(self, known: tuple[Verdict, float] | None) -> Verdict:
        """Return the result without an answer: a blocked address stays blocked until an answer
        clears it.
        """
        if known is not None and known[0] is Verdict.BLOCKED:
            return Verdict.BLOCKED
        return Verdict.CLEAR if self._settings.is_open_when_away else Verdict.UNKNOWN

    def _cache(self, results: Verdicts, now: float) -> None:
        if len(self._known) + len(results) > CACHED_MAX:
            self._known.clear()
        until = now + self._settings.remembered_for.total_seconds()
        self._known |= {party: (verdict, until) for party, verdict in results.items()}

    async def _request(self, parties: Sequence[Party]) -> dict[Party, Verdict]:
        forbid_open_transaction("screening")
        body = {"addresses": [{"network": p.network, "address": p.address} for p in parties]}
        token = self._settings.token.get_secret_value()
        try:
            async with self._session.post(
                self._settings.url,
                json=body,
                headers={"authorization": f"Bearer {token}"} if token else {},
                timeout=aiohttp.ClientTimeout(total=self._settings.timeout.total_seconds()),
                allow_redirects=False,
            ) as answer:
                answer.raise_for_status()
                response = _ScreeningResponse.model_validate_json(await answer.read())
        except (aiohttp.ClientError, TimeoutError, ValidationError) as error:
            SCREENING.labels("none").inc()
            log.error("screening service failed", reason=f"{type(error).__name__}: {error}")
            return {}
        SCREENING.labels("some").inc()
        normalised_parties = set(parties)
        found = {Party(s.network, s.address).normalised: s.blocked for s in response.results}
        return {
            party: Verdict.BLOCKED if is_blocked else Verdict.CLEAR
            for party, is_blocked in found.items()
            if party in normalised_parties
        }


class RehearsalAddresses:
    """In live deployments, recipients of rehearsals are never paid: their keys do not exist."""

    def __init__(self, *, environment: str) -> None:
        self._is_live = environment == LIVE

    async def screen(self, parties: Collection[Party]) -> Verdicts:
        return {party: self._verdict(party) for party in parties}

    def _verdict(self, party: Party) -> Verdict:
        is_lost = self._is_live and is_rehearsed(party.address)
        return Verdict.BLOCKED if is_lost else Verdict.CLEAR


class Screenings:
    """Several, one after the other: blocked by any is blocked, unknown to any is unknown."""

    def __init__(self, *screenings: Screening) -> None:
        self._screenings = screenings

    async def screen(self, parties: Collection[Party]) -> Verdicts:
        results = dict.fromkeys(parties, Verdict.CLEAR)
        for screening in self._screenings:
            left = [party for party, verdict in results.items() if verdict is not Verdict.BLOCKED]
            for party, verdict in (await screening.screen(left)).items():
                if verdict is not Verdict.CLEAR:
                    results[party] = verdict
        return results
