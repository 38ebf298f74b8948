"""Whoever rotates the files of the event log, and however: no acknowledged event is lost."""

import asyncio
import json
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from runs import Made
from servers import Server, eventually, serving
from wayword.serving.event_log import EventLog
from wayword.store.artefact import to_disk

Hook = Callable[[], None]


def _line(name: str) -> bytes:
    return json.dumps({"query_id": name}).encode() + b"\n"


def _names(content: bytes) -> list[str]:
    lines = [line for line in content.split(b"\n")[:-1] if b'"query_id"' in line]
    return [json.loads(line)["query_id"] for line in lines]


def _stored(folder: Path) -> list[str]:
    return [name for file in sorted(folder.glob("*.ndjson")) for name in _names(file.read_bytes())]


def _written(folder: Path, post: Callable[[EventLog], Awaitable[None]]) -> None:
    """Let `post` write to a log."""

    async def run() -> None:
        log = EventLog(folder)
        await post(log)
        log.close()

    asyncio.run(run())


@pytest.fixture
def during_flush(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hook], None]:
    """Do something once, while the next lines are on their way to the disk."""
    flush, waiting = os.fdatasync, list[Hook]()

    def flushed(file: int) -> None:
        while waiting:
            waiting.pop()()
        flush(file)

    monkeypatch.setattr(os, "fdatasync", flushed)
    return waiting.append


def _move_files(folder: Path, to: Path) -> list[Path]:
    to.mkdir(exist_ok=True)
    return [file.rename(to / file.name) for file in sorted(folder.glob("*.ndjson"))]


def test_an_event_after_the_file_was_moved_is_not_in_the_moved_file(tmp_path: Path) -> None:
    events, away = tmp_path / "events", tmp_path / "away"

    async def post(log: EventLog) -> None:
        await log.append(_line("one"))
        (moved,) = _move_files(events, away)
        await log.append(_line("two"))
        assert _names(moved.read_bytes()) == ["one"]
        moved.unlink()
        await log.append(_line("three"))

    _written(events, post)
    assert _stored(events) == ["two", "three"]


@pytest.mark.parametrize("how", ["file moved", "file removed", "folder moved", "link left", "file truncated"])
def test_what_happens_to_the_file_during_the_flush_takes_no_event_with_it(
    tmp_path: Path, during_flush: Callable[[Hook], None], how: str
) -> None:
    events, away = tmp_path / "events", tmp_path / "away"

    def move() -> None:
        (file,) = events.glob("*.ndjson")
        match how:
            case "file moved":
                _move_files(events, away)
            case "file removed":
                file.unlink()
            case "folder moved":
                events.rename(away)
            case "link left":
                (moved,) = _move_files(events, away)
                file.symlink_to(moved)
            case "file truncated":
                os.truncate(file, 0)

    async def post(log: EventLog) -> None:
        await log.append(_line("one"))
        during_flush(move)
        await log.append(_line("two"))
        shutil.rmtree(away, ignore_errors=True)
        assert "two" in _stored_in_files(events)

    _written(events, post)
    assert b"\0" not in b"".join(file.read_bytes() for file in events.iterdir() if file.exists())


def _stored_in_files(folder: Path) -> list[str]:
    return [name for file in folder.iterdir() if file.is_file() for name in _names(file.read_bytes())]


def test_a_folder_that_becomes_a_link_is_followed(tmp_path: Path) -> None:
    events, large = tmp_path / "events", tmp_path / "large"

    async def post(log: EventLog) -> None:
        await log.append(_line("one"))
        events.rename(tmp_path / "old")
        large.mkdir()
        events.symlink_to(large)
        await log.append(_line("two"))

    _written(events, post)
    assert (_stored(tmp_path / "old"), _stored(large)) == (["one"], ["two"])


