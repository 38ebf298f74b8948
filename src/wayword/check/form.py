"""The form of a text file, read once as bytes: its encoding, its line ends and what separates its columns."""

import codecs
import gzip
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from wayword.engines import files
from wayword.errors import LogError
from wayword.store.input_file import InputFile

READ_SIZE = 1 << 20
_KINDS = (b"\n", b"\r", b"\r\n")
ENDS = {b"\n": "LF", b"\r\n": "CRLF", b"\r": "CR"}
_END = re.compile(rb"\r\n|\n|\r")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass
class TextForm:
    """What the bytes of a file say about it; filled by `scan`."""

    encoding: str = "utf-8"
    not_utf8: int | None = None
    """The first line that is not UTF-8."""
    ends: Counter[bytes] = field(default_factory=Counter)
    """Line ends outside quotes, by kind."""
    mixed: int | None = None
    """The first line that ends otherwise than the first."""
    quoted_ends: int = 0
    """Line breaks inside quotes."""
    header: str = ""
    unfinished: bool = False
    """The last line has no end."""

    @property
    def lines(self) -> int:
        """Number of lines outside quotes."""
        return self.ends.total() + self.unfinished


def scan(file: InputFile, *, quotes: bool) -> TextForm:
    """Read a file once, in pieces. With `quotes`, a line break between double quotes ends no line."""
    form = TextForm()
    try:
        with gzip.open(file.opened) if files.is_compressed(file.path) else file.opened.open("rb") as stream:
            _scan(stream, form, quotes=quotes)
    except (OSError, EOFError, zlib.error) as problem:
        raise LogError(f"Cannot read {file}: {problem}. Copy or export it again.") from problem
    return form


def _scan(stream: "gzip.GzipFile | BinaryIO", form: TextForm, *, quotes: bool) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    first, inside, rest, head = b"", False, b"", b""
    while piece := stream.read(READ_SIZE):
        if not head and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            form.encoding, form.not_utf8 = "utf-16", 1
            form.header = (piece + stream.readline()).decode("utf-16", "replace").splitlines()[0]
            return
        if len(head) < files.LONGEST_HEADER:
            head += piece
        if form.not_utf8 is None:
            _decode(decoder, piece, form)
        data, rest = rest + piece, b""
        if data.endswith(b"\r"):  # its other half may come
            data, rest = data[:-1], b"\r"
        first, inside = _count_ends(data, form, first, inside, quotes=quotes)
        form.unfinished = not (data + rest).endswith((b"\n", b"\r"))
    _count_ends(rest, form, first, inside, quotes=quotes)
    text = head.decode("utf-8-sig" if form.not_utf8 is None else "latin-1", "replace")
    form.header = text.splitlines()[0] if text else ""


def _decode(decoder: codecs.IncrementalDecoder, piece: bytes, form: TextForm) -> None:
    """Note the first line that is not UTF-8."""
    if piece.isascii() and not decoder.getstate()[0]:
        return
    try:
        decoder.decode(piece)
    except UnicodeDecodeError as problem:
        before = form.ends.total() + form.quoted_ends
        form.encoding, form.not_utf8 = "latin-1", before + len(_END.findall(piece[: problem.start])) + 1


def _count_ends(
    data: bytes, form: TextForm, first: bytes, inside: bool, *, quotes: bool
) -> tuple[bytes, bool]:
    """Count the line ends of a piece; returns the kind of the first one, and whether a quote is open at its end."""
    crlf, lf, cr = data.count(b"\r\n"), data.count(b"\n"), data.count(b"\r")
    kinds = Counter({b"\r\n": crlf, b"\n": lf - crlf, b"\r": cr - crlf})
    if not first and (found := _END.search(data)):
        first = found[0]
    quoted = quotes and (inside or b'"' in data)
    if not quoted and kinds.total() == kinds[first]:
        form.ends += kinds
        return first, inside
    before = form.ends.total() + form.quoted_ends
    values = np.frombuffer(data, np.uint8)
    open_at = ((np.cumsum(values == ord('"')) + inside) % 2 == 1) if quoted else np.zeros(len(values), bool)
    returns, feeds = values == ord("\r"), values == ord("\n")
    pairs = returns & np.r_[feeds[1:], False]
    ends = np.flatnonzero(returns | (feeds & ~np.r_[False, returns[:-1]]))
    kind = np.where(pairs[ends], 2, np.where(returns[ends], 1, 0))
    outside = ~open_at[ends]
    for number, end in enumerate(_KINDS):
        form.ends[end] += int((outside & (kind == number)).sum())
    form.quoted_ends += int((~outside).sum())
    other = np.flatnonzero(outside & (kind != _KINDS.index(first))) if first else ends[:0]
    if form.mixed is None and len(other):
        form.mixed = before + int(other[0]) + 1
    return first, bool(open_at[-1]) if len(open_at) else inside
