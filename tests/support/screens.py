"""A page as a reader sees it: in two schemes and two widths, with the findings of axe."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.browser import Page

AXE = Path(__file__).parents[2] / "tools/node/node_modules/axe-core/axe.min.js"
# The folder of the pictures, for review.
PICTURES = os.environ.get("SCREENSHOTS")
WIDE, NARROW = 1280, 360
LOOKS = [("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def show(page: Page, url: str) -> None:
    await page.send("Page.navigate", url=url)
    await page.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")


async def look(page: Page, scheme: str, width: int) -> None:
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    await page.send("Emulation.setEmulatedMedia", features=features)
    await page.send(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=800,
        deviceScaleFactor=1,
        mobile=width == NARROW,
    )


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        shot = await page.send("Page.captureScreenshot", captureBeyondViewport=True)
        store(f"{name}.png", base64.b64decode(shot["data"]))


async def guide_image(page: Page, *, top: float = 0, width: int = WIDE, height: int) -> bytes:
    """Return a part of the page, in pixels, as an image for the guides (WebP)."""
    shot = await page.send(
        "Page.captureScreenshot",
        format="webp",
        quality=60,
        clip={"x": 0, "y": top, "width": width, "height": height, "scale": 1},
        captureBeyondViewport=True,
    )
    return base64.b64decode(shot["data"])


def store(name: str, content: bytes) -> None:
    assert PICTURES is not None
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


async def violations(page: Page, rules: Sequence[str] = RULES) -> list[Any]:
    """Return the findings of axe, injected by the protocol as the page allows no scripts.

    :param rules: tags, or names of single rules.
    """
    if not await page.value("!!window.axe"):
        await page.value(AXE.read_text() + ";true")
    run = f"axe.run({json.dumps({'runOnly': rules})})"
    await page.value(f"window.found = null; {run}.then(r => {{ window.found = r.violations }}); 1")
    await page.until("!!window.found")
    found = await page.value(
        "JSON.stringify(window.found.map(v => [v.id, v.nodes.map(n => n.html + n.failureSummary)]))"
    )
    return list(json.loads(found))
