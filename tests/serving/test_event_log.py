"""What was acknowledged is on disk after the worst, and what failed left nothing behind."""

import asyncio
import itertools
import json
import os
import resource
import signal
import threading
from pathlib import Path

import pytest

from runs import Made
from servers import Server, serving
from wayword.serving.event_log import EventLog


def _stored(folder: Path) -> list[str]:
    """The identities of all whole records."""
    lines = [line for file in sorted(folder.iterdir()) for line in file.read_bytes().split(b"\n")[:-1]]
    return [json.loads(line)["query_id"] for line in lines if b'"query_id"' in line]


def _line(name: str) -> bytes:
    return json.dumps({"query_id": name}).encode() + b"\n"


def test_many_tasks_share_a_flush_and_each_waits_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    flush = os.fdatasync

    def told(file: int) -> None:
        flush(file)
        flushed.append(file)

    monkeypatch.setattr(os, "fdatasync", told)

    async def post() -> None:
        log = EventLog(tmp_path, largest=2000)
        for group in range(3):
            names = [f"{group}-{n}" for n in range(50)]
            await asyncio.gather(*(log.append(_line(name)) for name in names))
            assert set(names) <= set(_stored(tmp_path))
        log.close()

    asyncio.run(post())
    assert len(_stored(tmp_path)) == len(set(_stored(tmp_path))) == 150
    assert 3 <= len(flushed) < 20
    assert len(list(tmp_path.iterdir())) > 1


def test_a_write_that_fails_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the first bytes are written, the rest is not."""

    async def post() -> None:
        log = EventLog(tmp_path)
        await log.append(_line("one"))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                await log.append(_line("x" * 200))
            await log.append(_line("two"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        await log.append(_line("three"))
        log.close()

    asyncio.run(post())
    assert _stored(tmp_path) == ["one", "two", "three"]
    assert all(file.read_bytes().endswith(b"\n") for file in tmp_path.iterdir())


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "workspace")
    acknowledged: list[str] = []
    for attempt in range(2):
        with serving(workspace, "--workers", 2, "--rate", 0) as server:
            threads = [
                threading.Thread(target=_post, args=(server, f"{attempt}-{n}", acknowledged))
                for n in range(4)
            ]
            for thread in threads:
                thread.start()
            while len(acknowledged) < (attempt + 1) * 150 and any(thread.is_alive() for thread in threads):
                threads[0].join(0.02)
            server.stop(signal.SIGKILL)
            for thread in threads:
                thread.join()
    assert len(acknowledged) >= 300
    assert set(acknowledged) <= set(_stored(workspace / "events"))


def _post(server: Server, name: str, acknowledged: list[str]) -> None:
    for n in itertools.count():
        record = {"action_name": "click", "query_id": f"{name}-{n}"}
        try:
            if server.post(record).status == 200:
                acknowledged.append(record["query_id"])
        except OSError:
            return
        except Exception:  # the connection ended in the middle of an answer
            return
