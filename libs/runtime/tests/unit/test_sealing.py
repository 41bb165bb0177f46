from __future__ import annotations

from base64 import b64encode
from uuid import UUID

import pytest

from swap_runtime.sealing import Sealing, Unreadable

SECRET = "whsec_c2VjcmV0"
NEW, OLD = b"n" * 32, b"o" * 32
OURS, ANOTHERS = UUID(int=1), UUID(int=2)


def sealed_with(*keys: bytes) -> str:
    return Sealing(keys).seal(SECRET, owner_id=OURS)


class TestSealing:
    def test_shows_nothing_of_the_secret_and_opens_to_it(self) -> None:
        sealed = sealed_with(NEW)

        assert SECRET not in sealed
        assert "whsec" not in sealed
        assert Sealing([NEW]).open(sealed, owner_id=OURS) == SECRET

    def test_opens_once_what_it_sealed_alone(self) -> None:
        assert Sealing([NEW]).open_once(sealed_with(NEW), owner_id=OURS) == SECRET
        for text, owner_id in ((SECRET, OURS), (sealed_with(NEW), ANOTHERS)):
            with pytest.raises(Unreadable):
                Sealing([NEW]).open_once(text, owner_id=owner_id)

    def test_is_another_text_every_time(self) -> None:
        assert sealed_with(NEW) != sealed_with(NEW)

    def test_seals_with_the_first_key_and_opens_with_any(self) -> None:
        sealed = sealed_with(OLD)
        both = Sealing([NEW, OLD])

        assert both.open(sealed, owner_id=OURS) == SECRET
        assert not both.is_current(sealed)
        anew = both.seal(SECRET, owner_id=OURS)
        assert both.is_current(anew)
        assert Sealing([NEW]).open(anew, owner_id=OURS) == SECRET

    @pytest.mark.parametrize(
        ("sealed", "owner_id"),
        [
            pytest.param(sealed_with(OLD), OURS, id="with a key that is gone"),
            pytest.param(sealed_with(NEW), ANOTHERS, id="for another owner"),
            pytest.param(sealed_with(NEW)[:-8] + "AAAAAAA=", OURS, id="and changed since"),
            pytest.param(sealed_with(NEW)[:30], OURS, id="and cut off"),
            pytest.param("v2" + sealed_with(NEW)[2:], OURS, id="in a form to come"),
        ],
    )
    def test_opens_nothing_that_was_sealed(self, sealed: str, owner_id: UUID) -> None:
        with pytest.raises(Unreadable):
            Sealing([NEW]).open(sealed, owner_id=owner_id)

    def test_reads_what_was_stored_before_anything_was_sealed(self) -> None:
        assert Sealing([NEW]).open(SECRET, owner_id=OURS) == SECRET

    @pytest.mark.parametrize("texts", [[], ["short"], ["no base64!"], [b64encode(b"k" * 16)]])
    def test_takes_only_whole_keys_and_shows_none(self, texts: list[str]) -> None:
        with pytest.raises(ValueError, match="key") as error:
            Sealing.with_keys(texts)

        assert not any(str(text) in str(error.value) for text in texts)
