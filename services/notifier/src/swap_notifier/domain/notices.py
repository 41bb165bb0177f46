"""The notices to an app about its endpoints."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID


def disabled_notice(
    endpoint_id: UUID,
    url: str,
    *,
    disabled_at: datetime,
    reason: str,
    failing_since: datetime | None,
) -> bytes:
    """Return the body of the notice that nothing more is sent to an endpoint."""
    members = {
        "id": str(endpoint_id),
        "url": url,
        "disabled_at": disabled_at.isoformat(),
        "disabled_reason": reason,
        "failing_since": None if failing_since is None else failing_since.isoformat(),
    }
    return json.dumps({"endpoint": members}, separators=(",", ":")).encode()
