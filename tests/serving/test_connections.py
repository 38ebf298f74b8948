"""Connections, bodies and workers stay within their limits, whatever clients do."""

import http.client
import itertools
import json
import os
import re
import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from runs import Made
from servers import PATIENCE, Server, eventually, serving, status_of
from wayword.serving.connections import UNREAD, Connections, Limits

NORMAL, ATTACKER = "127.0.0.1", "127.0.0.2"
HEAD = "POST /events HTTP/1.1\r\nhost: 127.0.0.1\r\n"
QUERY = b'{"user_query": "half", "query_id": "half"}'


@pytest.fixture(scope="module")
def workspace(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed.copy(tmp_path_factory.mktemp("attacked") / "workspace")


@pytest.fixture(scope="module")
def server(workspace: Path) -> Iterator[Server]:
    with serving(workspace, "--client-connections", 64) as found:
        yield found


def connect(server: Server, source: str = ATTACKER) -> socket.socket:
    return socket.create_connection((NORMAL, server.port), PATIENCE, (source, 0))


def answer(connection: socket.socket) -> bytes:
    """All that is sent until the connection ends."""
    received = b""
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            received += part
    return received


def is_open(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(PATIENCE)


def test_a_client_holds_only_as_many_connections_as_it_may(server: Server) -> None:
    with ExitStack() as stack:
        used = stack.enter_context(connect(server))
        used.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert used.recv(1 << 16).startswith(b"HTTP/1.1 200")
        silent = [stack.enter_context(connect(server)) for _ in range(1100)]
        for one in silent:
            with suppress(OSError):
                one.sendall(b"G")  # not silent: the timeout of silent connections does not close it
        assert status_of(server, NORMAL) == 200
        eventually(lambda: sum(map(is_open, silent)) <= 64)
        assert sum(map(is_open, silent)) == 64
        with connect(server) as new:  # the client itself goes on, in the place of an idle connection
            new.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert answer(new).startswith(b"HTTP/1.1 200")


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Connections of two clients within this process: of each, the client's end and the server's.

    Each leads to another address, so that the clients' ends, which are connections as well, are not of one client.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104
        port, found = listener.getsockname()[1], []
        for number in range(4):
            address, source = (f"127.0.1.{number}", port), (f"127.0.0.{2 + number % 2}", 0)
            client = stack.enter_context(socket.create_connection(address, PATIENCE, source))
            found.append((client, stack.enter_context(listener.accept()[0])))
        yield found


def test_a_connection_that_sends_nothing_is_closed_in_time(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    now = [0.0]
    connections = Connections(Limits(0, 10**6, silent=5.0), lambda: now[0])
    (first, second), *silent = pairs
    first.sendall(b"1")
    second.sendall(b"2")
    assert connections.look() == 0
    now[0] = 4.0
    assert connections.look() == 0
    now[0] = 6.0
    assert connections.look() >= len(silent)
    assert [one.recv(1) for one, _ in silent] == [b""] * len(silent)
    assert second.recv(1) == b"1"
    second.sendall(b"3")
    assert first.recv(2) in (b"2", b"23")


def test_the_idlest_connection_is_the_first_to_be_closed(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """Of each of the two clients, one connection has sent something."""
    for client, server in pairs[:2]:
        client.sendall(b"1")
        assert server.recv(1) == b"1"
    assert Connections(Limits(1, 10**6)).look() >= 2
    assert [is_open(server) for _, server in pairs] == [True, True, False, False]


def test_a_client_that_never_reads_is_dropped_by_the_system() -> None:
    with socket.create_server((NORMAL, 0)) as listener:
        Connections(Limits(0, 10**6)).look()
        with socket.create_connection(listener.getsockname(), PATIENCE), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNREAD


def test_unfinished_bodies_take_bounded_memory(server: Server) -> None:
    length = 990_000
    with ExitStack() as stack:
        held = []
        for _ in range(40):
            one = stack.enter_context(connect(server))
            one.sendall(f"{HEAD}content-length: {length}\r\n\r\n".encode() + b" " * (length - 1))
            held.append(one)
        refused = eventually(lambda: [one for one in held if _has_answer(one)])
        assert answer(refused[0]).startswith(b"HTTP/1.1 503")
        assert server.post(json.loads(QUERY)).status == 200


def _has_answer(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


def test_a_body_has_a_bounded_number_of_pieces(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode())
        with suppress(ConnectionError):
            connection.sendall(b"1\r\n \r\n" * 1000)
        assert re.match(rb"HTTP/1\.1 400.*send larger ones", answer(connection), re.DOTALL)


def test_half_a_body_is_not_stored(server: Server) -> None:
    """Though it is a whole record."""
    before = len(server.records())
    with connect(server) as connection:
        connection.sendall(f"{HEAD}content-length: {len(QUERY) + 1}\r\n\r\n".encode() + QUERY)
        connection.shutdown(socket.SHUT_WR)
        assert not answer(connection).startswith(b"HTTP/1.1 200")
    assert len(server.records()) == before


@pytest.mark.parametrize(
    "headers",
    [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        "content-length: 4\r\ncontent-length: 5\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding : chunked\r\n",
    ],
)
def test_what_follows_a_body_of_doubtful_length_is_no_request(headers: str, server: Server) -> None:
    """A proxy that takes the other length would take it for the request of another client."""
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(QUERY), QUERY)
    with connect(server) as connection:
        connection.sendall(
            f"{HEAD}{headers}\r\n".encode() + body + b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
        )
        assert answer(connection).count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("headers", ["a: b\r\n" * 200, f"a: {'b' * 1_000_000}\r\n"], ids=["many", "large"])
def test_headers_are_bounded(headers: str, server: Server) -> None:
    with connect(server) as connection:
        with suppress(ConnectionError):
            connection.sendall(f"GET /healthz HTTP/1.1\r\nconnection: close\r\n{headers}\r\n".encode())
        assert not answer(connection).startswith(b"HTTP/1.1 200")
    assert server.get("/healthz").status == 200


def test_pipelined_requests_that_nobody_reads_disturb_nobody(server: Server) -> None:
    with connect(server) as connection:
        connection.setblocking(False)
        with suppress(BlockingIOError):
            for _ in range(100_000):
                connection.send(b"GET /docs HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 100)
        assert status_of(server, NORMAL) == 200


def test_workers_end_with_the_server_and_keep_what_they_acknowledged(workspace: Path) -> None:
    with serving(workspace, "--workers", 2, "--rate", 0) as server:
        acknowledged: list[str] = []
        ended = threading.Event()

        def post(name: int) -> None:
            with suppress(OSError, http.client.HTTPException):
                for number in itertools.takewhile(lambda _: not ended.is_set(), itertools.count()):
                    assert server.post({"user_query": "q", "query_id": f"{name}-{number}"}).status == 200
                    acknowledged.append(f"{name}-{number}")

        threads = [threading.Thread(target=post, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(acknowledged) > 20)
        try:
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            ended.set()
            for thread in threads:
                thread.join()
            eventually(lambda: _can_bind(server.port))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.process.pid, signal.SIGKILL)
        stored = {record["query_id"] for record in server.records()}
        assert set(acknowledged) <= stored


def _can_bind(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((NORMAL, port))
        return True
    return False