def test_names_that_are_taken_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the clock was set back, or of another machine with the same folder: a file, a pipe without a reader, a
    link to a file and one to nothing."""
    monkeypatch.setattr(time, "strftime", lambda *_: "now")
    taken = [tmp_path / f"ubi-now-{os.getpid()}-{n}.ndjson" for n in range(1, 5)]
    taken[0].write_bytes(_line("other"))
    os.mkfifo(taken[1])
    taken[2].symlink_to(taken[0])
    taken[3].symlink_to(tmp_path / "nothing")
    _written(tmp_path, lambda log: log.append(_line("mine")))
    assert taken[0].read_bytes() == _line("other")
    assert (tmp_path / f"ubi-now-{os.getpid()}-5.ndjson").read_bytes() == _line("mine")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("place", ["a file", "a pipe", "a link to nothing"])
def test_a_folder_that_is_none_is_told_and_waited_for(tmp_path: Path, place: str) -> None:
    events = tmp_path / "events"
    match place:
        case "a file":
            events.touch()
        case "a pipe":
            os.mkfifo(events)
        case "a link to nothing":
            events.symlink_to(tmp_path / "none")

    async def post(log: EventLog) -> None:
        with pytest.raises(FileExistsError):
            await log.append(_line("one"))
        events.unlink()
        await log.append(_line("two"))

    _written(events, post)
    assert _stored(events) == ["two"]


def test_after_a_failed_flush_the_next_event_is_in_another_file(
    tmp_path: Path, during_flush: Callable[[Hook], None]
) -> None:
    """The kernel reports a failed flush once: the next flush of the same file succeeds without having written."""

    def fail() -> None:
        raise OSError(5, "Input/output error")

    async def post(log: EventLog) -> None:
        await log.append(_line("one"))
        (first,) = tmp_path.iterdir()
        during_flush(fail)
        with pytest.raises(OSError, match="Input/output"):
            await log.append(_line("two"))
        await log.append(_line("three"))
        assert _names(first.read_bytes()) == ["one"]

    _written(tmp_path, post)
    assert sorted(_stored(tmp_path)) == ["one", "three"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_name_that_is_not_on_disk_takes_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is flushed before the first event of a file; if that fails, the file is not used."""
    flush, failing = os.fsync, [True]

    def flushed(file: int) -> None:
        if failing:
            failing.clear()
            raise OSError(5, "Input/output error")
        flush(file)

    monkeypatch.setattr(os, "fsync", flushed)
    synced = list[Path]()

    def recorded(path: Path) -> None:
        to_disk(path)
        synced.append(path)

    monkeypatch.setattr("wayword.serving.event_file.to_disk", recorded)

    async def post(log: EventLog) -> None:
        with pytest.raises(OSError, match="Input/output"):
            await log.append(_line("one"))
        assert not list((tmp_path / "events").iterdir())
        await log.append(_line("two"))

    _written(tmp_path / "events", post)
    assert _stored(tmp_path / "events") == ["two"]
    assert synced == [tmp_path / "events", tmp_path]


def test_a_full_disk_in_the_middle_of_a_rotation_loses_nothing_acknowledged(
    tmp_path: Path, during_flush: Callable[[Hook], None]
) -> None:
    events, away = tmp_path / "events", tmp_path / "away"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def rotate() -> None:
        _move_files(events, away)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))

    async def post(log: EventLog) -> None:
        await log.append(_line("one"))
        during_flush(rotate)
        try:
            for _ in range(3):
                with pytest.raises(OSError, match="too large"):
                    await log.append(_line("two"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        assert [file.stat().st_size for file in events.iterdir()] == [0]
        await log.append(_line("three"))

    _written(events, post)
    assert _names(next(away.iterdir()).read_bytes()) == [
        "one",
        "two",
    ]  # refused, but there: sent again, it is twice
    assert _stored(events) == ["three"]


# --- the real server, several workers, under load


class _Posting:
    """Threads that post events until told to stop; when each was sent, and when it was acknowledged.

    One that is refused, since files are moved faster than the disk writes, is posted no more.
    """

    def __init__(self, server: Server, threads: int = 3) -> None:
        self._server, self._stop = server, threading.Event()
        self.acknowledged: dict[str, tuple[float, float]] = {}
        self._threads = [threading.Thread(target=self._post, args=(n,)) for n in range(threads)]

    def _post(self, number: int) -> None:
        for n in range(100_000):
            if self._stop.is_set():
                return
            name, sent = f"{number}-{n}", time.monotonic()
            got = self._server.post({"action_name": "click", "query_id": name})
            if got.status == 200:
                self.acknowledged[name] = (sent, time.monotonic())

    def __enter__(self) -> "_Posting":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def until(self, number: int) -> Iterator[int]:
        """Count the turns, one for every few events, until so many are acknowledged."""
        for turn in range(number // 8):
            eventually(partial(self._has, 8 * turn))
            yield turn

    def _has(self, number: int) -> bool:
        return len(self.acknowledged) > number


def test_every_acknowledged_event_is_found_however_files_and_folder_are_moved(
    undisturbed: Made, tmp_path: Path
) -> None:
    """What is moved is read at once and deleted, as a job does that collects events."""
    workspace = undisturbed.copy(tmp_path / "workspace")
    events, found = workspace / "events", list[str]()
    with serving(workspace, "--workers", 2, "--rate", 0) as server, _Posting(server) as posting:
        for turn in posting.until(400):
            moved = workspace / f"moved-{turn}"
            if turn % 4 == 3 and events.exists():
                events.rename(moved)
            else:
                _move_files(events, moved)
            found += _stored(moved)
            shutil.rmtree(moved)
    assert len(posting.acknowledged) >= 390
    assert set(posting.acknowledged) <= set(found + _stored(events))


def test_copy_and_truncate_loses_only_events_of_that_moment(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    events, found, moments = workspace / "events", list[str](), list[tuple[float, float]]()
    with serving(workspace, "--workers", 2, "--rate", 0) as server, _Posting(server) as posting:
        for turn in posting.until(400):
            began = time.monotonic()
            for file in events.glob("*.ndjson"):
                copied = Path(shutil.copy(file, tmp_path / f"{turn}-{file.name}"))
                os.truncate(file, 0)
                assert b"\0" not in copied.read_bytes()
                found += _names(copied.read_bytes())
            moments.append((began, time.monotonic()))
    assert b"\0" not in b"".join(file.read_bytes() for file in events.iterdir())
    lost = set(posting.acknowledged) - set(found + _stored(events))
    for name in lost:
        sent, acknowledged = posting.acknowledged[name]
        assert any(sent < end and acknowledged > began for began, end in moments)
    assert len(posting.acknowledged) - len(lost) > 100
