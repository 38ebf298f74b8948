"""Reads the lines of NDJSON files in blocks, numbered and not parsed yet."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword.engines import files
from wayword.errors import LogError
from wayword.logs.ubi.schema import LONGEST_RECORD

ENDINGS = (*files.JSON_LINES, ".json")
BLOCK = 1 << 23
"""Bytes that are read at once."""
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


def blocks(path: Path, first: int = 0, size: int = BLOCK) -> Iterator[tuple[pa.Table, int]]:
    """Tables (place, bytes) of whole lines, and the number of lines each stands for.

    Places count on from `first`. Empty lines are counted and not in the table. Of a line that is too long to be a
    record, only the beginning is: still too long.
    """
    for data in _whole_lines(path, size):
        lines = _split(data)
        filled = pc.binary_length(lines).to_numpy() > 1
        filled[-1] |= not data.endswith(b"\n")
        kept = np.flatnonzero(filled)
        batch = pa.record_batch([pa.array(first + kept), lines.take(pa.array(kept))], schema=SCHEMA)
        table = pa.Table.from_batches(
            [batch.slice(start, AT_ONCE) for start in range(0, len(kept), AT_ONCE)], SCHEMA
        )
        yield table, len(lines)
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
    """Blocks of whole lines; no more than a chunk and one record are in memory, however long a line is."""
    begun = b""
    for chunk in _chunks(path, size):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            too_long = len(begun) > LONGEST_RECORD
            yield begun + chunk[chunk.index(b"\n") if too_long else 0 : cut]
            begun = b""
        begun += chunk[cut:][: LONGEST_RECORD + 1 - len(begun)]
    if begun:
        yield begun


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
        while part := _part(file, size):
            parts.append(part)
            if sum(map(len, parts)) >= size:
                yield b"".join(parts)
                parts = []
    yield b"".join(parts)


def _part(file: gzip.GzipFile, size: int) -> bytes:
    try:
        return file.read1(size)
    except gzip.BadGzipFile as problem:
        if "(b'\\x1f')" in str(problem):  # the first byte of a header, at which the file was cut off
            return b""
        raise
