"""Builds admission: the caller of a request, its rate limits, and answers stored by key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from swap_api.admission.adapters.counters import LocalCounters, RedisCounters
from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.decide.rate_limits import Rates
from swap_api.admission.store.access_tokens import PostgresAccessTokens
from swap_api.admission.store.callers import KeyHashes, PostgresCallers
from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.admission.store.pepper_rotation import PostgresPepperRotation
from swap_api.admission.usecases.identify_member import IdentifyMember
from swap_api.model.keys import Caller, Environment, anonymous_caller
from swap_api.settings import ApiGroup
from swap_runtime.process.service import Service

USES_INTERVAL: Final = timedelta(seconds=10)
FORGET_INTERVAL: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionParts:
    """What the packages above and the ports use."""

    keyless_caller: Caller
    hashes: KeyHashes
    rotation: PostgresPepperRotation
    callers: PostgresCallers
    identify_member: IdentifyMember
    link_tokens: HmacLinkTokens
    idempotency: PostgresIdempotency
    counters: RedisCounters
    rates: Rates

    def watch(self, service: Service) -> None:
        service.every("save-key-uses", USES_INTERVAL, self.callers.save_uses)
        service.every("forget-idempotency-keys", FORGET_INTERVAL, self.idempotency.forget_old)
        service.on_stop(self.counters.close)


def build(service: Service, group: ApiGroup, environment: Environment) -> AdmissionParts:
    engine, clock = service.engine, service.clock
    hashes = KeyHashes(group.key_pepper, group.other_key_peppers)
    rotation = PostgresPepperRotation(engine, hashes)
    return AdmissionParts(
        keyless_caller=anonymous_caller(environment),
        hashes=hashes,
        rotation=rotation,
        callers=PostgresCallers(engine, hashes, clock=clock, find_rotated=rotation.find),
        identify_member=IdentifyMember(
            PostgresAccessTokens(engine), hash_token=hashes, rotation=rotation, clock=clock
        ),
        link_tokens=HmacLinkTokens(
            [key.get_secret_value().encode() for key in group.pay_link_keys],
            pepper=group.key_pepper.get_secret_value().encode(),
            other_peppers=[each.get_secret_value().encode() for each in group.other_key_peppers],
        ),
        idempotency=PostgresIdempotency(engine, clock=clock),
        counters=RedisCounters(service.settings.redis.url, fallback=LocalCounters(clock=clock)),
        rates=Rates(**group.rates.model_dump(exclude={"weights"})),
    )
