"""The sample receiver of the notifier's pod starts without a secret, and reads a changed one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import httpx
from svix.webhooks import Webhook
from swap_k8s.receiver import PORT, RECEIVED, SECRET, Receiver

from deploy.k8s.tests.rendered_overlay import RenderedOverlay, pod_of

FIRST = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
SECOND = "whsec_D2FVsBQIhrscChlQIMV+b5sSYspob7oD"
BODY = '{"swap": {"id": "one", "status": "completed"}}'


async def deliver(receiver: Receiver, secret: str) -> int:
    at = datetime.now(UTC)
    headers = {
        "webhook-id": "message-1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("message-1", at, BODY),
    }
    transport = httpx.ASGITransport(receiver)
    async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as client:
        return (await client.post("/hooks", content=BODY, headers=headers)).status_code


async def test_receiver_accepts_no_webhook_without_a_secret(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path / "secret", tmp_path / "received")

    assert await deliver(receiver, FIRST) == 503

    (tmp_path / "secret").write_text(f"{FIRST}\n")
    assert await deliver(receiver, FIRST) == 204
    assert len((tmp_path / "received").read_text().splitlines()) == 1


async def test_receiver_follows_a_change_of_its_secret(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path / "secret", tmp_path / "received")
    for secret in (FIRST, SECOND):
        (tmp_path / "secret").write_text(secret)
        assert await deliver(receiver, secret) == 204

    assert await deliver(receiver, FIRST) == 400


def test_receiver_files_are_in_mounted_volumes() -> None:
    notifier = RenderedOverlay.of("dev").get("Deployment", "notifier")
    [sidecar] = [
        each for each in pod_of(notifier)["initContainers"] if each["name"] == "webhook-receiver"
    ]
    mounted = {each["mountPath"] for each in sidecar["volumeMounts"]}

    assert sidecar["restartPolicy"] == "Always"
    assert {str(SECRET.parent), str(RECEIVED.parent)} <= mounted
    settings = RenderedOverlay.of("dev").get("ConfigMap", "notifier-settings")["data"]
    assert settings["SWAP_NOTIFIER__ALLOW_LOOPBACK"] == "true"
    assert PORT not in (8080, 8081)


def test_only_development_permits_webhooks_to_loopback() -> None:
    for overlay in ("staging", "production"):
        settings = RenderedOverlay.of(overlay).get("ConfigMap", "notifier-settings")["data"]
        assert "SWAP_NOTIFIER__ALLOW_LOOPBACK" not in settings
