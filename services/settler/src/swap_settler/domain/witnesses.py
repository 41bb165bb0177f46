"""Whether the nodes agree that a transaction failed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """What one node says about a transaction: nothing, that it knows none, or what became of it."""

    node: str
    has_answered: bool
    block_hash: str | None = None  # of the block it is in
    succeeded: bool | None = None


@dataclass(frozen=True, slots=True)
class Witnesses:
    """The nodes, by what they said about a transaction that is to count as failed."""

    agree: tuple[str, ...]
    unknown: tuple[str, ...]  # it is in no block of theirs: they lag
    silent: tuple[str, ...]
    deny: tuple[str, ...]  # it succeeded, or is in another block

    @property
    def have_proven(self) -> bool:
        """Whether one says so and none says otherwise."""
        return bool(self.agree) and not self.deny


def weigh(words: Sequence[Word], *, block_hash: str) -> Witnesses:
    """Sort the nodes by whether they saw the transaction fail in this block."""
    answered = [word for word in words if word.has_answered]
    known = [word for word in answered if word.block_hash is not None]
    agree = [w for w in known if w.block_hash == block_hash and w.succeeded is False]
    return Witnesses(
        agree=tuple(word.node for word in agree),
        unknown=tuple(word.node for word in answered if word.block_hash is None),
        silent=tuple(word.node for word in words if not word.has_answered),
        deny=tuple(word.node for word in known if word not in agree),
    )
