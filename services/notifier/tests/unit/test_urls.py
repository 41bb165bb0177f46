from __future__ import annotations

import pytest

from swap_notifier.domain.urls import Destination, UrlRefused, destination_of, place_of


class TestDestinationOf:
    @pytest.mark.parametrize(
        ("url", "destination"),
        [
            ("https://hooks.example.com/a?b=c", Destination("hooks.example.com", 443, False)),
            ("http://hooks.example.com", Destination("hooks.example.com", 80, False)),
            ("https://Hooks.Example.com:8443/", Destination("hooks.example.com", 8443, False)),
            ("https://8.8.8.8/", Destination("8.8.8.8", 443, True)),
            ("https://[2606:4700::1]/", Destination("2606:4700::1", 443, True)),
            ("https://xn--bcher-kva.example/", Destination("xn--bcher-kva.example", 443, False)),
        ],
    )
    def test_shows_the_target_of_a_url(self, url: str, destination: Destination) -> None:
        assert destination_of(url, is_live=False, loopback=False) == destination

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "ftp://hooks.example.com",
            "file:///etc/passwd",
            "//hooks.example.com",
            "https://",
            "https://user@hooks.example.com",
            "https://user:word@hooks.example.com",
            "https://@hooks.example.com",
            "https://hooks.example.com#part",
            "https://hooks.example.com:22",
            "https://hooks.example.com:0",
            "https://hooks.example.com:99999",
            "https://hooks.example.com.",
            "https://hooks..example.com",
            "https://-hooks.example.com",
            "https://bücher.example",
            "https://hooks.example.com/ space",
            "https://hooks.example.com\\@127.0.0.1",
            "https://hooks.example.com\n",
            "https://hooks",
            "https://localhost",
            "http://127.0.0.1",
            "http://127.1",
            "http://2130706433",
            "http://0x7f000001",
            "http://0x7f.0.0.1",
            "http://0177.0.0.1",
            "http://127.0.0.01",
            "http://1.2.3.4.5",
            "http://hooks.example.0x1",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]",
            "http://[fe80::1%25eth0]",
            "http://169.254.169.254/latest",
            "https://" + "a" * 2050 + ".example",
        ],
    )
    @pytest.mark.fault("N7")
    def test_n7_refuses_what_cannot_be_an_endpoint(self, url: str) -> None:
        with pytest.raises(UrlRefused):
            destination_of(url, is_live=False, loopback=False)

    def test_requires_https_in_live(self) -> None:
        with pytest.raises(UrlRefused, match="https"):
            destination_of("http://hooks.example.com", is_live=True, loopback=False)

    @pytest.mark.parametrize("url", ["http://127.0.0.1:41009/hooks", "http://localhost:5000/"])
    def test_allows_a_local_endpoint_if_configured(self, url: str) -> None:
        assert destination_of(url, is_live=False, loopback=True)


class TestPlaceOf:
    @pytest.mark.parametrize(
        "url",
        [
            "http://hooks.example.com/in",
            "https://HOOKS.example.com/in",
            "https://hooks.example.com:443/in/",
            "https://hooks.example.com:80/in?again=1",
            "https://hooks.example.com//x/../in",
            "https://hooks.example.com/%69n",
        ],
    )
    def test_is_the_same_however_it_is_spelled(self, url: str) -> None:
        assert place_of(url) == place_of("https://hooks.example.com/in")

    @pytest.mark.parametrize(
        "url",
        [
            "https://hooks.example.com/out",
            "https://hooks.example.com:8443/in",
            "https://hooks.example.org/in",
        ],
    )
    def test_is_another_for_another_receiver(self, url: str) -> None:
        assert place_of(url) != place_of("https://hooks.example.com/in")
