"""Whatever every request meets is written once, and then counted."""

import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs import Made
from servers import eventually, serving
from wayword.serving.request_log import RepeatFilter


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[_Lines]:
    """What reaches the handlers of the logger `counted`, whose repeats are counted every fiftieth of a second."""
    logger, handler = logging.getLogger("counted"), _Lines()
    repeats = RepeatFilter(logger, 0.02)
    logger.propagate = False
    logger.addHandler(handler)
    logger.addFilter(repeats)
    yield handler
    logger.removeHandler(handler)
    logger.removeFilter(repeats)


def _fail(kind: type[Exception], *values: object) -> None:
    try:
        raise kind
    except kind:
        logging.getLogger("counted").exception("Answering %s failed.", *values)


def test_repeated_lines_are_counted_and_none_is_lost_in_the_count(lines: _Lines) -> None:
    def fail() -> None:
        for n in range(250):
            _fail(ValueError, n)

    threads = [threading.Thread(target=fail) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def told() -> int:
        counts = [int(found[1]) for line in list(lines.lines) if (found := re.search(r"\((\d+) more", line))]
        return sum(counts) + len(lines.lines) - len(counts)

    eventually(lambda: told() == 1000)
    assert len(lines.lines) < 500
    assert re.fullmatch(r"Answering \d+ failed\.", lines.lines[0])
    assert re.fullmatch(r"Answering \d+ failed\. \(\d+ more like this in 0.02 s\)", lines.lines[1])


def test_other_messages_and_other_problems_are_lines_of_their_own(lines: _Lines) -> None:
    _fail(ValueError, 1)
    _fail(KeyError, 1)
    logging.getLogger("counted").error("Events could not be written: %s", "full")
    logging.getLogger("counted").error("Events could not be written: %s", "full")
    written = ["Answering 1 failed.", "Answering 1 failed.", "Events could not be written: full"]
    assert lines.lines[:3] == written
    eventually(lambda: "Events could not be written: full (1 more like this in 0.02 s)" in lines.lines)


def test_a_kind_of_line_that_stopped_is_new_again(lines: _Lines) -> None:
    for _ in range(2):
        logging.getLogger("counted").error("full")
        eventually(lambda: not any(isinstance(thread, threading.Timer) for thread in threading.enumerate()))
    assert lines.lines == ["full", "full"]


def test_events_that_cannot_be_written_are_one_line_and_not_one_per_request(
    undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    (workspace / "events").touch()  # not a folder
    with serving(workspace, "--rate", 0) as server:
        for _ in range(50):
            assert server.post({"action_name": "click"}).status == 503
        assert server.errors.count("Events could not be written") == 1
        (workspace / "events").unlink()
        assert server.post({"action_name": "click"}).status == 200
