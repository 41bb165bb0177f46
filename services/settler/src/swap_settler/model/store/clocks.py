"""For how long payments could not move; every moment counts once, however many reasons it had.

It is taken off the age of a status, a payment, a slot or a due refund.
"""

from __future__ import annotations

from typing import Final

_STOPS: Final = """
SELECT stopped_at AS began_at, coalesce(lifted_at, now()) AS ended_at FROM payout_stop
WHERE payout_stop.network IN ({networks}, '*') AND (lifted_at > {since} OR lifted_at IS NULL)
UNION ALL
SELECT began_at, coalesce(ended_at, now()) AS ended_at FROM recovery
WHERE ended_at > {since} OR ended_at IS NULL
"""
# A halted network: nothing moves that rests on it.
_HALTS: Final = """
SELECT began_at, coalesce(ended_at, now()) AS ended_at FROM chain_watcher.network_halt
WHERE network_halt.network IN ({halts})
    AND (network_halt.ended_at > {since} OR network_halt.ended_at IS NULL)
"""
_SILENCES: Final = """
SELECT began_at, coalesce(ended_at, now()) AS ended_at FROM network_silence
WHERE network_silence.network IN ({networks}) AND (ended_at > {since} OR ended_at IS NULL)
"""
# What another transaction has just begun may be a little later than this one's now().
_TOGETHER: Final = """
coalesce((SELECT sum(upper(gap) - lower(gap)) FROM (
    SELECT unnest(range_agg(tstzrange(greatest(began_at, {since}),
        greatest(began_at, ended_at, {since})))) AS gap FROM ({periods}) AS period) AS apart), '0')
"""


def stopped_time(*, since: str, networks: str, halts: str) -> str:
    """Return SQL: how long nothing could be signed, on the networks named or everywhere.

    :param halts: the networks with halts that count.
    """
    periods = f"{_STOPS} UNION ALL {_HALTS}".format(since=since, networks=networks, halts=halts)
    return _TOGETHER.format(since=since, periods=periods)


def stopped_or_silent(*, since: str, networks: str) -> str:
    """Return SQL: the same, or how long one of the networks made no blocks.

    Meanwhile it cannot be known what became of a payment that may be out. A payment that has not
    left goes by `stopped`: it can still be given back.
    """
    periods = f"{_STOPS} UNION ALL {_HALTS} UNION ALL {_SILENCES}".format(
        since=since, networks=networks, halts=networks
    )
    return _TOGETHER.format(since=since, periods=periods)
