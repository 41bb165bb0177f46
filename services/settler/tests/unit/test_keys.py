from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from pydantic import SecretStr

from swap_chains.evm.aws_kms import KmsKey
from swap_chains.evm.keys import LocalKey
from swap_settler.paying.adapters.keys import kms_of, open_keys
from swap_settler.settings import KmsGroup, SettlerGroup

KEY, OTHER_KEY = "0x" + "4b" * 32, "0x" + "4c" * 32
ADDRESS, OTHER = Account.from_key(KEY).address, Account.from_key(OTHER_KEY).address


def opened(**settings: Any) -> dict[str, object]:
    values = {
        "database_url": SecretStr("postgresql://x"),
        "internal_port": 0,
        "quoter_url": "",
        **settings,
    }
    group = SettlerGroup.model_validate(values)
    return dict(open_keys(group, kms_of(group)))


def test_a_signers_key_is_in_the_environment_in_a_file_or_in_kms(tmp_path: Path) -> None:
    path = tmp_path / "signer.json"
    path.write_text(json.dumps(Account.encrypt(OTHER_KEY, "pw", kdf="pbkdf2", iterations=2)))
    third = Account.from_key("0x" + "4d" * 32).address

    keys = opened(
        signer_keys={ADDRESS.lower(): SecretStr(KEY)},
        signer_keystores={OTHER: str(path)},
        keystore_password=SecretStr("pw"),
        signer_kms_keys={third: "alias/third"},
        kms=KmsGroup(region="eu-central-1", access_key_id="a", secret_access_key=SecretStr("s")),
    )

    assert set(keys) == {ADDRESS, OTHER, third}
    assert isinstance(keys[ADDRESS], LocalKey)
    assert isinstance(keys[third], KmsKey)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"signer_keys": {OTHER: SecretStr(KEY)}}, "is that of"),
        ({"signer_kms_keys": {ADDRESS: "k"}}, "KMS__REGION"),
    ],
)
def test_a_key_that_cannot_be_right_ends_the_start(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        opened(**settings)
