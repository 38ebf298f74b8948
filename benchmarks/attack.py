"""Attacks a server that runs on this machine, and measures what a normal client notices, in one table.

python benchmarks/attack.py                              # on a small index, made first
python benchmarks/attack.py --workspace demo             # on a workspace of one's own; it is copied
python benchmarks/attack.py --attacks silent bodies      # only some: silent, bodies, pieces, texts, rotation

The attacks come from the address 127.0.0.2, the normal client from 127.0.0.1 (Linux routes both to the machine itself):

silent    connections that are opened and never used
bodies    events of which the last byte is never sent
pieces    events that are sent byte by byte
texts     long texts that normalisation makes longer, as fast as the server takes them
rotation  no attack: events of four threads while their files are moved away; counts what was acknowledged and found

The normal client sends one request after another, each on a new connection, before, during and after the attack.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event as EventType
from pathlib import Path
from urllib.parse import quote

import wayword

NORMAL, ATTACKER, POSTING = "127.0.0.1", "127.0.0.2", "127.0.0.3"
TYPED = ("v", "vid", "video pl", "mail", "games f", "vidoe", "zz top", "python l")
PATIENCE = 5.0
"""Seconds after which the normal client gives a request up."""
PAUSE = 0.01
LIGATURE = "\ufdfa"
"""One character that normalisation makes eighteen."""


@dataclass(frozen=True)
class Server:
    """The number of its main process, and its port."""

    process: int
    port: int


@dataclass
class Phase:
    """Latencies in seconds, failures, and the most memory of the server in MB."""

    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    memory: float = 0.0

    def row(self, attack: str, name: str) -> str:
        """A line of the table."""
        latencies = sorted(self.latencies) or [float("nan")]
        p50, p99 = (
            1000 * one for one in (statistics.median(latencies), latencies[len(latencies) * 99 // 100])
        )
        many = len(self.latencies) + self.failed
        return (
            f"| {attack} | {name} | {many:,} | {self.failed} | {p50:.1f} | {p99:.1f} | {self.memory:,.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workspace", type=Path, default=None)
    parser.add_argument(
        "--attacks", nargs="+", choices=[*ATTACKS, "rotation"], default=[*ATTACKS, "rotation"]
    )
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends as well
    with tempfile.TemporaryDirectory() as folder:
        workspace = _workspace(Path(folder), arguments.workspace)
        print(
            "| attack | phase | requests | failed | p50 ms | p99 ms | server MB |\n|---|---|---|---|---|---|---|"
        )
        for name in arguments.attacks:
            with serving(workspace, arguments.workers) as server:
                if name == "rotation":
                    print(rotation(workspace, server, arguments.seconds), flush=True)
                else:
                    attack(name, server, arguments.seconds)


def _workspace(folder: Path, given: Path | None) -> Path:
    if given is not None:
        return Path(shutil.copytree(given, folder / "workspace"))
    data = wayword.simulate("packages", clicks=20_000, out=folder / "data")
    return wayword.run(data / "clicks.parquet", data / "rankings.parquet", out=folder / "workspace").path


@contextmanager
def serving(workspace: Path, workers: int) -> Iterator[Server]:
    """A server on a free port, until the end of the block."""
    with socket.create_server((NORMAL, 0)) as probe:
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "wayword", "serve", workspace, "--port", port, "--workers", workers]
    process = subprocess.Popen([*map(str, command)], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                ask(port, NORMAL, "GET", "/complete?prefix=v")
                break
            except OSError:
                time.sleep(0.1)
        yield Server(process.pid, port)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def attack(name: str, server: Server, seconds: float) -> None:
    """Measure before, during and after an attack, and print each."""
    begun = multiprocessing.Event()
    attacker = multiprocessing.Process(target=_begin, args=(name, server.port, begun), daemon=True)
    print(normal_client(server, 3).row(name, "before"), flush=True)
    attacker.start()
    begun.wait()
    time.sleep(1)
    print(normal_client(server, seconds).row(name, "during"), flush=True)
    attacker.kill()
    attacker.join()
    time.sleep(2)
    print(normal_client(server, 3).row(name, "after"), flush=True)


def _begin(name: str, port: int, begun: EventType) -> None:
    begun.set()
    ATTACKS[name](port)


def normal_client(server: Server, seconds: float) -> Phase:
    """Send requests, one after another."""
    phase, end, number = Phase(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        started = time.perf_counter()
        try:
            failed = (
                ask(server.port, NORMAL, "GET", f"/complete?prefix={quote(TYPED[number % len(TYPED)])}")
                != 200
            )
        except (OSError, http.client.HTTPException):
            failed = True
        if failed:
            phase.failed += 1
        else:
            phase.latencies.append(time.perf_counter() - started)
        number += 1
        if number % 50 == 0:
            phase.memory = max(phase.memory, memory(server.process))
        time.sleep(PAUSE)
    phase.memory = max(phase.memory, memory(server.process))
    return phase


def ask(port: int, source: str, method: str, path: str, body: bytes | None = None) -> int:
    """One request on a connection of its own; its status."""
    connection = http.client.HTTPConnection(NORMAL, port, timeout=PATIENCE, source_address=(source, 0))
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def memory(server: int) -> float:
    """Anonymous memory of the server and its workers in MB, each page counted once."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    total = 0
    for process in (str(server), *children):
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss_Anon"))
    return total / 1024


