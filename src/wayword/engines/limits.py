"""Limits of input files: how far a compressed one may expand, and how long a line may be.

A small file from outside must not fill memory and disk. DuckDB limits a JSON object to 16 MB, and its tables spill to
the disk when they exceed the available memory; but it drops the last line of a CSV file without a word if that is
longer than its buffer.
"""

import gzip
import zlib

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.errors import LogError
from wayword.store.input_file import InputFile

FREE_BYTES = 1 << 30
"""Every file may expand to this many bytes."""
FREE_ROWS = 10_000_000
"""Every Parquet file may have this many rows."""
EXPANSION = 100
"""A larger one may expand to this many times its size, and a Parquet file may have this many rows per byte."""
LONGEST_LINE = 2_000_000
"""Bytes of a line of a CSV file."""
READ_SIZE = 1 << 20


def check_text(file: InputFile, *, compressed: bool, lines: bool) -> None:
    """Raise `LogError` if a file expands too far or, with `lines`, has too long a line."""
    most = max(FREE_BYTES, EXPANSION * file.size) if compressed else file.size
    size = length = 0
    try:
        with gzip.open(file.opened) if compressed else file.opened.open("rb") as stream:
            while size <= most and length <= LONGEST_LINE and (chunk := stream.read(READ_SIZE)):
                size += len(chunk)
                length = _line_length(length, chunk) if lines else 0
    except (OSError, EOFError, zlib.error) as problem:
        raise LogError(f"Cannot read {file}: {problem}") from problem
    if size > most:
        raise LogError(_refusal(file, f"more than {most:,} bytes"))
    if length > LONGEST_LINE:
        raise LogError(f"{file} has a line of more than {LONGEST_LINE:,} bytes; expected one row per line.")


def _line_length(before: int, chunk: bytes) -> int:
    """Bytes of the last, unfinished line after a chunk that continues one; of the continued line if that is too long.

    >>> _line_length(10, b"abc"), _line_length(10, b"abc\\nd"), _line_length(LONGEST_LINE, b"abc\\nd")
    (13, 1, 2000003)
    """
    first = min((place for end in (b"\n", b"\r") if (place := chunk.find(end)) >= 0), default=len(chunk))
    if first == len(chunk) or before + first > LONGEST_LINE:
        return before + first
    return len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))


def check_parquet(file: InputFile) -> None:
    """Raise `LogError` if a Parquet file expands too far, by its own metadata."""
    try:
        about = pq.read_metadata(file.opened)
    except (OSError, pa.ArrowException) as problem:
        raise LogError(f"Cannot read {file}: {problem}") from problem
    size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if size > max(FREE_BYTES, EXPANSION * file.size):
        raise LogError(_refusal(file, f"{size:,} bytes"))
    if about.num_rows > max(FREE_ROWS, EXPANSION * file.size):
        raise LogError(_refusal(file, f"{about.num_rows:,} rows"))


def _refusal(file: InputFile, found: str) -> str:
    return (
        f"{file} has {file.size:,} bytes and expands to {found}; expected at most {EXPANSION} times its size, or "
        f"{FREE_BYTES:,} bytes and {FREE_ROWS:,} rows. If that is right, save it without compression."
    )
