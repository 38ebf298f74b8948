"""Who may ask what, how often and under which name; and what the server says of its own health."""

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from runs import Made
from servers import Server, eventually, serving, status_of
from wayword.serving.events import read
from wayword.serving.health import LONGEST_LOOK
from wayword.serving.http import Refused
from wayword.serving.limiter import MOST_CLIENTS, SECOND, Limiter
from wayword.serving.options import Options
from wayword.serving.service import Service

EVENT = b'{"user_query": "q", "query_id": "1"}'


@pytest.fixture(scope="module")
def workspace(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed.copy(tmp_path_factory.mktemp("accessed") / "workspace")


@pytest.fixture(scope="module")
def server(workspace: Path) -> Iterator[Server]:
    with serving(
        workspace,
        "--host",
        "::ffff:127.0.0.1",
        "--rate",
        0.01,
        "--burst",
        50,
        "--allowed-host",
        "shop.example",
    ) as found:
        yield found


def test_clients_with_ipv4_addresses_are_counted_apart_on_an_ipv6_socket(server: Server) -> None:
    eventually(lambda: status_of(server, "127.0.0.2", "/complete?prefix=v") == 429)
    assert status_of(server, "127.0.0.3", "/complete?prefix=v") == 200


def test_health_is_told_to_a_client_that_may_not_ask_any_more(server: Server) -> None:
    eventually(lambda: status_of(server, "127.0.0.4", "/complete?prefix=v") == 429)
    assert status_of(server, "127.0.0.4", "/healthz") == 200


def test_the_limiter_keeps_a_bounded_number_of_clients() -> None:
    limiter = Limiter(rate=1.0, burst=10)
    for number in range(MOST_CLIENTS + 1000):
        assert limiter.wait(str(number), number * SECOND // 10**6) == 0
    assert len(limiter) <= MOST_CLIENTS


@pytest.mark.parametrize(("last", "status"), [(EVENT, 200), (b"{}", 400)])
def test_work_is_charged_to_the_client_that_asked_for_it(last: bytes, status: int, workspace: Path) -> None:
    """At a rate of one request in 100 seconds, refused is who asked for more than its burst, in vain or not."""
    with serving(workspace, "--rate", 0.01, "--burst", 20) as server:
        body = b"[" + b", ".join([*[EVENT] * 999, last]) + b"]"  # takes longer than a millisecond
        statuses: list[int] = []
        while not statuses or statuses[-1] == status:
            statuses.append(server.ask("POST", "/events", body).status)
        assert statuses[-1] == 429
        assert len(statuses) < 20


def test_the_values_of_a_body_are_bounded() -> None:
    """Half a million numbers fit into a megabyte, and to check them takes longer than all other requests may wait."""
    numbers = b",".join([b"1"] * 400_000)
    with pytest.raises(Refused, match="send at most 50,000"):
        read(b'{"user_query": "q", "query_id": "1", "query_attributes": {"numbers": [%s]}}' % numbers)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost", 200),
        ("LOCALHOST:{port}", 200),
        ("a" * 300 + ".localhost", 421),
        ("127.0.0.1:{port}", 200),
        ("[::1]:{port}", 200),
        ("shop.example", 200),
    ],
)
def test_only_known_names_lead_to_the_server(host: str, status: int, server: Server) -> None:
    """A page of a foreign site whose name leads here has the same host and origin."""
    host = host.format(port=server.port)
    posted = server.ask("POST", "/events", EVENT, {"host": host, "origin": f"http://{host}"})
    asked = server.ask("GET", "/complete?prefix=v", None, {"host": host})
    assert (posted.status, asked.status) == (status, status)
    if status == 421:
        assert "--allowed-host" in posted.json["error"]


def test_health_tells_when_the_index_is_not_checked_any_more(workspace: Path) -> None:
    service = Service(workspace, Options())
    scope, protocol = None, None
    assert service.health(scope, protocol).status == 200  # type: ignore[arg-type]
    service.experiment.looked = monotonic() - LONGEST_LOOK - 1
    failing = service.health(scope, protocol)  # type: ignore[arg-type]
    assert failing.status == 503
    assert b"the check hangs" in failing.body
    service.experiment.look()
    assert service.health(scope, protocol).status == 200  # type: ignore[arg-type]


def test_health_tells_when_events_cannot_be_written(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    (workspace / "events").write_text("in the place of the folder")
    with serving(workspace) as server:
        assert server.get("/healthz").json["status"] == "ok"
        assert server.ask("POST", "/events", EVENT).status == 503
        failing = server.get("/healthz")
        assert failing.status == 503
        assert failing.json["status"] == "failing"
        assert "could not be written" in failing.json["reasons"][0]
        os.unlink(workspace / "events")  # noqa: PTH108
        assert server.ask("POST", "/events", EVENT).status == 200
        assert server.get("/healthz").status == 200
