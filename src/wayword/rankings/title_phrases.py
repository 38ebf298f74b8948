"""Phrases of titles that a person would type, by the catalogue's own evidence.

A phrase is one to three neighbouring words of a title. What it is shows where it stands in all titles of the catalogue:

* a noun phrase often ends where its part of the title ends, before punctuation or the end. "browser running", "curses
  based" and adjectives ("graphical") do not: a preposition or a noun follows;
* a whole phrase also begins where a part begins, or after a stop word. "line interface" does not: "command" precedes;
* a phrase that is nearly always part of the same longer one is a fragment of it ("privacy" of "privacy guard");
* the words of a phrase occur together more often than by chance;
* what follows "to" is a verb ("regenerate"), and no query starts with it;
* a phrase around a stop word needs more titles;
* it tells what is wanted if it belongs to some sections of the catalogue ("chess") and not to all ("tool"), and a
  single word if something is called so: it is a word of a name or of a section.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import regex

from wayword.text import normalise

LONGEST = 3
STOP_WORDS = frozenset(
    """
    a an and are as at be but by can for from has in into is it its like many metapackage more most not of on
    or other some such than that the their this to using various via was which while with without you your
    """.split()  # noqa: SIM905 (a list of words, not of strings)
)
LEAST_TITLES = 2
"""Number of titles that share a phrase, at least."""
LEAST_ENDS, LEAST_CLOSED, LEAST_BEGUN = 0.12, 0.4, 0.2
"""Least share of a phrase's occurrences that end a part of a title; that end one or precede a stop word; that begin one
or follow a stop word."""
LEAST_ENDS_ALONE, LEAST_BEGUN_ALONE = 0.25, 0.1
"""The same for a single word: the ends, and the begun."""
LEAST_TITLES_AROUND = 4
"""Number of titles that share a phrase around a stop word ("look and feel"), at least."""
MOST_VERB = 0.15
"""Largest share of the occurrences of a phrase's first word that follow "to"."""
MOST_BEFORE = 0.2
"""Largest share of occurrences within one longer phrase, if a phrase seldom begins a part: many words precede it."""
MOST_WITHIN = 0.75
"""Largest share of a phrase's occurrences within one longer phrase."""
LEAST_LIFT = 1.5
"""How many times as often as by chance the words of a phrase occur together, at least."""
LEAST_SECTION, LEAST_SECTION_ALONE, TOPIC = 0.5, 0.8, 2.0
"""Least divergence of the sections of a phrase's titles from those of all titles, in nats, if it is in `MANY`; of
a single word; of a topic, which may stand before other words too ("chess")."""
MANY, MANY_TITLES = 5, 100
"""Number of titles with a phrase from which its sections are compared, and of titles in all for the test of chance."""
_PARTS = regex.compile(r"[^\w\s'’+#&*@%.-]+|\.(?=\s|$)|\s[-–—]+\s")


def parts_of_title(title: str) -> list[list[str]]:
    """The words of each part of a title, normalised; punctuation separates parts, a hyphen within a word does not.

    >>> parts_of_title("Real-time strategy game (3D), for X.Org")
    [['real', 'time', 'strategy', 'game'], ['3d'], ['for', 'x', 'org']]
    """
    return [words for words, _ in spelt_parts(title)]


def spelt_parts(title: str) -> list[tuple[list[str], list[str]]]:
    """The words of each part of a title, normalised and as they are written.

    >>> spelt_parts("MP3 player (for X.Org)")
    [(['mp3', 'player'], ['MP3', 'player']), (['for', 'x', 'org'], ['for', 'X.Org'])]
    """
    return [(words, part.split()) for part in _PARTS.split(title) if (words := normalise(part).split())]


@dataclass
class _Occurrences:
    """Counts of one phrase."""

    titles: int = 0
    times: int = 0
    ends: int = 0
    closed: int = 0
    begun: int = 0
    verb: int = 0


