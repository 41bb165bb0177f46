"""Whether the nodes agree that a nonce paid nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PROVIDERS_MIN: Final = 2  # where so many are configured


@dataclass(frozen=True, slots=True)
class Word:
    """What one node says about a transaction: nothing, that it knows none, or what became of it."""

    node: str
    has_answered: bool
    block_hash: str | None = None  # of the block it is in
    succeeded: bool | None = None
    provider: str = ""  # without one, the node counts by itself

    @property
    def counted_as(self) -> str:
        """Return what nodes of one provider share: they are one report."""
        return self.provider or self.node


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The nodes, by what they said about a transaction that is to count as having paid nothing."""

    agree: tuple[str, ...]
    unknown: tuple[str, ...]  # it is in no block of theirs: they lag
    silent: tuple[str, ...]
    deny: tuple[str, ...]  # it ended otherwise, is in another block, or another used the nonce
    providers_agreeing: int
    providers_required: int

    @property
    def have_proven(self) -> bool:
        """Whether enough independent providers report it and no node reports otherwise."""
        return self.providers_agreeing >= self.providers_required and not self.deny


def weigh(
    words: Sequence[Word],
    *,
    block_hash: str,
    succeeded: bool = False,
    rivals: Sequence[Word] = (),
) -> Witnesses:
    """Sort the nodes by whether they saw the transaction end like this in this block.

    Two providers must have seen it where two are configured; one where there is no other.

    :param words: of every node that is configured.
    :param rivals: what the nodes say about other transactions of the same nonce.
    """
    answered = [word for word in words if word.has_answered]
    known = [word for word in answered if word.block_hash is not None]
    agree = [w for w in known if w.block_hash == block_hash and w.succeeded is succeeded]
    return Witnesses(
        agree=tuple(word.node for word in agree),
        unknown=tuple(word.node for word in answered if word.block_hash is None),
        silent=tuple(word.node for word in words if not word.has_answered),
        deny=tuple(
            word.node
            for word in (*known, *rivals)
            if word not in agree and word.block_hash is not None
        ),
        providers_agreeing=len({word.counted_as for word in agree}),
        providers_required=min(max(len({word.counted_as for word in words}), 1), PROVIDERS_MIN),
    )
