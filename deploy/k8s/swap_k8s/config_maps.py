"""ConfigMaps of the pod's own namespace, by its service account."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import aiohttp

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
API_SERVER = "https://kubernetes.default.svc"
TIMEOUT = aiohttp.ClientTimeout(total=10)
MANAGER = "swap-k8s"


@dataclass(frozen=True, slots=True)
class ConfigMaps:
    api_server: str
    namespace: str
    token: str
    tls: ssl.SSLContext | bool = True

    @classmethod
    def in_cluster(cls) -> ConfigMaps:
        return cls(
            API_SERVER,
            (ACCOUNT / "namespace").read_text().strip(),
            (ACCOUNT / "token").read_text().strip(),
            ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")),
        )

    async def find(self, name: str) -> Mapping[str, str] | None:
        """Return the data of a ConfigMap, or None if there is none."""
        async with self._session() as session, session.get(self._url(name), ssl=self.tls) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            answer.raise_for_status()
            data: Mapping[str, str] = (await answer.json()).get("data", {})
            return data

    async def apply(self, name: str, data: Mapping[str, str]) -> None:
        """Create a ConfigMap, or replace what this program has set in it."""
        document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": dict(data),
        }
        async with (
            self._session() as session,
            session.patch(
                self._url(name),
                params={"fieldManager": MANAGER, "force": "true"},
                headers={"Content-Type": "application/apply-patch+yaml"},  # JSON is YAML
                json=document,
                ssl=self.tls,
            ) as answer,
        ):
            answer.raise_for_status()

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            timeout=TIMEOUT, headers={"Authorization": f"Bearer {self.token}"}
        )

    def _url(self, name: str) -> str:
        return f"{self.api_server}/api/v1/namespaces/{self.namespace}/configmaps/{name}"
