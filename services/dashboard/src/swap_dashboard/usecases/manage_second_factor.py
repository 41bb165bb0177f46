"""Switches an account's second factor on and off, with the password."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_dashboard import observe
from swap_dashboard.adapters.accounts import PostgresAccounts
from swap_dashboard.adapters.device_codes import TimeCodes
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.adapters.second_factors import PostgresSecondFactors
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.domain.accounts import Account, Session
from swap_dashboard.domain.second_factor import RECOVERY_CODES, code_hash, to_code
from swap_dashboard.domain.throttling import failure_counters
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.check_code import CheckCode
from swap_dashboard.usecases.sign_in import SignInBlocked, SignInRefused


@dataclass(frozen=True, slots=True)
class NewSecret:
    """What a device needs, shown once after a check of the password."""

    secret: str
    uri: str


class EnrolmentEnded(Exception):
    """No secret of this session waits for a first code: another began, or it took too long."""


class ManageSecondFactor:
    """Every method raises SignInBlocked after too many failures, and SignInRefused for a wrong
    password or code.
    """

    def __init__(
        self,
        accounts: PostgresAccounts,
        passwords: Argon2Passwords,
        sessions: PostgresSessions,
        throttle: PostgresThrottle,
        *,
        factors: PostgresSecondFactors,
        device_codes: TimeCodes,
        check_code: CheckCode,
        clock: Clock,
        new_code: Callable[[], str],
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._sessions = sessions
        self._throttle = throttle
        self._factors = factors
        self._device_codes = device_codes
        self._check_code = check_code
        self._clock = clock
        self._new_code = new_code

    async def state(self, account_id: UUID) -> int | None:
        """Return how many recovery codes are left; None where it is off."""
        factor = await self._factors.find(account_id)
        if factor is None or not factor.is_confirmed:
            return None
        return await self._factors.count_codes(account_id)

    async def needs_password(self, account_id: UUID) -> bool:
        """Whether the account has no password of its own: it is set before a second factor."""
        return not (await self._accounts.find_by_id(account_id)).has_password

    async def begin(self, session: Session, password: str) -> NewSecret:
        """Make a secret. It protects nothing before a code of it was entered."""
        account = await self._require_password(session, password)
        secret, now = self._device_codes.new_secret(), self._clock()
        if not await self._factors.begin(account.id, secret, session_id=session.id, at=now):
            raise SignInRefused
        return NewSecret(secret, self._device_codes.uri(secret, account.email))

    async def confirm(self, session: Session, text: str) -> Sequence[str]:
        """Switch it on by a first code, end other sessions, and return the recovery codes.

        :raises EnrolmentEnded: when it has to begin again.
        """
        account_id, factor = session.account_id, await self._factors.find(session.account_id)
        counted, now = failure_counters(f"confirm/{account_id}", session.address), self._clock()
        until = await self._throttle.begin(counted, now)
        if until is not None:
            raise SignInBlocked(until, now=now)
        if factor is None or factor.secret is None or not factor.waits_for(session.id, now):
            raise EnrolmentEnded
        step = self._device_codes.step_of(factor.secret, to_code(text), now)
        if step is None:
            raise SignInRefused
        codes = self._make_codes()
        hashes = [code_hash(account_id, code) for code in codes]
        if not await self._factors.confirm(account_id, factor, step, codes=hashes, at=now):
            raise EnrolmentEnded
        await self._throttle.succeed(counted)
        observe.second_factor_changed(account_id, "on")
        await self._sessions.end_all(account_id, but=session.id)
        return codes

    async def replace_codes(self, session: Session, password: str, text: str) -> Sequence[str]:
        """Return new recovery codes; the earlier ones end."""
        await self._require_both(session, password, text)
        codes = self._make_codes()
        hashes = [code_hash(session.account_id, code) for code in codes]
        await self._factors.replace_codes(session.account_id, hashes)
        return codes

    async def remove(self, session: Session, password: str, text: str) -> None:
        await self._require_both(session, password, text)
        await self._factors.remove(session.account_id)
        observe.second_factor_changed(session.account_id, "off")

    async def _require_both(self, session: Session, password: str, text: str) -> None:
        await self._require_password(session, password)
        await self._check_code(session.account_id, text, address=session.address)

    async def _require_password(self, session: Session, password: str) -> Account:
        account = await self._accounts.find_by_id(session.account_id)
        counted, now = failure_counters(account.email, session.address), self._clock()
        until = await self._throttle.begin(counted, now)
        if until is not None:
            raise SignInBlocked(until, now=now)
        if not await self._passwords.matches(account.password_hash, password):
            raise SignInRefused
        await self._throttle.succeed(counted)
        return account

    def _make_codes(self) -> Sequence[str]:
        return [self._new_code() for _ in range(RECOVERY_CODES)]


class RemoveSecondFactor:
    """Switch it off for a member without device and codes, as two operators order."""

    def __init__(self, accounts: PostgresAccounts, factors: PostgresSecondFactors) -> None:
        self._accounts = accounts
        self._factors = factors

    async def begun_at(self, email: str) -> datetime | None:
        """Return when the account's second factor was begun; None where there is none."""
        account = await self._accounts.find(email)
        factor = None if account is None else await self._factors.find(account.id)
        return None if factor is None else factor.begun_at

    async def __call__(self, email: str, begun_at: datetime) -> bool:
        """Return whether the account's second factor was begun then, and is removed."""
        account = await self._accounts.find(email)
        if account is None or not await self._factors.remove_by_order(account.id, begun_at):
            return False
        observe.second_factor_changed(account.id, "off, by two operators")
        return True
