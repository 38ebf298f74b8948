"""nginx, with the recipe's settings but for paths and ports, before a server with the options of the unit."""

import gzip
import http.client
import json
import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from recipes import DEPLOY, NAME, program, replaced, run, serve_options

from runs import Made
from servers import PATIENCE, Got, Server, eventually, free_port, serving

pytestmark = pytest.mark.slow

MAIN = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/main.log;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
{paths}
include {folder}/wayword.conf;
}}
"""


@dataclass
class Proxy:
    """nginx in a process of its own."""

    folder: Path
    plain: int
    secure: int
    server: Server

    def connected(self, source: str) -> ssl.SSLSocket:
        """A connection from an address of this machine, with a checked certificate."""
        context = ssl.create_default_context(cafile=str(self.folder / "certificate.pem"))
        plain = socket.create_connection(("127.0.0.1", self.secure), PATIENCE, (source, 0))
        return context.wrap_socket(plain, server_hostname=NAME)

    def ask(
        self,
        path: str,
        *,
        source: str = "127.0.0.1",
        host: str = NAME,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(host)
        connection.sock = self.connected(source)
        try:
            connection.request("POST" if body else "GET", path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    @property
    def logs(self) -> str:
        """All that nginx wrote."""
        return "".join(file.read_text(encoding="utf-8") for file in sorted(self.folder.glob("*.log")))


def settings(folder: Path, plain: int, secure: int, server: int) -> str:
    """The recipe, with ports and paths of this machine."""
    return replaced(
        (DEPLOY / "nginx.conf").read_text(encoding="utf-8"),
        {
            "127.0.0.1:8080": f"127.0.0.1:{server}",
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{secure} ssl",
            "    listen [::]:80;\n": "",
            "    listen [::]:443 ssl http2;\n": "",
            "/var/cache/nginx/wayword": f"{folder}/cache",
            "/var/log/nginx": str(folder),
            f"/etc/letsencrypt/live/{NAME}/fullchain.pem": f"{folder}/certificate.pem",
            f"/etc/letsencrypt/live/{NAME}/privkey.pem": f"{folder}/key.pem",
        },
    )


def prepare(folder: Path, server: Server) -> Proxy:
    """Write certificate and settings."""
    proxy = Proxy(folder, free_port(), free_port(), server)
    made = run(
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 1, "-subj", f"/CN={NAME}",
        "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", folder / "key.pem", "-out", folder / "certificate.pem",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    text = settings(folder, proxy.plain, proxy.secure, server.port)
    (folder / "wayword.conf").write_text(text, encoding="utf-8")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "" if os.geteuid() else "user root;"
    main = MAIN.format(folder=folder, paths=paths, user=user)
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    return proxy


@pytest.fixture(scope="module")
def proxy(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    nginx = program("nginx")
    folder = tmp_path_factory.mktemp("nginx")
    workspace = undisturbed.copy(folder / "workspace")
    with serving(workspace, *serve_options(), "--rate", 0.001, "--burst", 60) as server:
        proxy = prepare(folder, server)
        process = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"])
        try:
            eventually(lambda: _listens(process, proxy.secure))
            yield proxy
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "nginx has ended"
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_nginx_understands_the_recipe_without_a_warning(proxy: Proxy) -> None:
    done = run("nginx", "-t", "-p", proxy.folder, "-c", proxy.folder / "nginx.conf")
    assert done.returncode == 0
    assert "warn" not in done.stderr


def test_https_gives_the_completions_of_the_server(proxy: Proxy) -> None:
    got = proxy.ask("/complete?prefix=vid&k=3", source="127.0.0.2")
    assert got.status == 200
    assert got.json["completions"]
    assert got.json == proxy.server.get("/complete", prefix="vid", k=3).json
    assert got.headers["strict-transport-security"] == "max-age=31536000"
    assert got.headers["cache-control"] == "private, max-age=1"
    known = {"If-None-Match": got.headers["etag"]}
    assert proxy.ask("/complete?prefix=vid&k=3", source="127.0.0.2", headers=known).status == 304


def test_http_leads_to_https(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.plain, PATIENCE)
    connection.request("GET", "/complete?prefix=vid", headers={"Host": NAME})
    answer = connection.getresponse()
    assert answer.status == 308
    assert answer.getheader("location") == f"https://{NAME}/complete?prefix=vid"
    connection.close()


def test_the_host_of_the_client_arrives(proxy: Proxy) -> None:
    assert proxy.ask("/complete?prefix=vide", source="127.0.0.3").status == 200
    foreign = proxy.ask("/complete?prefix=vide", source="127.0.0.3", host="foreign.example")
    assert foreign.status == 421
    assert "foreign.example" in foreign.json["error"]


def test_the_address_of_the_client_arrives_whatever_it_says_itself(proxy: Proxy) -> None:
    """The server allows each client 60 requests; nginx, more."""
    answers = [
        proxy.ask(
            f"/complete?prefix=v{number}", source="127.0.0.4", headers={"X-Forwarded-For": f"10.0.0.{number}"}
        )
        for number in range(70)
    ]
    assert [one.status for one in answers].count(200) <= 60
    assert answers[0].status == 200
    assert answers[-1].status == 429
    assert int(answers[-1].headers["retry-after"]) > 100  # by Wayword; nginx says 1
    assert proxy.ask("/complete?prefix=v1x", source="127.0.0.5").status == 200


def test_a_client_that_asks_too_often_gets_429_and_others_none(proxy: Proxy) -> None:
    """The same text, whose answer nginx keeps, so that the server's own limit is not reached."""
    request = f"GET /complete?prefix=vi HTTP/1.1\r\nHost: {NAME}\r\n{{}}\r\n"
    with proxy.connected("127.0.0.6") as connection:
        connection.sendall((request.format("") * 399 + request.format("Connection: close\r\n")).encode())
        answers = connection.makefile("rb").read()
    refused = answers.count(b"HTTP/1.1 429 ")
    assert answers.count(b"HTTP/1.1 200 ") == 400 - refused >= 100
    assert refused > 0
    assert answers.count(b'{"error":"Too many requests; try again in 1 s."}') == refused
    assert answers.count(b"Retry-After: 1\r\n") == refused
    assert proxy.ask("/complete?prefix=vi", source="127.0.0.7").status == 200


