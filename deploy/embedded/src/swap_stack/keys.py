"""Secrets of one stack: made once, kept in var/secrets.json, worth nothing elsewhere."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from eth_account import Account

from swap_stack.files import read_json, write_json

# The mnemonic of every development chain. What these accounts own exists on this machine only.
MNEMONIC = "test test test test test test test test test test test junk"
LOGIN_ROLES = ("api", "quoter", "chain_watcher", "settler", "notifier", "dashboard", "auditor")
# Of Kafka, where KAFKA_SECURITY=scram: the services, the operator, and the broker itself.
PRINCIPALS = ("api", "quoter", "chain_watcher", "settler", "notifier", "operator", "broker")
USERS = 5
SANDBOXES = 2


@dataclass(frozen=True, slots=True)
class DevelopmentKey:
    address: str
    private_key: str


@dataclass(frozen=True, slots=True)
class Secrets:
    postgres_password: str
    role_passwords: Mapping[str, str]
    kafka_passwords: Mapping[str, str]
    operator_token: str
    second_operator_token: str  # approves what the first orders
    api_token: str  # the api's own, at the notifier
    pay_link_key: str  # tokens of pay links are made with it
    key_pepper: str  # API keys are stored as a hash with it
    webhook_key: str  # webhook secrets are stored sealed with it
    dashboard_key: str  # members' access tokens are stored sealed with it
    dashboard_password: str  # of the account that the stack makes
    signer_key: str  # the hot key; it holds gas money and operates the Treasuries


def load_or_make(path: Path) -> Secrets:
    """Return the secrets of a stack, the same ones over all its restarts.

    One that an older stack has not got is made and kept with the others.
    """
    stored = read_json(path) or {}
    made = Secrets(
        postgres_password=secrets.token_urlsafe(24),
        role_passwords={role: secrets.token_urlsafe(24) for role in LOGIN_ROLES},
        kafka_passwords={name: secrets.token_urlsafe(24) for name in PRINCIPALS},
        operator_token=secrets.token_urlsafe(32),
        second_operator_token=secrets.token_urlsafe(32),
        api_token=secrets.token_urlsafe(32),
        pay_link_key=secrets.token_urlsafe(32),
        key_pepper=secrets.token_urlsafe(32),
        webhook_key=b64encode(secrets.token_bytes(32)).decode(),
        dashboard_key=b64encode(secrets.token_bytes(32)).decode(),
        dashboard_password=secrets.token_urlsafe(16),
        signer_key="0x" + secrets.token_hex(32),
    )
    complete = {**asdict(made), **stored}
    complete["role_passwords"] = {**made.role_passwords, **complete["role_passwords"]}
    if complete != stored:
        write_json(path, complete)
    return Secrets(**complete)


def key_of(private_key: str) -> DevelopmentKey:
    return DevelopmentKey(Account.from_key(private_key).address, private_key)


@dataclass(frozen=True, slots=True)
class DevelopmentKeys:
    """Who is who on the development chains; all but the signer are the same in every stack."""

    owner: DevelopmentKey  # deploys and owns the contracts
    funder: DevelopmentKey  # its transfers to a Treasury are funding, never a deposit
    users: tuple[DevelopmentKey, ...]
    sandboxes: tuple[DevelopmentKey, ...]  # the users that the sandbox plays
    signer: DevelopmentKey

    @property
    def have_tokens(self) -> tuple[DevelopmentKey, ...]:
        return (*self.users, *self.sandboxes)


def development_keys(signer_key: str) -> DevelopmentKeys:
    Account.enable_unaudited_hdwallet_features()
    owner, funder, *users = (_from_mnemonic(number) for number in range(2 + USERS))
    return DevelopmentKeys(owner, funder, tuple(users), sandbox_keys(), key_of(signer_key))


def sandbox_keys() -> tuple[DevelopmentKey, ...]:
    """Return who pays, and who pays what a chain is to take back."""
    Account.enable_unaudited_hdwallet_features()
    return tuple(_from_mnemonic(2 + USERS + number) for number in range(SANDBOXES))


def funder_key() -> DevelopmentKey:
    Account.enable_unaudited_hdwallet_features()
    return _from_mnemonic(1)


def _from_mnemonic(number: int) -> DevelopmentKey:
    account = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{number}")
    return DevelopmentKey(account.address, account.key.to_0x_hex())
