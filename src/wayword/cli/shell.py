"""What a command shares with the shell: bytes in and out, Ctrl-C, broken pipes and exit codes."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from wayword.errors import WaywordError, WorkspaceError
from wayword.store import disk

READ_AT_ONCE = 1 << 16
"""Bytes of stdin. What has arrived is answered at once, so that a program may ask line by line."""


def lines_in() -> Iterator[list[str]]:
    """Lines of stdin as they arrive; what is not UTF-8 is read as the replacement character."""
    stream = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
    rest = b""
    while chunk := stream.read1(READ_AT_ONCE):
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield [_line(line) for line in whole]
    if rest:
        yield [_line(rest)]


def _line(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")


def given(argument: str) -> str:
    """An argument, its bytes read as a line of stdin would be."""
    return os.fsencode(argument).decode("utf-8", "replace")


def write(text: str) -> None:
    """Data on stdout: valid UTF-8 whatever the terminal's language."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


class _Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which libraries on the way catch and report in their own words."""

    happened = False
    """DuckDB answers a signal with an error of its own, so that the exception alone does not tell."""


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    _Interrupted.happened = True
    raise _Interrupted


def run(command: Callable[[], object]) -> None:
    """Run a command; what the user can mend is one message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGINT, _interrupt)
    try:
        command()
    except BrokenPipeError:
        _abandon_output()
        sys.exit(1)
    except (Exception, _Interrupted) as problem:
        if _Interrupted.happened:
            _fail("Interrupted. What was finished is kept.", code=130)
        if (message := _message(problem)) is None:
            raise
        _fail(message)


def _message(problem: BaseException) -> str | None:
    """What to say of a problem that the user can mend; None for a mistake of ours."""
    if isinstance(problem, WorkspaceError):
        return str(problem)
    return disk.refusal(problem) or (str(problem) if isinstance(problem, WaywordError) else None)


def _fail(message: str, code: int = 2) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_output()
    sys.exit(code)


def _abandon_output() -> None:
    """Nobody takes what is still to be written: let Python's last flush at exit succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
