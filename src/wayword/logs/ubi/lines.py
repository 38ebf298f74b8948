"""Reads the lines of NDJSON files in blocks, numbered and not parsed yet."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

import numpy as np
import pyarrow as pa

from wayword.engines import files
from wayword.errors import LogError

ENDINGS = (*files.JSON_LINES, ".json")
BLOCK = 1 << 24
"""Bytes that are read at once."""
LONGEST = 1 << 27
"""No record is as long as this: a file with such a line is another kind of file."""
AT_ONCE = 1 << 12
"""Lines that one thread of an engine takes at a time."""
SCHEMA = pa.schema([("place", pa.int64()), ("bytes", pa.large_binary())])


def files_of(inputs: Sequence[Path]) -> list[Path]:
    """The files of the inputs, each once, in the given order; those of a folder by name."""
    found = [file for given in inputs for file in (_in_folder(given) if given.is_dir() else [_file(given)])]
    return list({file.resolve(): file for file in reversed(found)}.values())[::-1]


def _in_folder(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.iterdir() if file.is_file() and _is_ours(file))
    if found:
        return found
    more = " A workspace has its events in the folder `events`." if (folder / "events").is_dir() else ""
    raise LogError(
        f"There are no UBI records in {folder}: no file in it ends in {', '.join(ENDINGS)} (or .gz after that).{more}"
    )


def _file(path: Path) -> Path:
    if not path.is_file():
        raise LogError(f"There is no file or folder {path}.")
    if not _is_ours(path):
        raise LogError(
            f"Found {path.name}; expected NDJSON, a file that ends in {', '.join(ENDINGS)} (or .gz after that)."
        )
    return path


def _is_ours(path: Path) -> bool:
    plain = path.with_suffix("") if files.is_compressed(path) else path
    return plain.suffix.lower() in ENDINGS


def blocks(path: Path, first: int = 0, size: int = BLOCK) -> Iterator[pa.Table]:
    """Tables (place, bytes) of whole lines; places count on from `first`, blank lines too."""
    for data in _whole_lines(path, size):
        lines = _split(data)
        places = pa.array(np.arange(first, first + len(lines)))
        batch = pa.record_batch([places, lines], schema=SCHEMA)
        yield pa.Table.from_batches(
            [batch.slice(start, AT_ONCE) for start in range(0, len(lines), AT_ONCE)], SCHEMA
        )
        first += len(lines)


def _split(data: bytes) -> pa.Array:
    """The lines of some bytes, each with its line break.

    >>> _split(b"one\\ntwo").to_pylist()
    [b'one\\n', b'two']
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def _whole_lines(path: Path, size: int) -> Iterator[bytes]:
    rest: list[bytes] = []
    for chunk in _chunks(path, size):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, chunk[:cut]])
            rest = []
        rest.append(chunk[cut:])
        if sum(map(len, rest)) > LONGEST:
            raise LogError(
                f"{path} has a line of more than {LONGEST:,} bytes; expected one record per line (NDJSON). "
                "Write each record on a line of its own."
            )
    if last := b"".join(rest):
        yield last


def _chunks(path: Path, size: int) -> Iterator[bytes]:
    """The decompressed bytes of a file, without a byte order mark; of a truncated .gz, those before the end."""
    try:
        with path.open("rb") as raw:
            start = True
            for chunk in _decompressed(raw, size) if files.is_compressed(path) else _plain(raw, size):
                yield chunk.removeprefix(b"\xef\xbb\xbf") if start else chunk
                start = False
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise LogError(f"Cannot read {path}: {problem}. Compress it again.") from problem


def _plain(raw: BufferedReader, size: int) -> Iterator[bytes]:
    while chunk := raw.read(size):
        yield chunk


def _decompressed(raw: BufferedReader, size: int) -> Iterator[bytes]:
    parts: list[bytes] = []
    with gzip.GzipFile(fileobj=raw) as file, suppress(EOFError):
        while part := file.read1(size):
            parts.append(part)
            if sum(map(len, parts)) >= size:
                yield b"".join(parts)
                parts = []
    yield b"".join(parts)
