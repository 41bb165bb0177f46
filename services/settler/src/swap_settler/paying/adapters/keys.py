"""The keys of this process's signers: in settings, in files or in KMS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from swap_chains.evm.aws_kms import AwsKms, Credentials, KmsKey
from swap_chains.evm.codec import checksum_address
from swap_chains.evm.keys import Key, LocalKey, keystore_key
from swap_settler.settings import SettlerGroup


def open_keys(group: SettlerGroup, kms: AwsKms | None) -> Mapping[str, Key]:
    """Return each key by its account.

    :param kms: the client of `kms_of` for the same settings.
    :raises ValueError: when a key cannot be opened, or is another account's.
    """
    keys: dict[str, Key] = {}
    for address, secret in group.signer_keys.items():
        _add(keys, address, LocalKey(secret.get_secret_value()))
    password = group.keystore_password.get_secret_value()
    for address, path in group.signer_keystores.items():
        _add(keys, address, keystore_key(Path(path), password))
    if kms is not None:
        for address, key_id in group.signer_kms_keys.items():
            # `KmsKey` compares the account before it signs.
            _add(keys, address, KmsKey(kms, key_id=key_id, address=checksum_address(address)))
    return keys


def kms_of(group: SettlerGroup) -> AwsKms | None:
    """Return a client of KMS; None where no signer's key is there.

    :raises ValueError: when its region or its credentials are not set.
    """
    if not group.signer_kms_keys:
        return None
    kms = group.kms
    if not kms.region or not kms.access_key_id:
        raise ValueError("keys in KMS need SWAP_SETTLER__KMS__REGION and its credentials")
    return AwsKms(
        region=kms.region,
        credentials=Credentials(
            kms.access_key_id,
            kms.secret_access_key.get_secret_value(),
            kms.session_token.get_secret_value() or None,
        ),
        url=kms.url or None,
        timeout_seconds=kms.timeout.total_seconds(),
    )


def _add(keys: dict[str, Key], address: str, key: Key) -> None:
    expected = checksum_address(address)
    if key.address != expected:
        raise ValueError(f"the key given for {expected} is that of {key.address}")
    if expected in keys:
        raise ValueError(f"two keys are given for {expected}")
    keys[expected] = key
