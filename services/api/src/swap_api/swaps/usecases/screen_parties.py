from __future__ import annotations

from collections.abc import Mapping

from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode
from swap_runtime.screening import Party, Screening, Verdict


class ScreenParties:
    """Refuse recipients that must not be paid."""

    def __init__(self, screening: Screening) -> None:
        self._screening = screening

    async def __call__(self, parties: Mapping[str, tuple[str, str] | None]) -> None:
        """
        :param parties: network and address, by the field that names them.
        :raises ApiRefusal: with the field of the first that is blocked or cannot be screened.
        """
        named = {field: Party(*party) for field, party in parties.items() if party is not None}
        if not named:
            return
        screened = await self._screening.screen(set(named.values()))
        verdicts = {field: screened.get(party, Verdict.UNKNOWN) for field, party in named.items()}
        for field, verdict in verdicts.items():
            if verdict is Verdict.BLOCKED:
                why = "cannot be served"
                raise ApiRefusal(
                    ErrorCode.BLACKLISTED_ADDRESS,
                    f"{field} {why}",
                    metadata={"field_errors": {field: why}},
                )
        if Verdict.UNKNOWN in verdicts.values():
            raise ApiRefusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                "Addresses cannot be checked for the moment; try again soon",
                headers={"retry-after": "5"},
            )
