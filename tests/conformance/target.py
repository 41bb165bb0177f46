"""The deployment, as its callers use it. Every answer is stored for the checks of the whole run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.conformance.observations import Observations
from tests.conformance.settings import Settings
from tests.conformance.tables import codes

WITHOUT_BODY = (204, 304)


class NotConforming(AssertionError):
    """An answer differs from the specification."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, with its request."""

    request: str
    response: httpx.Response
    key: str | None  # the key that was sent

    @property
    def is_keyed(self) -> bool:
        return self.key is not None

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.response.headers

    @property
    def envelope(self) -> Mapping[str, Any]:
        try:
            body = json.loads(self.response.content)
        except ValueError:
            raise NotConforming(f"{self.request}: {self.status} is no JSON: {self._body}") from None
        if not isinstance(body, dict):
            raise NotConforming(f"{self.request}: {self.status} is no object: {self._body}")
        return body

    @property
    def is_enveloped(self) -> bool:
        """Return whether it has exactly data or an error, according to its status."""
        if self.status in WITHOUT_BODY:
            return self.response.content == b""
        try:
            envelope = self.envelope
        except NotConforming:
            return False
        is_silent = "deposit_speedup" in self.request and envelope == {"error": None}
        is_fine = self.status < httpx.codes.BAD_REQUEST
        is_one = (envelope.get("error") is None) == is_fine and (
            is_fine or envelope.get("data") is None
        )
        return is_silent or (set(envelope) == {"data", "error"} and is_one)

    @property
    def data(self) -> Any:
        """
        :raises NotConforming: where the answer is an error.
        """
        envelope = self.envelope
        if self.status != httpx.codes.OK or envelope.get("error") is not None:
            raise NotConforming(f"{self.request}: {self.status} {self._body}")
        return envelope.get("data")

    @property
    def error(self) -> Mapping[str, Any]:
        """
        :raises NotConforming: where it is not.
        """
        error = self.envelope.get("error")
        if self.status < httpx.codes.BAD_REQUEST or not isinstance(error, dict):
            raise NotConforming(f"{self.request}: {self.status} is no refusal: {self._body}")
        return error

    def refuses(self, code: str) -> Mapping[str, Any]:
        """Return the error, if it has this code and the code's status.

        :raises NotConforming: otherwise.
        """
        error = self.error
        if (error.get("code"), self.status) != (code, codes()[code]):
            actual = f"{self.status} {error.get('code')}: {error.get('message')}"
            raise NotConforming(f"{self.request}: {codes()[code]} {code} expected, not {actual}")
        return error

    @property
    def _body(self) -> str:
        return self.response.text[:500]


@dataclass
class Target:
    settings: Settings
    http: httpx.Client
    observed: Observations = field(default_factory=Observations)
    answers: list[Answer] = field(default_factory=list)

    @property
    def keys(self) -> Mapping[str, str]:
        return self.settings.keys

    def ask(
        self,
        method: str,
        path: str,
        *,
        key: str | None = "secret",
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answer:
        """Send one request and return any answer.

        :param key: the key to send; None sends none.
        """
        sent = {self.settings.key_header: self.keys[key]} if key is not None else {}
        response = self.http.request(method, path, headers={**sent, **(headers or {})}, **options)
        answer = Answer(f"{method} {path}", response, key)
        self.answers.append(answer)
        self._observe_error(answer)
        return answer

    def get(self, path: str, kind: str, *, key: str = "secret", **query: Any) -> Any:
        """Return the data of an answer, and store its objects for the checks."""
        return self.observe(self.ask("GET", path, key=key, params=query or None), kind)

    def create(self, order: Mapping[str, Any], *, key: str = "secret") -> Mapping[str, Any]:
        answer = self.ask("POST", "/api/v2/swaps", key=key, json=dict(order))
        created: Mapping[str, Any] = self.observe(answer, "PreparedSwapResponse")
        return created

    def read(self, swap_id: str, **query: Any) -> Mapping[str, Any]:
        answer = self.get(f"/api/v2/swaps/{swap_id}", "PreparedSwapResponse", **query)
        return dict(answer)

    def steps(self, swap_id: str, **query: Any) -> Sequence[Mapping[str, Any]]:
        actions = self.get(
            f"/api/v2/swaps/{swap_id}/deposit_actions", "[DepositActionsItem]", **query
        )
        return list(actions)

    def observe(self, answer: Answer, kind: str) -> Any:
        data = answer.data
        self.observed.add(kind, data, answer.request)
        return data

    def _observe_error(self, answer: Answer) -> None:
        if answer.status < httpx.codes.BAD_REQUEST:
            return
        try:
            self.observed.add("ApiError", answer.envelope.get("error"), answer.request)
        except NotConforming:
            return  # checked with the whole run
