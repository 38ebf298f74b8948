"""A real server in a process of its own, and requests to it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

TOKEN = "a-token-for-the-tests"  # noqa: S105
PATIENCE = 120.0


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Server:
    """One that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, errors: Path) -> None:
        self.process, self.port, self._errors = process, port, errors

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **parameters: object) -> Got:
        """`GET`, with parameters."""
        given = urlencode({name: str(value).encode("utf-8", "replace") for name, value in parameters.items()})
        return self.ask("GET", f"{path}?{given}" if parameters else path)

    def post(self, records: object) -> Got:
        """`POST /events`."""
        return self.ask("POST", "/events", json.dumps(records).encode())

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        if number == signal.SIGKILL:
            os.killpg(self.process.pid, number)
        elif self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    @property
    def errors(self) -> str:
        """What it had to say."""
        return self._errors.read_text()


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(
    workspace: Path, *options: object, port: int | None = None, **environment: str
) -> Iterator[Server]:
    """`wayword serve`, until the end of the block."""
    port = port or free_port()
    errors = workspace.parent / f"server-{port}.txt"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "wayword", "serve", workspace, "--port", str(port), *map(str, options)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={**os.environ, **environment},
        )
    server = Server(process, port, errors)
    try:
        _wait(server)
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)


def _wait(server: Server) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            server.ask("GET", "/healthz")
            return
        except OSError:
            assert server.process.poll() is None, server.errors
            time.sleep(0.05)
    raise AssertionError(f"The server does not answer: {server.errors}")
