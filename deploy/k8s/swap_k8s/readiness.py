"""Reads `/readyz` of the service in this pod, for operators."""

from __future__ import annotations

from http import HTTPStatus
from http.client import HTTPConnection

SECONDS = 10


def read_readiness(port: int) -> tuple[bool, str]:
    """Return whether the service is ready, and what it answers; without an answer, why."""
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/readyz")
        response = connection.getresponse()
        return response.status == HTTPStatus.OK, response.read().decode()
    except OSError as error:
        return False, f"no answer on port {port}: {error}"
    finally:
        connection.close()
