"""Sources: the files of an import, found in folders and by patterns, decompressed, and as UTF-8.

What a file is, its first bytes say, not its name.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from wayword.engines import limits
from wayword.errors import LogError
from wayword.logs.importers import encoding
from wayword.store.input_file import InputFile

ENDINGS = (".csv", ".tsv", ".txt", ".psv", ".json", ".jsonl", ".ndjson", ".parquet")
COMPRESSED = (".gz", ".zst", ".zstd")
PARQUET, JSON, CSV = "parquet", "json", "csv"
_MAGIC = {b"PAR1": PARQUET, b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"BZh": "bzip2; decompress it",
    b"\xfd7zXZ": "xz; decompress it",
    b"SQLite": "a SQLite database; export the table as CSV",
    b"Obj\x01": "Avro; export Parquet or JSON Lines",
    b"ORC": "ORC; export Parquet",
}
MOST_OPEN = 200
"""Files that are kept open, so that nobody can replace them while they are read."""
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Source:
    """A file: `path` as people know it, `plain` to read it (UTF-8 if it is text), its kind, and its number of lines."""

    path: Path
    plain: Path
    kind: str
    lines: int
    notes: tuple[str, ...]
    opened: InputFile | None = None


def find(inputs: Sequence[Path | str]) -> list[Path]:
    """The files of the inputs (files, folders, patterns such as `logs/*.csv.gz`), each once, in order."""
    found = [file for given in inputs for file in _files(Path(given))]
    return list({file.resolve(): file for file in reversed(found)}.values())[::-1]


def _files(given: Path) -> list[Path]:
    if given.is_dir():
        files = [file for file in sorted(given.rglob("*")) if file.is_file() and _is_ours(file, given)]
        if files:
            return files
        raise LogError(
            f"There is no log in {given}: no file in it ends in {', '.join(ENDINGS)} (or {', '.join(COMPRESSED)} after "
            "that). Name the files."
        )
    if given.exists():
        return [given]
    start = Path(given.anchor)
    matching = sorted(start.glob(str(given.relative_to(given.anchor)))) if _is_pattern(given) else []
    if not matching:
        raise LogError(f"There is no file or folder {given}, and nothing matches it as a pattern.")
    return [file for each in matching for file in (_files(each) if each.is_dir() else [each])]


def _is_pattern(given: Path) -> bool:
    return any(character in str(given) for character in "*?[")


def _is_ours(file: Path, folder: Path) -> bool:
    if any(part.startswith((".", "_")) for part in file.relative_to(folder).parts):
        return False
    plain = file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
    return plain.suffix.lower() in (*ENDINGS, "") or plain.suffix[1:].isdigit()


def read(path: Path, number: int, folder: Path, *, given: str | None, partial: bool) -> Source | None:
    """Make a file readable, in `folder` if it must be decompressed or rewritten; None if it is empty."""
    file = InputFile(path)
    if not file.size:
        return None
    start = _start(file.opened)
    kind = _magic(path, start)
    notes: list[str] = []
    plain = folder / f"{number}.{kind}"
    if kind in ("gzip", "zstd"):
        plain = folder / f"{number}.plain"
        notes += _decompress(file, kind, plain, partial=partial)
        if not plain.stat().st_size:
            return None
        kind = _magic(path, _start(plain))
    else:
        # A link, since engines interpret characters such as * in a path; to the open file, unless there are many.
        plain.symlink_to(file.opened if number < MOST_OPEN else path.resolve())
    if kind == PARQUET:
        return Source(path, plain, kind, 0, tuple(notes), file if number < MOST_OPEN else None)
    text = encoding.look(plain, shown=path, encoding=given)
    lines = text.lines
    if text.encoding != encoding.UTF8 or not text.equal_ends or given is not None:
        rewritten = folder / f"{number}.utf8"
        lines = encoding.write_utf8(plain, text, rewritten, shown=path)
        plain.unlink()
        plain = rewritten
    notes += [text.note] if text.note else []
    return Source(path, plain, _text_kind(plain), lines, tuple(notes), file if number < MOST_OPEN else None)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)


def _magic(path: Path, start: bytes) -> str:
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise LogError(f"{path} is {what}. Expected CSV, JSON Lines or Parquet, plain, gzip or zstd.")
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "text")


def _text_kind(plain: Path) -> str:
    start = _start(plain).removeprefix(b"\xef\xbb\xbf").lstrip()
    return JSON if start.startswith((b"{", b"[")) else CSV


def _decompress(file: InputFile, kind: str, out: Path, *, partial: bool) -> list[str]:
    """Decompress into a file; of a truncated one, with `partial`, the whole lines."""
    most = max(limits.FREE_BYTES, limits.EXPANSION * file.size)
    size = lines = 0
    try:
        with out.open("wb") as plain:
            for chunk in _chunks(file.opened, kind):
                plain.write(chunk)
                size, lines = size + len(chunk), lines + chunk.count(b"\n")
                if size > most:
                    raise LogError(
                        f"{file} has {file.size:,} bytes and expands to more than {most:,}; expected less. If that is "
                        "right, decompress it first."
                    )
    except (EOFError, OSError, zlib.error) as problem:
        if isinstance(problem, OSError) and problem.errno is not None:
            raise
        if not partial:
            raise LogError(
                f"{file}:{lines + 1}: the compressed data is truncated or damaged here, after {lines:,} whole lines "
                f"({problem}); expected a complete {kind} file. Copy it again, or give --partial to import the whole "
                "lines before it."
            ) from problem
        _cut_to_lines(out)
        return [f"{file} is truncated: only the {lines:,} whole lines before its end are read"]
    return []


def _chunks(path: Path, kind: str) -> Iterator[bytes]:
    stream: IO[bytes] | Any
    with gzip.open(path) if kind == "gzip" else _zstd(path) as stream:
        while chunk := stream.read1(_CHUNK) if kind == "gzip" else stream.read(_CHUNK):
            yield chunk


def _zstd(path: Path) -> Any:
    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


def _cut_to_lines(path: Path) -> None:
    """Remove an unfinished last line."""
    with path.open("rb+") as file:
        end = file.seek(0, 2)
        while end:
            begin = max(0, end - _CHUNK)
            file.seek(begin)
            place = file.read(end - begin).rfind(b"\n")
            if place >= 0:
                file.truncate(begin + place + 1)
                return
            end = begin
        file.truncate(0)