def test_equal_requests_reach_the_server_about_once_per_second(proxy: Proxy) -> None:
    for _ in range(20):
        assert proxy.ask("/complete?prefix=video+ed", source="127.0.0.8").status == 200
    eventually(lambda: proxy.logs.count("\n127.0.0.8 ") == 20)
    assert " HIT\n" in proxy.logs.partition("\n127.0.0.8 ")[2]


def test_events_are_stored(proxy: Proxy) -> None:
    record = {
        "user_query": "video player",
        "query_id": "through the proxy",
        "query_response_hit_ids": ["vlc"],
    }
    body = json.dumps(record).encode()
    for origin in ("https://shop.example", f"https://{NAME}"):
        got = proxy.ask("/events", source="127.0.0.9", body=body, headers={"Origin": origin})
        assert (got.status, got.json) == (200, {"stored": 1})
    stored = [one for one in proxy.server.records() if one.get("query_id") == "through the proxy"]
    assert len(stored) == 2
    refused = proxy.ask(
        "/events", source="127.0.0.9", body=body, headers={"Origin": "https://foreign.example"}
    )
    assert refused.status == 403


def test_a_large_body_does_not_reach_the_server(proxy: Proxy) -> None:
    assert proxy.ask("/events", source="127.0.0.10", body=b" " * 1_000_001).status == 413


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/healthz", "/overrides", "/explain?prefix=v&query=vlc", "/docs"]
)
def test_what_is_not_for_the_public_is_closed_to_it(path: str, proxy: Proxy) -> None:
    assert proxy.ask(path, source="127.0.0.11").status == 403


@pytest.mark.parametrize("path", ["/wayword.js", "/assets/field.js"])
def test_the_script_of_sites_is_open(path: str, proxy: Proxy) -> None:
    got = proxy.ask(path, source="127.0.0.12", headers={"Accept-Encoding": "gzip"})
    content = gzip.decompress(got.body) if got.headers.get("content-encoding") == "gzip" else got.body
    assert got.status == 200
    assert b"import" in content


def test_this_machine_sees_metrics(proxy: Proxy) -> None:
    assert b"wayword_requests_total" in proxy.ask("/metrics").body


def test_what_was_asked_lately_is_answered_while_the_server_is_away_and_no_log_has_what_was_typed(
    proxy: Proxy,
) -> None:
    asked = "/complete?prefix=video+player"
    first = proxy.ask(asked, source="127.0.0.13")
    assert first.status == 200
    proxy.server.stop()
    try:
        time.sleep(1.1)  # what nginx keeps is out of date
        assert proxy.ask(asked, source="127.0.0.13").json == first.json
        assert proxy.ask("/complete?prefix=neverasked", source="127.0.0.13").status == 502
    finally:
        proxy.server.start()
    assert proxy.ask("/complete?prefix=neverasked", source="127.0.0.13").status == 200
    eventually(lambda: "127.0.0.13" in proxy.logs)
    assert "neverasked" not in proxy.logs
    assert "prefix" not in proxy.logs
