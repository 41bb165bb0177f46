from __future__ import annotations

from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.domain.sessions import OperatorSession
from swap_dashboard.console.ports import OperatorApi


class ActAsOperator:
    """Open the services' interfaces with the token of a session."""

    def __init__(self, services: HttpServices) -> None:
        self._services = services

    def __call__(self, session: OperatorSession) -> OperatorApi:
        return self._services.as_operator(session.token)
