"""The encoding and the line ends of a text file: found by looking at every byte, and made UTF-8 where they differ."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wayword.errors import LogError
from wayword.logs.importers import legacy_encodings

BLOCK = 1 << 23
"""Bytes that are looked at together."""
UTF8 = "utf-8"
WESTERN = "windows-1252"
"""What is assumed of text that is not UTF-8: latin-1 with the characters that Windows adds."""
_MARKS = {
    codecs.BOM_UTF8: UTF8,
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LOOKED_AT = 10_000
"""Lines with other characters than ASCII by which an encoding is judged."""


@dataclass(frozen=True)
class Text:
    """What the bytes of a file are: their encoding, whether line ends must be made equal, and the number of lines.

    `note` says what a person should know about it.
    """

    encoding: str
    equal_ends: bool
    lines: int
    note: str | None = None


def look(path: Path, *, shown: Path, encoding: str | None = None) -> Text:
    """Find the encoding, or check the given one; `shown` is the name of the file in messages."""
    if encoding is not None:
        return Text(_known(encoding), _ends_equal(path), _lines(path))
    with path.open("rb") as file:
        start = file.read(4096)
    for mark, name in _MARKS.items():
        if start.startswith(mark) and name != UTF8:
            return Text(name, False, 0, f"{shown} is {name.upper()}")
    if wide := _wide(start):
        return Text(wide, False, 0, f"{shown} is {wide.upper()} without a mark")
    ends = _Ends()
    suspect: tuple[int, bytes] | None = None
    rest = b""
    for block in _blocks(path):
        if suspect is None and not block.isascii():
            text = rest + block
            cut = text.rfind(b"\n") + 1
            if bad := _not_utf8(text[:cut] or text):
                suspect = (ends.feeds + bad[0] - rest.count(b"\n"), bad[1])
            rest = text[cut:] if suspect is None else b""
        else:
            rest = block[block.rfind(b"\n") + 1 :] if b"\n" in block else rest + block
        ends.add(block)
    if suspect is None and rest and (bad := _not_utf8(rest)):
        suspect = (ends.feeds + 1, bad[1])
    if suspect is None or not _is_western(path):
        note = (
            f"{shown} has lines that end in different ways (\\n, \\r\\n or \\r); all are line ends"
            if ends.mixed
            else None
        )
        return Text(UTF8, not ends.mixed, ends.feeds, note)
    line, found = suspect
    name = legacy_encodings.likeliest(_odd_lines(path), shown=shown)
    return Text(
        name,
        not ends.mixed,
        ends.feeds,
        f"{shown} is not UTF-8 (line {line:,}): it is read as {'latin-1 (' * (name == WESTERN)}{name}"
        f"{')' * (name == WESTERN)}, which makes that line {_first_line(found, name)!r}. "
        "If that is wrong, give --encoding",
    )


def write_utf8(path: Path, text: Text, out: Path, *, shown: Path) -> int:
    """Write a file as UTF-8 with lines that end in a line feed; the number of lines."""
    decoder = codecs.getincrementaldecoder(text.encoding)("strict")
    lines, carried, start = 0, "", True
    with out.open("wb") as file:
        for block in _then_end(path):
            try:
                decoded = carried + decoder.decode(block, final=not block)
            except UnicodeDecodeError as problem:
                if text.encoding == WESTERN:
                    decoded = carried + block.decode("latin-1")
                elif text.note:  # found, not given
                    decoded = carried + block.decode(text.encoding, "replace")
                else:
                    raise LogError(
                        f"{shown}: the bytes {problem.object[problem.start : problem.end]!r} in line {lines + 1:,} or "
                        f"after it are not {text.encoding} ({problem.reason}); expected text in {text.encoding}. Give "
                        "another --encoding, or none: then it is found."
                    ) from problem
            carried = "\r" if decoded.endswith("\r") and block else ""
            decoded = decoded.removesuffix(carried)
            if start and decoded:
                decoded, start = decoded.removeprefix("\ufeff"), False
            made = decoded.replace("\r\n", "\n").replace("\r", "\n")
            lines += made.count("\n")
            file.write(made.encode("utf-8", "surrogatepass"))
    return lines


def _then_end(path: Path) -> Iterator[bytes]:
    yield from _blocks(path)
    yield b""


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _known(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise LogError(
            f"Found --encoding {encoding}; expected one such as utf-8, latin-1, windows-1252 or utf-16."
        ) from None
    return WESTERN if name == "iso8859-1" else name


def _wide(start: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin text is NUL.

    >>> _wide("query;rank".encode("utf-16-le")), _wide(b"query;rank")
    ('utf-16-le', None)
    """
    pairs = len(start) // 2
    if not pairs:
        return None
    low, high = start[1::2].count(0) / pairs, start[0::2].count(0) / pairs
    return "utf-16-le" if low > 0.4 > high else "utf-16-be" if high > 0.4 > low else None


def _not_utf8(text: bytes) -> tuple[int, bytes] | None:
    """The first line that is not UTF-8: its number from 1, and its bytes."""
    try:
        text.decode(UTF8)
    except UnicodeDecodeError as problem:
        begin = text.rfind(b"\n", 0, problem.start) + 1
        end = text.find(b"\n", problem.start)
        return text.count(b"\n", 0, problem.start) + 1, text[begin : end if end >= 0 else None]
    return None


def _is_western(path: Path) -> bool:
    """Whether most of the first lines with other characters than ASCII are no UTF-8: then the whole file is not."""
    valid = invalid = 0
    for block in _blocks(path):
        if block.isascii():
            continue
        for line in block.split(b"\n"):
            if not line.isascii():
                bad = _not_utf8(line) is not None
                valid, invalid = valid + (not bad), invalid + bad
        if valid + invalid > _LOOKED_AT:
            break
    return invalid > valid


def _first_line(found: bytes, encoding: str) -> str:
    return found.decode(encoding, "replace").splitlines()[0].strip()[:100]


def _odd_lines(path: Path) -> list[bytes]:
    """The first lines with other characters than ASCII."""
    for block in _blocks(path):
        if found := [line for line in block.split(b"\n") if not line.isascii()]:
            return found[:_LOOKED_AT]
    return []


class _Ends:
    """Counts line ends."""

    def __init__(self) -> None:
        self.feeds = self._returns = self._both = 0
        self._cut = False

    def add(self, block: bytes) -> None:
        """Count those of a block."""
        self.feeds += block.count(b"\n")
        if b"\r" in block:  # seldom, and sooner known than their number
            self._returns += block.count(b"\r")
            self._both += block.count(b"\r\n")
        if self._cut and block.startswith(b"\n"):
            self._both += 1
        self._cut = block.endswith(b"\r")

    @property
    def mixed(self) -> bool:
        """Whether not all lines end alike, or none with a line feed."""
        return bool(self._returns) and not self.feeds == self._returns == self._both


def _ends_equal(path: Path) -> bool:
    ends = _Ends()
    for block in _blocks(path):
        ends.add(block)
    return not ends.mixed


def _lines(path: Path) -> int:
    return sum(block.count(b"\n") for block in _blocks(path))
