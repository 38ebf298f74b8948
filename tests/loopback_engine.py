"""An HTTP server on the loopback that answers in the documented formats of engines, with faults mixed in.

It speaks `_msearch` (OpenSearch, Elasticsearch), `select` (Solr) and a plain GET with JSON, over a small catalogue.
"""

import json
import re
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

CATALOGUE = {
    "vlc": "video player",
    "alsa": "audio player",
    "mpv": "video player",
    "9-books": "o'reilly books",
    "cxx": "c++ code",
    "Breaks": "line break",
    "avidemux": "video editor",
}
"""Documents and titles, in the order in which an engine lists them: all match equally well."""

Fault = str | None
"""429, 503, drop, slow, html, cut: of a whole request; reject, shards, timeout: of one search."""


def words(text: str) -> set[str]:
    """The words of a text."""
    return {*re.findall(r"[\w+]+", text.lower())}


def matching(query: str, depth: int = 100) -> list[str]:
    """The documents with all words of the query."""
    asked = words(query)
    return [name for name, title in CATALOGUE.items() if asked and asked <= words(title)][:depth]


class LoopbackEngine:
    """A server, running inside the `with` of `loopback_engine`."""

    def __init__(self) -> None:
        self.port = 0
        self.scheme = "http"
        self.answered: Counter[str] = Counter()
        """How often each query was answered with results."""
        self.requests: list[tuple[float, str, dict[str, str]]] = []
        """When each request came, its path and its headers."""
        self.request_fault: Callable[[int], Fault] = lambda _number: None
        self.search_fault: Callable[[str], Fault] = lambda _query: None
        self.retry_after = "0"
        self.refusal: tuple[int, Any] | None = None
        """A status and a body with which every request is refused."""
        self.pause: Callable[[int], float] = lambda _number: 0.0
        """Seconds before a request is answered, by its number."""
        self.search = matching
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        """Its URL."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def answer(self, method: str, target: str, headers: dict[str, str], body: str) -> tuple[int, Any] | Fault:  # noqa: PLR0911
        """Status and JSON of the answer to a request, or a fault of the connection."""
        with self._lock:
            self.requests.append((time.monotonic(), target, headers))
            number = len(self.requests)
        time.sleep(self.pause(number))
        if self.refusal is not None:
            return self.refusal
        fault = self.request_fault(number)
        if fault == "429":
            return 429, {
                "error": {"type": "es_rejected_execution_exception", "reason": "queue"},
                "status": 429,
            }
        if fault == "503":
            return 503, {"error": {"msg": "no servers hosting shard", "code": 503}}
        if fault is not None:
            return fault
        path, query = urlsplit(target).path, urlsplit(target).query
        if path.endswith("/_msearch") and method == "POST":
            lines = body.split("\n")
            assert lines[-1] == ""
            assert not any(json.loads(line) for line in lines[:-1:2])
            return 200, {"took": 3, "responses": [self._search(json.loads(line)) for line in lines[1::2]]}
        if path.endswith("/select") and method == "POST":
            form = {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}
            return self._select(form)
        assert method == "GET", method
        asked = parse_qs(query)["q"][0] if query else unquote(path.rpartition("/")[2])
        limit = int(parse_qs(query)["n"][0]) if query else 100
        return 200, {"results": [{"sku": {"id": name}} for name in self._found(asked, limit)]}

    def _found(self, query: str, depth: int) -> list[str]:
        with self._lock:
            self.answered[query] += 1
        return self.search(query, depth)

    def _search(self, body: dict[str, Any]) -> dict[str, Any]:
        query, depth = body["query"]["match"]["title"], body["size"]
        fault = self.search_fault(query)
        if fault == "reject":
            cause = {"type": "es_rejected_execution_exception", "reason": "rejected execution"}
            return {
                "error": {"root_cause": [cause], "type": "search_phase_execution_exception"},
                "status": 429,
            }
        if fault == "parse":
            cause = {"type": "query_shard_exception", "reason": "Failed to parse query"}
            return {
                "error": {"root_cause": [cause], "type": "search_phase_execution_exception"},
                "status": 400,
            }
        failed = int(fault == "shards")
        found = matching(query, depth) if fault else self._found(query, depth)
        return {
            "took": 2,
            "timed_out": fault == "timeout",
            "_shards": {"total": 2, "successful": 2 - failed, "skipped": 0, "failed": failed},
            "hits": {
                "total": {"value": len(found), "relation": "eq"},
                "max_score": 1.0 if found else None,
                "hits": [{"_index": "products", "_id": name, "_score": 1.0} for name in found[failed:]],
            },
            "status": 200,
        }

    def _select(self, form: dict[str, str]) -> tuple[int, Any]:
        query, rows = form["q"], int(form["rows"])
        assert form["wt"] == "json"
        fault = self.search_fault(query)
        header: dict[str, Any] = {"status": 0, "QTime": 4, "params": form}
        if fault == "reject":
            return 503, {"responseHeader": {"status": 503}, "error": {"msg": "queue is full", "code": 503}}
        if fault == "parse":
            return 400, {"responseHeader": {"status": 400}, "error": {"msg": "Cannot parse", "code": 400}}
        if fault:
            found, header = matching(query, rows)[1:], header | {"partialResults": True}
        else:
            found = self._found(query, rows)
        docs = [{"id": name} for name in found]
        return 200, {"responseHeader": header, "response": {"numFound": len(docs), "start": 0, "docs": docs}}


@contextmanager
def loopback_engine(certificate: Path | None = None) -> Iterator[LoopbackEngine]:
    """A server on a free port, with the certificate and key in a file if one is given."""
    engine = LoopbackEngine()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60
        wbufsize = -1
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            found = engine.answer(self.command, self.path, dict(self.headers), body)
            if found == "drop":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if found == "slow":
                time.sleep(0.6)
            status, content = found if isinstance(found, tuple) else (200, {"responses": []})
            data = b"<html>proxy</html>" if found == "html" else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "application/json")
            if status == 429:
                self.send_header("Retry-After", engine.retry_after)
            if status // 100 == 3:
                self.send_header("Location", content["location"])
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if found == "cut" else data)
            if found == "cut":
                self.close_connection = True

        do_GET = do_POST = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that went away."""

    server = Server(("127.0.0.1", 0), Handler)
    engine.port = server.server_port
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        engine.scheme = "https"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_certificate(folder: Path) -> Path:
    """Write a new self-signed certificate of 127.0.0.1 and its key: `ca.pem`, `key.pem`, and `both.pem`."""
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"),
            *("-keyout", folder / "key.pem", "-out", folder / "ca.pem"),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder
