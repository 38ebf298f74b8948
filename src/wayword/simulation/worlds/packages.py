"""`packages`: people search for programs in a small catalogue. 60,000 clicks are enough to learn from.

A person wants one of the 3,000 end-user packages that most others relate to, drawn in proportion to the
square root of how many do. They type its name, or a phrase of one to three neighbouring words of its title
that another title shares and that people would type (`title_phrases`). The ranker is BM25 over names and titles;
rankings are collected for the logged queries. The context column is the section of the wanted package.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex
from numpy.typing import NDArray

from wayword.progress import SILENT, Progress
from wayword.rankings.bm25 import rank_with_bm25
from wayword.rankings.title_phrases import TitlePhrases
from wayword.simulation.catalogue import related_counts
from wayword.simulation.world import Intents, World
from wayword.text import normalise

SIZE = 3000
NAME_SHARE = 0.3
"""Probability of typing the name; 1 if the title shares no phrase."""
PHRASE_SHARES = {1: 0.25, 2: 0.5, 3: 0.25}
"""Probability of a phrase's number of words, among the lengths of the title's phrases; uniform within a length."""
SECTIONS = frozenset(
    """
    comm database editors education electronics games gnome graphics hamradio kde mail math net news science
    shells sound text utils vcs video web x11 xfce
    """.split()  # noqa: SIM905 (a list of words, not of strings)
)
_NOT_A_PROGRAM = regex.compile(
    r"^(lib|python3?-|fonts-|ttf-|xfonts-|task-|elpa-|gir1)"
    r"|-(dev|docs?|data|dbg|common|examples|l10n|i18n|locales?|lang|plugins?|dkms|bin|core|base|music|sounds?)(-|$)"
    r"|[.]|-.*-|-\d+$"  # parts and versions of a program: nobody types such a name
)
_NOT_FOR_PEOPLE = regex.compile(
    r"transitional|dummy|data files|documentation|debug|common files|architecture.independent|shared librar",
    regex.IGNORECASE,
)


def packages_world(
    catalogue: pa.Table,
    *,
    size: int = SIZE,
    depth: int = 100,
    progress: Progress = SILENT,
) -> World:
    """Build the world from a catalogue."""
    documents, counts = _programs(catalogue, size)
    distributions = query_probabilities(
        documents["document"].to_pylist(), documents["title"].to_pylist(), catalogue_phrases(catalogue)
    )
    queries = list(dict.fromkeys(query for distribution in distributions for query in distribution))
    intents = _intents(distributions, queries, np.sqrt(counts))
    return World(
        documents=documents,
        queries=pa.array(queries, pa.string()),
        rankings=rank_with_bm25(documents, queries, depth=depth, progress=progress),
        intents=intents,
        depth=depth,
        rankings_of="logged",
        context_values=documents["section"].combine_chunks().take(pa.array(intents.document)),
    )


def _programs(catalogue: pa.Table, size: int) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the end-user packages with the most related packages, most first, then by name; and their counts."""
    counts = related_counts(catalogue)
    names, titles, sections = (catalogue[column].to_pylist() for column in ("package", "title", "section"))
    rows = [n for n in range(len(names)) if counts[n] and is_program(names[n], titles[n], sections[n])]
    rows = sorted(rows, key=lambda n: (-counts[n], names[n]))[:size]
    chosen = catalogue.take(pa.array(rows, pa.int64())).select(["package", "title", "section"])
    return chosen.rename_columns(["document", "title", "section"]).combine_chunks(), counts[rows]


def is_program(name: str, title: str, section: str) -> bool:
    """Return whether section, name and title are those of an end-user program.

    >>> is_program("mpv", "video player based on MPlayer/mplayer2", "video")
    True
    >>> is_program("libmpv2", "video player based on MPlayer/mplayer2 (client library)", "libs")
    False
    """
    return section in SECTIONS and not _NOT_A_PROGRAM.search(name) and not _NOT_FOR_PEOPLE.search(title)


def catalogue_phrases(catalogue: pa.Table) -> TitlePhrases:
    """Return the phrases of a catalogue's titles in the sections of programs."""
    chosen = catalogue.filter(pc.is_in(catalogue["section"], value_set=pa.array(sorted(SECTIONS))))
    names, titles, sections = (chosen[column].to_pylist() for column in ("package", "title", "section"))
    return TitlePhrases(titles, sections, names)


def query_probabilities(
    names: list[str], titles: list[str], phrases: TitlePhrases | None = None
) -> list[dict[str, float]]:
    """Return for each document the probability of each query of a person who wants it.

    The phrases are those of a catalogue, or of these titles.

    >>> distributions = query_probabilities(["mpv", "vlc", "ed"], ["video player", "the player of video", "editor"])
    >>> distributions[0] == {"mpv": 0.3, "video": 0.7 / 2, "player": 0.7 / 2}
    True
    >>> distributions[2]
    {'ed': 1.0}
    """
    typed = TitlePhrases(titles) if phrases is None else phrases
    return [
        _query_distribution(normalise(name), typed.of_title(title))
        for name, title in zip(names, titles, strict=True)
    ]


def _query_distribution(name: str, phrases: list[str]) -> dict[str, float]:
    if not phrases:
        return {name: 1.0}
    lengths = Counter(len(phrase.split()) for phrase in phrases)
    offered = sum(PHRASE_SHARES[length] for length in lengths)
    probability = {name: NAME_SHARE}
    for phrase in phrases:
        length = len(phrase.split())
        share = (1 - NAME_SHARE) * PHRASE_SHARES[length] / offered / lengths[length]
        probability[phrase] = probability.get(phrase, 0.0) + share
    return probability


def _intents(
    distributions: list[dict[str, float]], queries: list[str], demand: NDArray[np.float64]
) -> Intents:
    """Build one intent per document and query, with that document as the only relevant one."""
    place = {query: number for number, query in enumerate(queries)}
    document = np.repeat(np.arange(len(distributions)), [len(distribution) for distribution in distributions])
    query_given_document = np.array([p for distribution in distributions for p in distribution.values()])
    return Intents(
        query=np.array([place[query] for distribution in distributions for query in distribution], np.int64),
        probability=demand[document] / demand.sum() * query_given_document,
        owner=np.arange(len(document)),
        document=document,
    )
