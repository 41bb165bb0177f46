"""The reference at /docs, as a real browser shows it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from api_harness import Harness

from tests.support.browser import find_browser, open_page

pytestmark = pytest.mark.connected
BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the reference (.ci/run installs one)"
METHODS = ("get", "post", "put", "patch", "delete")
OPERATIONS = "document.querySelectorAll('.opblock').length"
FIRST = "document.querySelector('.opblock-summary-control')"


class TestPages:
    @pytest.mark.parametrize(
        ("address", "content_type"),
        [
            ("/docs", "text/html"),
            ("/docs/start.js", "text/javascript"),
            ("/docs/swagger-ui.js", "text/javascript"),
            ("/docs/swagger-ui.css", "text/css"),
        ],
    )
    async def test_need_no_key_and_load_no_foreign_resources(
        self, api: Harness, address: str, content_type: str
    ) -> None:
        answer = await api.client.get(address)

        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(content_type)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert answer.text

    async def test_name_no_other_host(self, api: Harness) -> None:
        for address in ("/docs", "/docs/start.js"):
            assert "//" not in (await api.client.get(address)).text.replace("// ", "")


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
class TestInABrowser:
    async def test_shows_every_endpoint_and_asks_no_other_host(
        self, api: Harness, url: str, tmp_path: Path
    ) -> None:
        document = (await api.client.get("/openapi.json")).json()
        operations = sum(
            method in METHODS
            for part in ("paths", "webhooks")
            for operations in document[part].values()
            for method in operations
        )
        assert BROWSER is not None

        async with open_page(BROWSER, tmp_path, f"{url}/docs") as page:
            shown = await page.until(OPERATIONS)
            await page.value(f"{FIRST}.click()")
            await page.until("document.querySelectorAll('.opblock.is-open').length")
            text = await page.value("document.body.innerText")

        assert shown == operations
        assert all(path in text.replace("\u200b", "") for path in document["paths"])
        urls = {urlsplit(url) for url in page.requests}
        elsewhere = {u.geturl() for u in urls if u.scheme != "data" and u.netloc != url[7:]}
        assert elsewhere == set()
        assert f"{url}/openapi.json" in page.requests
        assert page.complaints == []