class TitlePhrases:
    """The phrases of the titles of a catalogue that a person would type."""

    def __init__(
        self, titles: Sequence[str], sections: Sequence[str] | None = None, names: Sequence[str] | None = None
    ) -> None:
        """Count the phrases of the distinct titles; without sections or names single words are not judged by them."""
        kept = dict(zip(titles, sections or [""] * len(titles), strict=True))
        self._found: dict[str, _Occurrences] = {}
        self._longer: dict[str, Counter[str]] = {}
        self._sections: dict[str, Counter[str]] = {}
        self._all = Counter(kept.values())
        self._named = (
            None
            if names is None
            else {word for name in (*names, *self._all) for word in normalise(name).split()}
        )
        for title, section in kept.items():
            self._count(parts_of_title(title), section)

    def _count(self, parts: list[list[str]], section: str) -> None:
        seen: set[str] = set()
        for words in parts:
            for phrase, start, end in _runs(words):
                found = self._found.setdefault(phrase, _Occurrences())
                found.titles += phrase not in seen
                found.ends += end == len(words)
                found.closed += end == len(words) or words[end] in STOP_WORDS
                found.begun += start == 0 or words[start - 1] in STOP_WORDS
                found.verb += start > 0 and words[start - 1] == "to"
                found.times += 1
                seen.add(phrase)
                longer = self._longer.setdefault(phrase, Counter())
                if start > 0 and words[start - 1] not in STOP_WORDS:
                    longer[f"{words[start - 1]} {phrase}"] += 1
                if end < len(words) and words[end] not in STOP_WORDS:
                    longer[f"{phrase} {words[end]}"] += 1
                self._sections.setdefault(phrase, Counter())[section] += 1

    def of_title(self, title: str) -> list[str]:
        """The distinct phrases of a title that a person would type, the shortest first.

        >>> titles = ["Video player", "the player of video", "Mail reader for X", "mail reader, running on X"]
        >>> phrases = TitlePhrases(titles)
        >>> phrases.of_title("Video player with a mail reader")
        ['video', 'player', 'mail reader']
        """
        found = [phrase for words in parts_of_title(title) for phrase, _, _ in _runs(words)]
        return sorted(filter(self.typed, dict.fromkeys(found)), key=lambda phrase: phrase.count(" "))

    def typed(self, phrase: str) -> bool:
        """Whether a person would type the phrase, by the evidence above."""
        found = self._found.get(phrase)
        if found is None or found.titles < LEAST_TITLES:
            return False
        alone, n = " " not in phrase, found.times
        longer = max(self._longer[phrase].values(), default=0)
        first = self._found[phrase.split(maxsplit=1)[0]]
        sections = self._divergence(phrase)
        whole = (
            found.ends >= (LEAST_ENDS_ALONE if alone else LEAST_ENDS) * n and found.closed >= LEAST_CLOSED * n
        )
        begun = found.begun >= (LEAST_BEGUN_ALONE if alone else LEAST_BEGUN) * n or longer <= MOST_BEFORE * n
        return (
            (whole or (alone and sections >= TOPIC and n >= MANY))
            and begun
            and longer <= MOST_WITHIN * n
            and first.verb <= MOST_VERB * first.times
            and sections >= (LEAST_SECTION_ALONE if alone else LEAST_SECTION)
            and (self._named is None or phrase in self._named if alone else self._together(phrase, found))
        )

    def _together(self, phrase: str, found: _Occurrences) -> bool:
        """Whether the first and the last word occur together more often than by chance."""
        words = phrase.split()
        if not STOP_WORDS.isdisjoint(words) and found.titles < LEAST_TITLES_AROUND:
            return False
        left, right, total = (
            self._found[words[0]].titles,
            self._found[words[-1]].titles,
            sum(self._all.values()),
        )
        return total < MANY_TITLES or found.titles * total >= LEAST_LIFT * left * right

    def _divergence(self, phrase: str) -> float:
        """Kullback-Leibler divergence of the sections of the phrase's titles, less what it is by chance."""
        counts = self._sections[phrase]
        n, total = sum(counts.values()), sum(self._all.values())
        if n < MANY or len(self._all) < 2:
            return LEAST_SECTION_ALONE
        found = sum(c / n * log(c / n * total / self._all[section]) for section, c in counts.items())
        return found - (len(counts) - 1) / (2 * n)


def _runs(words: list[str]) -> list[tuple[str, int, int]]:
    """(phrase, start, end) of one to three neighbouring words; neither end is a stop word, a letter or a number.

    >>> [phrase for phrase, _, _ in _runs(["player", "of", "video"])]
    ['player', 'video', 'player of video']
    """
    return [
        (" ".join(words[start : start + length]), start, start + length)
        for length in range(1, LONGEST + 1)
        for start in range(len(words) - length + 1)
        if _is_content_word(words[start]) and _is_content_word(words[start + length - 1])
    ]


def _is_content_word(word: str) -> bool:
    return len(word) > 1 and word not in STOP_WORDS and not word.isdigit()
