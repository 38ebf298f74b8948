"""A real server in a process of its own, and requests to it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

TOKEN = "a-token-for-the-tests"  # noqa: S105
PATIENCE = 120.0
"""Seconds after which something that is waited for is taken not to come."""


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
    """`wayword serve` in a process of its own, on a port that stays the same."""

    def __init__(self, workspace: Path, options: Sequence[object], port: int, environment: Mapping[str, str]):
        self.workspace, self.port = workspace, port
        self.address = f"http://127.0.0.1:{port}"
        self._command = ["serve", workspace, "--port", port, *options]
        self._environment = {**os.environ, **environment}
        self._errors = workspace.parent / f"server-{port}.txt"
        self.start()

    def start(self) -> None:
        """At first, and again after it was stopped."""
        with self._errors.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wayword", *map(str, self._command)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                env=self._environment,
            )
        try:
            eventually(self._answers)
        except BaseException:
            self.stop(signal.SIGKILL)
            raise

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.errors
        try:
            return bool(self.ask("GET", "/healthz").status)
        except OSError:
            return False

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

    def queries(self, prefix: str, **parameters: object) -> list[str]:
        """The completions that it gives."""
        return [
            one["query"] for one in self.get("/complete", prefix=prefix, **parameters).json["completions"]
        ]

    def records(self) -> list[dict[str, Any]]:
        """The events and queries that are on disk, in their order."""
        lines = [
            line
            for file in sorted((self.workspace / "events").glob("*.ndjson"))
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        assert all(json.loads(line)["index"]["_index"].startswith("ubi_") for line in lines[::2])
        return [json.loads(line) for line in lines[1::2]]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, unless it has ended, and wait for the end; the exit code.

        `SIGKILL` is for all of its processes: as when the machine goes, no request is answered to its end.
        """
        if self.process.poll() is None:
            if number == signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
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


def eventually(happened: Callable[[], Any]) -> Any:
    """What it gives, as soon as that is true."""
    until = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)
    return found


@contextmanager
def serving(
    workspace: Path, *options: object, port: int | None = None, **environment: str
) -> Iterator[Server]:
    """A server, until the end of the block."""
    server = Server(workspace, options, port or free_port(), environment)
    try:
        yield server
    finally:
        server.stop(signal.SIGKILL)


def status_of(server: Server, source: str, path: str = "/complete?prefix=v") -> int:
    """The status of a request from an address of this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, PATIENCE, (source, 0))
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status
