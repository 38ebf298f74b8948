"""Whatever happens to a file of an index, nothing crashes, and no wrong answer stays once the check has run."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runs import Made
from wayword.index import integrity, versions

READER = Path(__file__).with_name("reader_process.py")
QUICK = 120
"""Number of damaged indexes that the quick test opens."""


class Reader:
    """A process that opens indexes; after a crash, another one."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, READER], stdin=pipe, stdout=pipe, text=True)

    def read(self, root: Path, hashed: int = integrity.HASHED) -> dict[str, Any]:
        """The answers of an index."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"root": str(root), "hashed": hashed}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            self._start()
            return {"crashed": code}
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    started = Reader()
    yield started
    started.close()


def flip(file: Path, rng: random.Random, _other: Path) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 20))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    _replace(file, bytes(content))


def zero(file: Path, rng: random.Random, _other: Path) -> None:
    content = file.read_bytes()
    at = rng.randrange(len(content))
    _replace(file, content[:at] + bytes(len(content[at : at + 512])) + content[at + 512 :])


def noise(file: Path, rng: random.Random, _other: Path) -> None:
    content = file.read_bytes()
    at = min(128, len(content) // 2)  # an array's header stays as it is
    _replace(file, content[:at] + rng.randbytes(len(content) - at))


def cut(file: Path, rng: random.Random, _other: Path) -> None:
    content = file.read_bytes()
    _replace(file, content[: rng.randrange(len(content))])


def extend(file: Path, rng: random.Random, _other: Path) -> None:
    _replace(file, file.read_bytes() + rng.randbytes(rng.choice((1, 4096))))


def swap(file: Path, _rng: random.Random, other: Path) -> None:
    one, two = file.read_bytes(), other.read_bytes()
    _replace(file, two)
    _replace(other, one)


def empty(file: Path, _rng: random.Random, _other: Path) -> None:
    _replace(file, b"")


def folder(file: Path, _rng: random.Random, _other: Path) -> None:
    file.unlink()
    file.mkdir()


def pipe(file: Path, _rng: random.Random, _other: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def link(file: Path, _rng: random.Random, other: Path) -> None:
    file.unlink()
    file.symlink_to(other)


def dangling(file: Path, _rng: random.Random, _other: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def gone(file: Path, _rng: random.Random, _other: Path) -> None:
    file.unlink()


Damage = Callable[[Path, random.Random, Path], None]
DAMAGES: tuple[Damage, ...] = (
    *(flip, zero, noise, cut, extend, swap, empty, folder, pipe, link, dangling, gone),
)


def _replace(file: Path, content: bytes) -> None:
    """Give the copy a file of its own: the other files are links to those of the intact index."""
    file.unlink()
    file.write_bytes(content)


def test_a_damaged_index_neither_crashes_nor_answers_wrongly(
    undisturbed: Made, tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    _damage_many(undisturbed, tmp_path, reader, monkeypatch, QUICK)


@pytest.mark.slow
def test_no_damage_of_any_file_crashes_or_answers_wrongly(
    undisturbed: Made, tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    _damage_many(undisturbed, tmp_path, reader, monkeypatch, None)


def _damage_many(
    made: Made, tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    """Damage each file in each way, with stamps that agree or not, with files that count as small or as large."""
    monkeypatch.setattr(integrity, "TOO_YOUNG", 0)
    version = versions.current(made.path / versions.ROOT)
    expected = reader.read(version.parent)["late"]
    files = sorted(path.relative_to(version) for path in version.rglob("*") if path.is_file())
    cases = [
        (file, damage, stamped, hashed)
        for file in files
        for damage in DAMAGES
        for stamped, hashed in ((False, integrity.HASHED), (True, integrity.HASHED), (True, 0))
    ]
    rng = random.Random(0)
    noticed = 0
    for number, (file, damage, stamped, hashed) in enumerate(rng.sample(cases, most or len(cases))):
        root = tmp_path / str(number)
        copy = shutil.copytree(version, root / version.name, copy_function=os.link)
        (root / versions.CURRENT).write_text(version.name)
        damage(copy / file, rng, copy / rng.choice([other for other in files if other != file]))
        if stamped:
            integrity.stamp(copy)
        found = reader.read(root, hashed)
        case = f"{file}, {damage.__name__}, stamped: {stamped}, hashed: {hashed}: {str(found)[:1000]}"
        assert "crashed" not in found, case
        assert "refused" in found or found["late"] == expected, case
        noticed += "refused" in found
        shutil.rmtree(root)
    assert noticed > 0.8 * (most or len(cases))
