"""The texts where the served lists help people most, and where they hurt, each list beside most popular completion."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wayword.completion.completion import Completion
from wayword.report.text_gains import TextGain, TextGains
from wayword.serving.completer import PINNED, Served
from wayword.store.compressed_rows import WeightedRows
from wayword.text import normalise

MOST = 20
"""Texts of each kind."""
LISTED, TITLES = 5, 3
"""Suggestions of a list, and results of a suggestion, that are named."""
LONGEST = 80
"""Characters of a text that are shown."""


@dataclass(frozen=True)
class Suggestion:
    """A suggested query, the first results of its page, and the share of what people want that the page shows: 1 is as
    much as they find by typing on. None where the index has no page for it."""

    query: str
    titles: list[str]
    wanted: float | None
    pinned: bool = False


@dataclass(frozen=True)
class Example:
    """A typed text, what the served list gains there, and both lists."""

    gain: TextGain
    text: str
    ours: list[Suggestion]
    popular: list[Suggestion]


def helped_and_hurt(found: TextGains, served: Served) -> tuple[list[Example], list[Example]]:
    """The texts with the largest gains, and with the largest losses, which come first in their list."""
    best = [one for one in found.gains if one.net > 0][:MOST]
    worst = [one for one in reversed(found.gains) if one.net < 0][:MOST]
    return [_example(one, served) for one in best], [_example(one, served) for one in worst]


def _example(gain: TextGain, served: Served) -> Example:
    ours, popular = served.complete(gain.text, LISTED), served.popular(gain.text, LISTED)
    numbers = {one.query: _number(one.query, served) for one in (*ours, *popular)}
    wanted = _wanted(gain.text, [number for number in numbers.values() if number is not None], served)

    def suggestions(listed: Sequence[Completion]) -> list[Suggestion]:
        return [
            Suggestion(
                shortened(one.query),
                _titles(numbers[one.query], served),
                wanted.get(numbers[one.query] or 0) if numbers[one.query] is not None else None,
                one.source == PINNED,
            )
            for one in listed
        ]

    return Example(gain, shortened(gain.text), suggestions(ours), suggestions(popular))


def shortened(text: str) -> str:
    """A text of a bounded length.

    >>> len(shortened("a" * 1000)), shortened("tv")
    (80, 'tv')
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _number(query: str, served: Served) -> int | None:
    return min(served.index.numbers([normalise(query)]), default=None)


def _titles(number: int | None, served: Served) -> list[str]:
    """The titles of the first results, or the names of those without one."""
    if number is None:
        return []
    pages = served.index.pages
    documents = [pages.document(result.number) for result in pages.of_query(number)][:TITLES]
    return [shortened(document.title or document.document) for document in documents]


def _wanted(text: str, numbers: Sequence[int], served: Served) -> dict[int, float]:
    """û of each query for those who typed the text, by the learned demand: 1 is as useful as to type on."""
    retriever, columns = served.index.retriever, served.index.columns
    asked = columns.table([text], {})
    among = np.unique(np.array(numbers, np.int32))
    within = WeightedRows.single(among, np.ones(len(among), np.float32))
    scored = retriever.score(asked, retriever.intents(asked), max(len(among), 1), within=within)
    known = dict.fromkeys(among.tolist(), 0.0)
    return known | dict(zip(scored.query.tolist(), scored.score.tolist(), strict=True))
