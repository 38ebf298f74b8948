"""Standard input and output of a command, Ctrl-C, broken pipes and exit codes."""

import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from wayword.errors import WaywordError, WorkspaceError
from wayword.store import disk

READ_SIZE = 1 << 16
"""Most bytes of stdin read at once. Lines are answered as they arrive, so a program may send one at a time."""
LONGEST_LINE = 1 << 20
"""Bytes of a line of stdin."""


def read_lines() -> Iterator[list[str]]:
    """Yield the lines of stdin in batches as they arrive; invalid UTF-8 becomes the replacement character."""
    stream = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
    rest = b""
    while chunk := stream.read1(READ_SIZE):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise WaywordError(
                f"Found a line of more than {LONGEST_LINE:,} bytes on stdin; expected one typed text per line."
            )
        if lines:
            yield [_decode_line(line) for line in lines]
    if rest:
        yield [_decode_line(rest)]


def _decode_line(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")


def decode_argument(argument: str) -> str:
    """Decode an argument as a line of stdin is decoded."""
    return os.fsencode(argument).decode("utf-8", "replace")


def write(text: str) -> None:
    """Write text and a newline to stdout as UTF-8, whatever the locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class _Interrupted(BaseException):
    """Ctrl-C. It is no KeyboardInterrupt, because libraries catch that and print messages of their own."""

    happened = False
    """Set by the signal handler: DuckDB raises its own error on a signal, so the exception type is not enough."""


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    _Interrupted.happened = True
    raise _Interrupted


def collect_seldom() -> None:
    """Look for reference cycles seldom: a command that learns makes millions of objects, and few cycles."""
    gc.set_threshold(50_000, 20, 20)


def run(command: Callable[[], object]) -> None:
    """Run a command. An error that the user can correct prints one message and exits with code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGINT, _interrupt)
    try:
        command()
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except (Exception, _Interrupted) as problem:
        if _Interrupted.happened:
            _fail("Interrupted. What was finished is kept.", code=130)
        if (message := _message(problem)) is None:
            raise
        _fail(message)


def _message(problem: BaseException) -> str | None:
    """Return the message for an error that the user can correct, None for a bug."""
    if isinstance(problem, WorkspaceError):
        return str(problem)
    return disk.refusal(problem) or (str(problem) if isinstance(problem, WaywordError) else None)


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
    sys.exit(code)


def _discard_output() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
