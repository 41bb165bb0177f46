"""The keys of this process's signers, wherever they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import aiohttp

from swap_chains.evm.aws_kms import AwsKms, Credentials, KmsKey
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.keys import Key, LocalKey, keystore_key
from swap_runtime.clock import Clock
from swap_settler.settings import KmsGroup, SettlerGroup


def open_keys(
    group: SettlerGroup, session: aiohttp.ClientSession, *, clock: Clock
) -> Mapping[str, Key]:
    """Return each key by its account.

    :raises ValueError: when one cannot be opened, or is another account's.
    """
    keys: dict[str, Key] = {}
    for address, secret in group.signer_keys.items():
        _add(keys, address, LocalKey(secret.get_secret_value()))
    password = group.keystore_password.get_secret_value()
    for address, path in group.signer_keystores.items():
        _add(keys, address, keystore_key(Path(path), password))
    if group.signer_kms_keys:
        kms = _kms(group.kms, session, clock)
        for address, key_id in group.signer_kms_keys.items():
            # Whether it is that account's key is asked before it signs.
            _add(keys, address, KmsKey(kms, key_id=key_id, address=checksum_address(address)))
    return keys


def _add(keys: dict[str, Key], address: str, key: Key) -> None:
    expected = checksum_address(address)
    if key.address != expected:
        raise ValueError(f"the key given for {expected} is that of {key.address}")
    if expected in keys:
        raise ValueError(f"two keys are given for {expected}")
    keys[expected] = key


def _kms(group: KmsGroup, session: aiohttp.ClientSession, clock: Clock) -> AwsKms:
    if not group.region or not group.access_key_id:
        raise ValueError("keys in KMS need SWAP_SETTLER__KMS__REGION and its credentials")
    credentials = Credentials(
        group.access_key_id,
        group.secret_access_key.get_secret_value(),
        group.session_token.get_secret_value() or None,
    )
    return AwsKms(
        session,
        region=group.region,
        credentials=credentials,
        clock=clock,
        url=group.url or None,
        timeout_seconds=group.timeout.total_seconds(),
    )
