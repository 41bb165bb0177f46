"""What nodes of two independent providers report alike: for what is decided once and for all.

Where all nodes are of one provider, its report is taken. Nothing else can be had there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Final, TypeVar

from swap_chains.errors import (
    BlockDiffers,
    ChainError,
    ChainUnavailable,
    FinalBlocksDiffer,
    InconsistentAnswer,
    NodesDiffer,
)
from swap_chains.events import Block
from swap_chains.evm.blocks import find_header
from swap_chains.evm.rpc import Node, Rpc
from swap_domain.catalogue import Catalogue

T = TypeVar("T")
Place = str | Mapping[str, str]  # a block, as the methods that read state take it
PROVIDERS_MIN: Final = 2
# Two blocks of the slowest network. An older block may hold what is no longer so.
HEAD_LAG_MAX: Final = timedelta(seconds=30)


def one_provider_networks(catalogue: Catalogue, providers: Mapping[str, int]) -> Sequence[str]:
    """Return the live networks where one provider's report is all there is.

    :param providers: how many are configured, by network.
    """
    if catalogue.environment != "live":
        return ()
    return [network for network, count in providers.items() if count < PROVIDERS_MIN]


async def read_from_two_providers(rpc: Rpc, work: Callable[[Node], Awaitable[T]]) -> T:
    """Run a unit of reads at every provider, and return what two of them report alike.

    :raises NodesDiffer: when several answered and no two alike.
    :raises ChainUnavailable: when fewer than two answered.
    """
    if len(rpc.providers) < PROVIDERS_MIN:
        return await rpc.on_one_node(work)
    reports: list[T] = []
    causes: list[str] = []
    async with aclosing(_reports(rpc, work, causes)) as answers:
        async for report in answers:
            if report in reports:
                return report
            reports.append(report)
    if len(reports) < PROVIDERS_MIN:
        raise ChainUnavailable(rpc.network, ["one provider is not enough", *causes])
    raise NodesDiffer(rpc.network, len(reports))


async def read_at_head_of_two(rpc: Rpc, work: Callable[[Node, Place], Awaitable[T]]) -> T:
    """Run reads at the newest block that two providers have; return what two report alike.

    Two providers report the block's header alike too, so neither can pass an old block off as new.
    Where all nodes are of one provider, it is queried at its head.

    :raises NodesDiffer: when several answered and no two alike.
    :raises ChainUnavailable: when fewer than two answered, or the block is behind the newest head
        by more than `HEAD_LAG_MAX`.
    """
    if len(rpc.providers) < PROVIDERS_MIN:
        return await rpc.on_one_node(lambda node: work(node, "latest"))
    heads = await _claims(rpc, "latest")
    newest_first = sorted(heads.values(), key=lambda head: head.number, reverse=True)
    newest, shared = newest_first[0], newest_first[PROVIDERS_MIN - 1]

    async def read(node: Node) -> tuple[Block, T]:
        header, report = await asyncio.gather(
            find_header(node, shared.number), work(node, {"blockHash": shared.hash})
        )
        if header is None or header.hash != shared.hash:
            raise BlockDiffers(node.label, shared.number)
        return header, report

    block, report = await read_from_two_providers(rpc, read)
    if newest.time - block.time > HEAD_LAG_MAX:
        behind = f"block {block.number} of one provider is behind {newest.number} of another"
        raise ChainUnavailable(rpc.network, [behind])
    return report


async def final_block(rpc: Rpc) -> Block:
    """Return the newest block that two providers call final.

    :raises FinalBlocksDiffer: when two providers call different blocks of one height final.
    :raises ChainUnavailable: when fewer than two answered.
    """
    if len(rpc.providers) < PROVIDERS_MIN:
        return await rpc.on_one_node(lambda node: _claim(node, "finalized"))
    claims = await _claims(rpc, "finalized")
    newest_first = sorted(claims, key=lambda provider: claims[provider].number, reverse=True)
    agreed_by = newest_first[PROVIDERS_MIN - 1]
    agreed = claims[agreed_by]
    for provider, claim in claims.items():
        # Each pair is compared at the lower of its two claims, which both call final.
        if claim.number >= agreed.number:
            theirs, expected = await _block_from(rpc, provider, claim, agreed.number), agreed
        else:
            theirs, expected = claim, await _block_from(rpc, agreed_by, agreed, claim.number)
        if theirs.hash != expected.hash:
            raise FinalBlocksDiffer(rpc.network, theirs.number, (agreed_by, provider))
    return agreed


async def require_at_other_provider(rpc: Rpc, block: Block) -> None:
    """Make sure that another provider than the block's has it at its height, both calling it final.

    :raises FinalBlocksDiffer: when it has another block there.
    :raises ChainUnavailable: when no other provider answered.
    """
    first = block.provider or ""
    theirs = await rpc.on_one_node(
        lambda node: find_header(node, block.number), rounds=1, excluded_providers=[first]
    )
    if theirs is None:
        raise ChainUnavailable(rpc.network, [f"no other provider has block {block.number}"])
    if theirs.hash != block.hash:
        raise FinalBlocksDiffer(rpc.network, block.number, (first, theirs.provider or ""))


async def of_two_providers(rpc: Rpc, work: Callable[[Node], Awaitable[T]]) -> Sequence[T]:
    """Run a unit of reads at every provider; return the reports of the first two that answer.

    :raises ChainUnavailable: when fewer than two answered.
    """
    if len(rpc.providers) < PROVIDERS_MIN:
        return [await rpc.on_one_node(work)]
    reports: list[T] = []
    causes: list[str] = []
    async with aclosing(_reports(rpc, work, causes)) as answers:
        async for report in answers:
            reports.append(report)
            if len(reports) == PROVIDERS_MIN:
                return reports
    raise ChainUnavailable(rpc.network, ["one provider is not enough", *causes])


async def of_each_provider(
    rpc: Rpc, work: Callable[[Node], Awaitable[T]]
) -> tuple[Mapping[str, T], Sequence[str]]:
    """Run a unit of reads at every provider; return what each reports, and why others do not."""
    reports: dict[str, T] = {}
    causes: list[str] = []
    for provider, answer in (await answers_of_each_provider(rpc, work)).items():
        if isinstance(answer, ChainError):
            causes.append(str(answer))
        else:
            reports[provider] = answer
    return reports, causes


async def answers_of_each_provider(
    rpc: Rpc, work: Callable[[Node], Awaitable[T]]
) -> Mapping[str, T | ChainError]:
    """Run a unit of reads at every provider; return what each reports, or why it does not."""
    reads = [_read_from(rpc, provider, work) for provider in rpc.providers]
    answers = await asyncio.gather(*reads, return_exceptions=True)
    found: dict[str, T | ChainError] = {}
    for provider, answer in zip(rpc.providers, answers, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, ChainError):
            raise answer
        found[provider] = answer
    return found


async def _reports(
    rpc: Rpc, work: Callable[[Node], Awaitable[T]], causes: list[str]
) -> AsyncGenerator[T, None]:
    """Yield each provider's report as it comes; the others end when no more are read.

    :param causes: gets the reason of each that does not answer.
    """
    reads = [asyncio.create_task(_read_from(rpc, provider, work)) for provider in rpc.providers]
    try:
        for read in asyncio.as_completed(reads):
            try:
                report = await read
            except ChainError as error:
                causes.append(str(error))
            else:
                yield report
    finally:
        for task in reads:
            task.cancel()
        await asyncio.gather(*reads, return_exceptions=True)


async def _claims(rpc: Rpc, tag: str) -> Mapping[str, Block]:
    """Return the block that each provider has for a tag; two at least.

    :raises ChainUnavailable: when fewer than two answered.
    """
    claims, causes = await of_each_provider(rpc, lambda node: _claim(node, tag))
    if len(claims) < PROVIDERS_MIN:
        raise ChainUnavailable(rpc.network, ["one provider is not enough", *causes])
    return claims


async def _block_from(rpc: Rpc, provider: str, claim: Block, number: int) -> Block:
    if claim.number == number:
        return claim
    block = await _read_from(rpc, provider, lambda node: find_header(node, number))
    if block is None:
        raise ChainUnavailable(rpc.network, [f"{provider} has no block {number}"])
    return block


async def _claim(node: Node, tag: str) -> Block:
    block = await find_header(node, tag)
    if block is None:
        raise InconsistentAnswer(node.label, f"no {tag} block")
    return block


async def _read_from(rpc: Rpc, provider: str, work: Callable[[Node], Awaitable[T]]) -> T:
    others = [other for other in rpc.providers if other != provider]
    return await rpc.on_one_node(work, rounds=1, excluded_providers=others)
