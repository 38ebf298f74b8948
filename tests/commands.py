"""Commands in processes of their own, forked from one that has the libraries loaded, so that each starts at once."""

import io
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault(
    "OMP_WAIT_POLICY", "passive"
)  # threads that spin on a busy machine only slow each other
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "wayword.cli",
        "wayword.pipeline",
        "wayword.report",
        "wayword.serving.completer",
        "wayword.simulation.simulate",
        "rich.markdown",
        "rich.progress",
        "sklearn.feature_extraction.text",
        "sklearn.utils.extmath",
        "threadpoolctl",
        "typer.rich_utils",
        "xgboost.callback",
    ]
)
PATIENCE = 120.0


@dataclass(frozen=True)
class Finished:
    """What a command left."""

    code: int
    out: bytes
    err: str


class Command:
    """A command under way."""

    def __init__(self, *arguments: object, stdin: bytes = b"") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wayword-command-")
        self._streams = [Path(self._folder.name) / name for name in ("in", "out", "err")]
        self._streams[0].write_bytes(stdin)
        self._process = _FORKS.Process(
            target=_enter, args=([str(a) for a in arguments], [str(s) for s in self._streams])
        )
        self._process.start()

    @property
    def said(self) -> bytes:
        """What it wrote to its error stream so far."""
        return self._streams[2].read_bytes() if self._streams[2].exists() else b""

    def signal(self, number: int) -> None:
        """Send a signal, if the command still runs."""
        if self._process.is_alive() and self._process.pid:
            os.kill(self._process.pid, number)

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that the command does, or for its end."""
        until = time.monotonic() + PATIENCE
        while self._process.is_alive() and not happened() and time.monotonic() < until:
            time.sleep(0.002)

    def finished(self) -> Finished:
        """Wait for the end; a command that a signal ended has minus its number as its code."""
        self._process.join(PATIENCE)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            raise AssertionError("the command does not end")
        _, out, err = (stream.read_bytes() for stream in self._streams)
        self._process.close()
        self._folder.cleanup()
        return Finished(code, out, err.decode())


def wayword(*arguments: object, stdin: bytes = b"") -> Finished:
    """Run a command to its end."""
    return Command(*arguments, stdin=stdin).finished()


def _enter(arguments: list[str], streams: list[str]) -> None:
    for number, (path, mode) in enumerate(
        zip(streams, (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT), strict=True)
    ):
        os.dup2(os.open(path, mode), number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    os.environ["COLUMNS"] = "80"
    sys.argv = ["wayword", *arguments]
    from wayword.cli.main import main

    main()