def _connections(port: int, many: int) -> list[socket.socket]:
    """Open connections, as many as are accepted."""
    opened = []
    for _ in range(many):
        try:
            opened.append(socket.create_connection((NORMAL, port), PATIENCE, (ATTACKER, 0)))
        except OSError:
            break
    return opened


def silent(port: int) -> None:
    """Hold 5,000 connections, and open those again that were closed."""
    held: list[socket.socket] = []
    while True:
        held = [one for one in held if not _ended(one)]
        held += _connections(port, 5000 - len(held))
        time.sleep(0.1)


def _ended(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def bodies(port: int) -> None:
    """Send all of 900 bodies but the last byte."""
    length = 990_000
    head = f"POST /events HTTP/1.1\r\nhost: {NORMAL}\r\ncontent-length: {length}\r\n\r\n".encode()
    while True:
        held = []
        for connection in _connections(port, 900):
            try:
                connection.sendall(head + b" " * (length - 1))
                held.append(connection)
            except OSError:
                connection.close()
        time.sleep(1)


def pieces(port: int) -> None:
    """Send bodies in chunks of one byte, on eight connections at once."""
    head = f"POST /events HTTP/1.1\r\nhost: {NORMAL}\r\ntransfer-encoding: chunked\r\n\r\n".encode()

    def send() -> None:
        while True:
            try:
                with socket.create_connection((NORMAL, port), PATIENCE, (ATTACKER, 0)) as connection:
                    connection.sendall(head)
                    while True:
                        connection.sendall(b"1\r\n \r\n" * 1000)
            except OSError:
                time.sleep(0.01)

    _threads(send, 8)


def texts(port: int) -> None:
    """Complete texts that no index knows and that grow, on eight connections at once."""
    begun = time.time_ns()

    def send() -> None:
        number = threading.get_ident()
        while True:
            number += 1
            try:
                ask(port, ATTACKER, "GET", f"/complete?prefix={quote(LIGATURE * 970)}{begun + number}")
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)

    _threads(send, 8)


def _threads(target: Callable[[], None], many: int) -> None:
    threads = [threading.Thread(target=target) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rotation(workspace: Path, server: Server, seconds: float) -> str:
    """Post events from four threads while files are moved away; tell what was acknowledged and what was found."""
    acknowledged: list[int] = []
    ended = threading.Event()
    moved = workspace.parent / "moved"
    moved.mkdir(exist_ok=True)

    def post(first: int) -> None:
        number = first
        while not ended.is_set():
            number += 1
            event = json.dumps({"action_name": "click", "query_id": str(number)}).encode()
            try:
                if ask(server.port, POSTING, "POST", "/events", event) == 200:
                    acknowledged.append(number)
            except (OSError, http.client.HTTPException):
                continue

    def rotate() -> None:
        while not ended.wait(0.05):
            for file in (workspace / "events").glob("*.ndjson"):
                file.rename(moved / f"{time.time_ns()}-{file.name}")

    threads = [threading.Thread(target=post, args=(10**6 * one,)) for one in range(4)]
    threads.append(threading.Thread(target=rotate))
    for thread in threads:
        thread.start()
    phase = normal_client(server, seconds)
    ended.set()
    for thread in threads:
        thread.join()
    files = [*moved.glob("*.ndjson"), *(workspace / "events").glob("*.ndjson")]
    lines = (json.loads(line) for file in files for line in file.read_text().splitlines())
    stored = {int(line["query_id"]) for line in lines if "query_id" in line}
    lost = len(set(acknowledged) - stored)
    counted = f"acknowledged {len(acknowledged):,}, lost {lost}, files {len(files)}"
    return phase.row("rotation", counted)


ATTACKS: dict[str, Callable[[int], None]] = {
    "silent": silent,
    "bodies": bodies,
    "pieces": pieces,
    "texts": texts,
}


if __name__ == "__main__":
    main()
