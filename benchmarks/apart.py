"""Functions in a process of their own, on a core of their own, and what processes hold in memory."""

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

SERVER, LOAD = 0, 1
"""The cores: what answers, and what asks."""
Result = TypeVar("Result")


def apart(core: int | None, function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function returns in a fresh process, on one core (None: on all)."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawning, initializer=on_core, initargs=(core,)) as pool:
        return pool.submit(function, *arguments).result()


def on_core(core: int | None) -> None:
    """Keep this process, and all that it starts, on one core; on any, if the machine has no such core."""
    if core is not None and core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


def family(process: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield process
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            yield from family(int(child))


def proportional(process: int) -> float:
    """Megabytes in memory; what several processes share is divided among them (PSS)."""
    return _megabytes(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8"), "Pss")


def proportional_anonymous(process: int) -> float:
    """The part of `proportional` that no file holds: unlike shared libraries, no other program changes it."""
    return _megabytes(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8"), "Pss_Anon")


def proportional_of_files(process: int, folder: Path) -> float:
    """The part of `proportional` that are files of a folder, mapped."""
    parts = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{process}/smaps").read_text("utf-8"))
    inside = (part for part in parts if f" {folder.resolve()}/" in part.partition("\n")[0])
    return sum(_megabytes(part, "Pss") for part in inside)


def resident() -> float:
    """Megabytes of this process in memory now."""
    return _megabytes(Path("/proc/self/status").read_text(encoding="utf-8"), "VmRSS")


def peak() -> float:
    """The most megabytes that this process ever held."""
    return _megabytes(Path("/proc/self/status").read_text(encoding="utf-8"), "VmHWM")


def _megabytes(text: str, name: str) -> float:
    found = re.search(rf"(?m)^{name}:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0
