"""Load on a server: as much as it bears (`wrk`), or at a rate that does not wait for it (our own).

Requests at a rate come at random times (Poisson), over connections that stay open, each the next free one; where none
is free, a request waits in line. Latency counts from the time when a request was due, so a server that stalls cannot
make the load wait with it ("coordinated omission"). The loop never sleeps: it needs a core of its own.
"""

import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_plus

import numpy as np
from apart import LOAD, on_core
from numpy.typing import NDArray
from server_processes import HOST, Server

CONNECTIONS = 64
_LUA = """
local requests, place = {}, 0
function init(args)
  for line in io.lines(args[1]) do requests[#requests + 1] = wrk.format("GET", line) end
end
function request()
  place = place % #requests + 1
  return requests[place]
end
"""


def paths(typed: list[str]) -> list[str]:
    """What a browser asks for."""
    return [f"/complete?prefix={quote_plus(text)}" for text in typed]


def missing() -> str | None:
    """What to install, if anything."""
    return None if shutil.which("wrk") else "wrk is not installed: apt-get install wrk"


def saturation(server: Server, asked: list[str], seconds: float) -> float:
    """Requests per second that `wrk` gets answered over 64 connections, cycling through the paths."""
    with tempfile.TemporaryDirectory() as folder:
        script, lines = Path(folder) / "paths.lua", Path(folder) / "paths"
        script.write_text(_LUA, encoding="ascii")
        lines.write_text("\n".join(asked) + "\n", encoding="ascii")
        said = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "-s", script, server.address, "--", lines],
            check=True,
            capture_output=True,
            text=True,
            preexec_fn=lambda: on_core(LOAD),
        ).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(f"The server did not answer everything:\n{said}")
    return float(re.findall(r"Requests/sec:\s+([\d.]+)", said)[0])


@dataclass(frozen=True)
class Latencies:
    """Nanoseconds: of each answer, and how late the load itself was where a connection was free."""

    answers: NDArray[np.int64]
    late: NDArray[np.int64]


def at_rate(port: int, asked: list[str], rate: float, seconds: float, warm_up: float = 2.0) -> Latencies:
    """Ask so many times a second; the first seconds are not counted."""
    requests = [f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode() for path in asked]
    rng = np.random.default_rng(0)
    gaps = rng.exponential(1e9 / rate, int(rate * (seconds + warm_up)))
    due = (np.cumsum(gaps) + time.perf_counter_ns() + 50e6).astype(np.int64)
    found = _ask(_connections(port), requests, due.tolist())
    counted = due > due[0] + warm_up * 1e9
    late = found.late[counted]
    return Latencies(found.answers[counted], late[late >= 0])


def _connections(port: int) -> dict[int, socket.socket]:
    found = {}
    for _ in range(CONNECTIONS):
        one = socket.create_connection((HOST, port))
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.setblocking(False)
        found[one.fileno()] = one
    return found


def _ask(connections: dict[int, socket.socket], requests: list[bytes], due: list[int]) -> Latencies:
    """Every request that is due, and the answers to all of them."""
    clock, many = time.perf_counter_ns, len(due)
    answers, late = [0] * many, [-1] * many
    free, line = deque(connections), deque[int]()
    owner, got = dict[int, int](), dict.fromkeys(connections, b"")
    poll = select.epoll()
    for file in connections:
        poll.register(file, select.EPOLLIN)
    following = done = 0
    while done < many:
        now = clock()
        while following < many and due[following] <= now:
            if free and not line:
                late[following] = now - due[following]
            line.append(following)
            following += 1
        while line and free:
            file, asked = free.popleft(), line.popleft()
            connections[file].send(requests[asked % len(requests)])
            owner[file] = asked
        for file, _ in poll.poll(0):
            got[file] += _received(connections[file])
            if _whole(got[file]):
                answers[owner[file]] = clock() - due[owner[file]]
                got[file] = b""
                free.append(file)
                done += 1
    poll.close()
    for one in connections.values():
        one.close()
    return Latencies(np.array(answers), np.array(late))


def _received(connection: socket.socket) -> bytes:
    found = connection.recv(1 << 16)
    if not found:
        raise RuntimeError("The server closed a connection.")
    return found


def _whole(answer: bytes) -> bool:
    """Whether all of an answer has come. Raise `RuntimeError` if it is not the one expected.

    >>> _whole(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n{"), _whole(b"HTTP/1.1 2")
    (False, False)
    """
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"Found the answer {head[:200]!r}; expected the status 200.")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return len(body) >= int(length)
