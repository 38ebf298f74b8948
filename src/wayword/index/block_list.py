"""Block list: words and patterns whose queries are never shown; a file that is read again while serving.

One entry per line; empty lines and lines that start with `#` are skipped. A word or several words match whole words of
the normalised query, in their order; in scripts without spaces they match anywhere. `/…/` is a regular expression that
is searched for in the normalised query. `@english` includes the English list of the extra `words`, and `!entry` takes
an entry back. A JSON file has a list of words, itself or under `words`: the form in which packages bring their lists
along.
"""

import json
import logging
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import regex

from wayword.errors import MissingExtra, WaywordError
from wayword.store.regular_file import read_regular
from wayword.text import normalise

FILE = "block.txt"
"""Beside the versions of an index; effective without training."""
ENGLISH, INCLUDE = "english", "@english"
"""The name of the English list, in the place of a file, and as a line of a file."""
LARGEST_FILE, MOST_LINES, LONGEST_LINE = 10_000_000, 200_000, 1000
"""Limits of a file: bytes, lines, characters of a line."""
MOST_PATTERNS = 1000
TIME = 0.02
"""Seconds for one pattern in one query; a query that takes longer is blocked."""
MOST_TIMEOUTS = 20
"""A pattern that takes longer more often is ignored, with a warning."""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
logger = logging.getLogger("wayword")


@dataclass(frozen=True)
class BlockList:
    """Normalised single `words`, `phrases` of several words, texts of scripts without spaces (`anywhere`), patterns."""

    words: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    patterns: tuple[regex.Pattern[str], ...] = ()
    tag: str = field(default="", compare=False)
    """Checksum of the file."""

    @classmethod
    def named(cls, name: str, *, needed: bool = False) -> "BlockList":
        """Read the list that `[index] block` names; see `file_of`. The English one has to be there."""
        return cls.load(file_of(name), needed=needed or name == ENGLISH)

    @classmethod
    def load(cls, file: Path, *, needed: bool = False) -> "BlockList":
        """Read a file; without one nothing is blocked, unless it is `needed`."""
        try:
            content = read_regular(file, LARGEST_FILE)
        except FileNotFoundError:
            if not needed:
                return cls()
            raise WaywordError(f"There is no block list {file}. Check `block` in [index].") from None
        except (OSError, ValueError) as problem:
            raise WaywordError(
                f"Cannot read the block list {file}: {problem}. Expected UTF-8, an entry per line."
            ) from problem
        return cls.parse(_lines_of_json(content, file) if file.suffix == ".json" else content, str(file))

    @classmethod
    def parse(cls, content: str, where: str = "the block list") -> "BlockList":
        """Read the lines.

        >>> blocked = BlockList.parse("# rude\\nDarn\\nholy cow\\n/^x{3}/\\n")
        >>> [blocked.matches(text) for text in ("a darn shame", "darned", "wholy cow", "the holy cow", "xxx")]
        [True, False, False, True, True]
        """
        lines = content.lstrip("\ufeff").splitlines()
        if len(lines) > MOST_LINES:
            raise WaywordError(f"Found {len(lines):,} lines in {where}; expected at most {MOST_LINES:,}.")
        texts, free, patterns, included = set[str](), set[str](), list[regex.Pattern[str]](), cls()
        for number, line in enumerate(lines, start=1):
            entry = line.strip()
            if not entry or entry.startswith("#"):
                continue
            if len(entry) > LONGEST_LINE:
                raise WaywordError(
                    f"Found {len(entry):,} characters in line {number} of {where}; expected at most {LONGEST_LINE:,}."
                )
            if entry == INCLUDE:
                included = cls.named(ENGLISH)
            elif entry.startswith("/") and entry.endswith("/") and len(entry) > 2:
                patterns.append(_pattern(entry[1:-1], number, where))
            elif text := normalise(entry):
                (free if entry.startswith("!") else texts).add(text)
        if len(patterns) > MOST_PATTERNS:
            raise WaywordError(
                f"Found {len(patterns):,} patterns in {where}; expected at most {MOST_PATTERNS:,}."
            )
        tag = f"{zlib.crc32((content + included.tag).encode()):08x}"
        return cls._of((texts | included.texts) - free, patterns, tag)

    @classmethod
    def _of(cls, texts: set[str], patterns: list[regex.Pattern[str]], tag: str) -> "BlockList":
        """Sort normalised texts by how they match."""
        anywhere = {text for text in texts if _UNSPACED.search(text)}
        phrases = {text for text in texts - anywhere if " " in text}
        words = frozenset(texts - anywhere - phrases)
        return cls(words, tuple(sorted(phrases)), tuple(sorted(anywhere)), tuple(patterns), tag)

    @property
    def texts(self) -> set[str]:
        """All entries that are no patterns."""
        return {*self.words, *self.phrases, *self.anywhere}

    def __bool__(self) -> bool:
        """Whether anything is blocked."""
        return bool(self.words or self.phrases or self.anywhere or self.patterns)

    def matches(self, text: str) -> bool:
        """Whether a normalised query is blocked."""
        return bool(self.places([text]))

    def places(self, texts: Iterable[str]) -> list[int]:
        """The places of the blocked ones of normalised queries."""
        if not self:
            return []
        patterns = dict.fromkeys(self.patterns, 0)
        return [place for place, text in enumerate(texts) if self._blocked(text, patterns)]

    def _blocked(self, text: str, patterns: dict[regex.Pattern[str], int]) -> bool:
        if self.words and not self.words.isdisjoint(text.split()):
            return True
        if self.phrases and any(f" {phrase} " in f" {text} " for phrase in self.phrases):
            return True
        return any(part in text for part in self.anywhere) or _found(text, patterns)


def file_of(name: str) -> Path:
    """The file of a block list: the path itself, or for `english` the file in the package of the extra `words`.

    The package is not imported; its file is watched as any other, so that an update of it takes effect.
    """
    if name != ENGLISH:
        return Path(name)
    package = find_spec("glin_profanity")
    if package is None or package.origin is None:
        raise MissingExtra("words", 'The block list "english"')
    return Path(package.origin).parent / "data" / "dictionaries" / "english.json"


def _lines_of_json(content: str, file: Path) -> str:
    """The words of a JSON file, one per line."""
    try:
        given = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise WaywordError(f"Cannot read the block list {file}: {problem}.") from problem
    words = given.get("words") if isinstance(given, dict) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise WaywordError(f"Found no list of words in {file}; expected one, itself or under the key words.")
    return "\n".join(" ".join(word.split()) for word in words)


def _found(text: str, patterns: dict[regex.Pattern[str], int]) -> bool:
    """Whether a pattern is found; `patterns` counts how often each took too long."""
    for pattern, timeouts in list(patterns.items()):
        try:
            if pattern.search(text, timeout=TIME):
                return True
        except TimeoutError:
            patterns[pattern] = timeouts + 1
            if patterns[pattern] > MOST_TIMEOUTS:
                logger.warning(
                    "The pattern /%s/ of the block list takes too long and is ignored.", pattern.pattern
                )
                del patterns[pattern]
            return True
    return False


def _pattern(expression: str, number: int, where: str) -> regex.Pattern[str]:
    try:
        return regex.compile(expression, regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError, MemoryError) as problem:
        raise WaywordError(
            f"Found /{expression[:100]}/ in line {number} of {where}; expected a regular expression: {problem}."
        ) from problem
