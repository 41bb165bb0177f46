"""A proxy before a node that changes single answers."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Change = Callable[[str, list[Any], Any], Any]


class FalsifyingNode:
    """On the loopback interface another port counts as another provider."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.url = ""
        # Replaces one result, given the method and the parameters.
        self.change: Change = lambda method, params, result: result

    def answer(self, body: bytes) -> bytes:
        request = urllib.request.Request(self.node, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as response:
            answers = json.load(response)
        request_body = json.loads(body)
        if isinstance(request_body, list):
            methods = {one["id"]: one for one in request_body}
            return json.dumps([self._one(methods[a["id"]], a) for a in answers]).encode()
        return json.dumps(self._one(request_body, answers)).encode()

    def _one(self, request_body: Any, answer: dict[str, Any]) -> dict[str, Any]:
        if "result" not in answer:
            return answer
        result = self.change(request_body["method"], list(request_body["params"]), answer["result"])
        return {**answer, "result": result}


@contextmanager
def a_falsifying_node(node: str) -> Iterator[FalsifyingNode]:
    false_node = FalsifyingNode(node)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            answer = false_node.answer(body)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Print nothing, so that the test's output is readable."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    false_node.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield false_node
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
