"""Servers, started for a measurement: Wayword, and one whose handler is empty."""

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from apart import SERVER, on_core

HOST = "127.0.0.1"
PATIENCE = 120
"""Seconds that a server has to start."""
LET_THROUGH = 100_000_000
"""Requests per second and client: the limiter counts, but refuses none."""


@dataclass(frozen=True)
class Server:
    process: int
    port: int

    @property
    def address(self) -> str:
        """Without a path."""
        return f"http://{HOST}:{self.port}"


def wayword(workspace: Path, *, workers: int = 1) -> list[str]:
    """The command; the port comes last."""
    options = ["--workers", str(workers), "--rate", str(LET_THROUGH), "--port"]
    return [sys.executable, "-m", "wayword", "serve", str(workspace), *options]


def empty() -> list[str]:
    """The same of a handler that does nothing."""
    return [sys.executable, str(Path(__file__).with_name("empty_handler.py"))]


@contextmanager
def serving(command: list[str]) -> Iterator[Server]:
    """A server on the core for servers, from its first answer on."""
    port = _free_port()
    process = subprocess.Popen([*command, str(port)], preexec_fn=lambda: on_core(SERVER))  # noqa: PLW1509
    try:
        _wait(process, port)
        yield Server(process.pid, port)
    finally:
        if process.poll() is not None:
            print(f"{process.args!r} ended by itself: {process.returncode}", file=sys.stderr)
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            with closing(http.client.HTTPConnection(HOST, port, timeout=5)) as asked:
                asked.request("GET", "/healthz")
                if asked.getresponse().status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not answer.")
