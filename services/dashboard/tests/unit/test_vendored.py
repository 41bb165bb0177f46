"""Vendored files equal their list, and their settings allow no code in pages."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

from swap_dashboard.http.rendering import PAGES
from swap_dashboard.http.site import STATIC

VENDORED = Path(str(STATIC)) / "vendored"
LIST = json.loads((VENDORED / "vendored.json").read_text())
TEMPLATES = sorted(Path(str(PAGES)).rglob("*.html"))
CODE = re.compile(r"\son\w+=|javascript:|\sstyle=|<style|\|\s*safe|hx-on", re.IGNORECASE)
ELSEWHERE = re.compile(r"""(?:src|href|action)=["'](?:https?:)?//""")


def test_every_file_is_listed_with_its_hash() -> None:
    listed = {row["file"]: row["sha256"] for row in LIST}
    present = {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.iterdir()
        if path.suffix in (".js", ".css")
    }
    assert present == listed


def test_no_template_has_code_style_or_unescaped_text() -> None:
    assert TEMPLATES
    found = {path: CODE.findall(path.read_text()) for path in TEMPLATES}
    assert {path: hits for path, hits in found.items() if hits} == {}


def test_no_template_or_script_names_another_host() -> None:
    own = [*TEMPLATES, *Path(str(STATIC)).glob("*.*")]
    named = [path.name for path in own if ELSEWHERE.search(path.read_text())]
    assert named == []


def test_every_script_is_a_file() -> None:
    for path in TEMPLATES:
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", path.read_text()))


def test_htmx_is_configured_to_evaluate_no_code() -> None:
    base = (Path(str(PAGES)) / "base.html").read_text()
    config = json.loads(re.findall(r"htmx-config\" content='([^']+)'", base)[0])
    assert (config["allowEval"], config["allowScriptTags"], config["selfRequestsOnly"]) == (
        False,
        False,
        True,
    )
