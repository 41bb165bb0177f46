"""Pictures of docs/console.md, of pages that need more data than the two operators' journey has."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from tests.support.browser import Page
from tests.support.screens import guide_image

GUIDE: Final = os.environ.get("GUIDE_PICTURES")
NO_GUIDE: Final = "makes pictures alone: GUIDE_PICTURES names no folder"
HEIGHT_MAX: Final = 1100
END_OF_MAIN: Final = """
Math.ceil(document.querySelector('main > :last-child').getBoundingClientRect().bottom + scrollY)
"""
TOP: Final = "Math.floor(document.querySelector({}).getBoundingClientRect().top + scrollY)"


async def save_picture(page: Page, name: str, *, top: str = "body", at_least: int = 820) -> None:
    """Store a picture of the page to its end, or of the largest height.

    :param top: the element that it begins with.
    :param at_least: the height of the menu at the side.
    """
    assert GUIDE is not None
    # Without a scrollbar the page is as wide as its picture.
    await page.send("Emulation.setScrollbarsHidden", hidden=True)
    begin = max(int(await page.value(TOP.format(json.dumps(top)))) - 16, 0)
    end = int(await page.value(END_OF_MAIN)) + 24
    height = min(max(end - begin, at_least), HEIGHT_MAX)
    image = await guide_image(page, top=begin, height=height)
    (Path(GUIDE) / f"{name}.webp").write_bytes(image)
