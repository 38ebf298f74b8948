"""Peers: what else completes queries. All see the texts and how often each was asked, and nothing of where they lead.

Each is set up as its documentation would have it, with what makes it quick: see the classes.
"""

import gc
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import marisa_trie
import numpy as np
import postgres
from apart import resident
from numpy.typing import NDArray
from postgres import Postgres

from wayword.store.strings import Strings

K = 10
SECONDS = 30.0
"""A peer is asked for so long at most."""
UTILITY_AT = 5
Counts = NDArray[np.int64]


class Peer(Protocol):
    """What is compared: made of texts and how often each is asked, closed when it is not needed any more."""

    def complete(self, prefix: str, k: int) -> list[str]:
        """At most k queries that begin with the prefix, those asked most often first."""
        ...

    def memory(self) -> float:
        """Megabytes that other processes hold for it."""
        ...

    def close(self) -> None: ...


class FastAutocomplete:
    """`fast-autocomplete`: a graph of Python objects, with the counts that it sorts by."""

    def __init__(self, texts: Sequence[str], popularity: Counts) -> None:
        counts = zip(texts, popularity.tolist(), strict=True)
        self._words = {text: {"count": count} for text, count in counts}
        self._engine = _fast_autocomplete()(words=self._words)

    def complete(self, prefix: str, k: int) -> list[str]:
        """A suggestion is a row of entries: all together are a query, or the last one is. One that was typed in full
        comes first, also if the text goes on: such a beginning is left out."""
        found = self._engine.search(word=prefix, max_cost=2, size=k + 1)
        joined = (" ".join(row) if " ".join(row) in self._words else row[-1] for row in found)
        behind = (text for text in joined if len(text) >= len(prefix) or not prefix.startswith(text))
        return list(dict.fromkeys(behind))[:k]

    def memory(self) -> float:
        return 0.0

    def close(self) -> None:
        pass


def _fast_autocomplete() -> Any:
    """The class. Its package asks `pkg_resources`, which setuptools has no longer, for its own version."""
    stand_in = ModuleType("pkg_resources")
    vars(stand_in)["get_distribution"] = distribution
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if find_spec("pkg_resources") is None:
            sys.modules["pkg_resources"] = stand_in
        from fast_autocomplete import AutoComplete
    if sys.modules.get("pkg_resources") is stand_in:
        del sys.modules["pkg_resources"]
    return AutoComplete


class SqliteFts:
    """SQLite's FTS5 with indexes of short prefixes. Rows lie in the order of popularity, so none are sorted."""

    def __init__(self, texts: Sequence[str], popularity: Counts) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE VIRTUAL TABLE queries USING fts5(text, prefix='1 2 3', detail=full)")
        rows = enumerate(np.argsort(-popularity, kind="stable").tolist())
        self._database.executemany(
            "INSERT INTO queries (rowid, text) VALUES (?, ?)", ((place, texts[n]) for place, n in rows)
        )
        self._database.execute("INSERT INTO queries (queries) VALUES ('optimize')")

    def complete(self, prefix: str, k: int) -> list[str]:
        phrase = '^ "' + prefix.replace('"', '""') + '" *'
        found = self._database.execute(
            "SELECT text FROM queries WHERE queries MATCH ? ORDER BY rowid LIMIT ?", (phrase, k)
        )
        return [text for (text,) in found]

    def memory(self) -> float:
        return 0.0

    def close(self) -> None:
        self._database.close()


class PostgresPatterns:
    """PostgreSQL, asked with LIKE: it may look up the text's beginning, or go down by popularity."""

    def __init__(self, texts: Sequence[str], popularity: Counts) -> None:
        self._closing = ExitStack()
        self._cluster = self._closing.enter_context(Postgres())
        self._connection = self._closing.enter_context(closing(self._cluster.connect()))
        with self._connection.cursor() as cursor:
            cursor.execute("CREATE TABLE queries (text text NOT NULL, popularity float8 NOT NULL)")
            with cursor.copy("COPY queries FROM STDIN") as copy:
                for row in zip(texts, popularity.tolist(), strict=True):
                    copy.write_row(row)
            cursor.execute("CREATE INDEX ON queries (text text_pattern_ops) INCLUDE (popularity)")
            cursor.execute("CREATE INDEX ON queries (popularity DESC) INCLUDE (text)")
            cursor.execute("VACUUM ANALYZE queries")

    def complete(self, prefix: str, k: int) -> list[str]:
        pattern = prefix.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "%"
        found = self._connection.execute(
            "SELECT text FROM queries WHERE text LIKE %s ORDER BY popularity DESC LIMIT %s",
            (pattern, k),
            prepare=False,
        )
        return [text for (text,) in found]

    def memory(self) -> float:
        return self._cluster.memory()

    def close(self) -> None:
        self._closing.close()


class Marisa:
    """marisa-trie: all that begin with the prefix, then those with the highest counts."""

    def __init__(self, texts: Sequence[str], popularity: Counts) -> None:
        self._trie = marisa_trie.Trie(texts)
        self._popularity = np.empty(len(texts), np.int64)
        self._popularity[[self._trie[text] for text in texts]] = popularity

    def complete(self, prefix: str, k: int) -> list[str]:
        found = self._trie.items(prefix)
        counts = self._popularity[[number for _, number in found]]
        if len(found) > k:
            best = np.argpartition(-counts, k)[:k]
            return [found[n][0] for n in best[np.argsort(-counts[best], kind="stable")].tolist()]
        return [found[n][0] for n in np.argsort(-counts, kind="stable").tolist()]

    def memory(self) -> float:
        return 0.0

    def close(self) -> None:
        pass


PEERS: dict[str, Callable[[Sequence[str], Counts], Peer]] = {
    "fast-autocomplete": FastAutocomplete,
    "SQLite FTS5": SqliteFts,
    "PostgreSQL `text_pattern_ops`": PostgresPatterns,
    "marisa-trie": Marisa,
}


def missing(name: str) -> str | None:
    """What to install before a peer can be asked, if anything."""
    if PEERS[name] is FastAutocomplete and find_spec("fast_autocomplete") is None:
        return "fast-autocomplete is not installed: uv pip install --group bench"
    return postgres.missing() if PEERS[name] is PostgresPatterns else None


@dataclass(frozen=True)
class Cost:
    """Seconds to build, megabytes held, and nanoseconds of each answer."""

    build: float
    memory: float
    answers: Counts


def cost(name: str, index: Path, typed: list[str]) -> Cost:
    """Of a peer over the queries of an index, in a process that does nothing else."""
    texts, popularity = list(Strings.load(index, "texts")), np.load(index / "popularity.npy")
    gc.collect()
    before, started = resident(), time.perf_counter()
    with closing(PEERS[name](texts, popularity)) as peer:
        built = time.perf_counter() - started
        answers = timed(lambda prefix: peer.complete(prefix, K), typed)
        return Cost(built, resident() - before + peer.memory(), answers)


def lists(name: str, texts: list[str], popularity: Counts, typed: list[str]) -> list[list[str]]:
    """What a peer shows for each typed text; queries that nobody asked are not its own."""
    asked = np.flatnonzero(popularity > 0)
    with closing(PEERS[name]([texts[n] for n in asked.tolist()], popularity[asked])) as peer:
        return [_going_on(peer.complete(prefix, UTILITY_AT + 1), prefix) for prefix in typed]


def _going_on(found: list[str], prefix: str) -> list[str]:
    """What is typed already is not suggested."""
    return [query for query in found if query != prefix][:UTILITY_AT]


def timed(complete: Callable[[str], object], typed: list[str], seconds: float = SECONDS) -> Counts:
    """Nanoseconds of each call but the first tenth, which warm up; no more calls when the time is over."""
    clock, found = time.perf_counter_ns, list[int]()
    until = clock() + seconds * 1e9
    for prefix in typed:
        started = clock()
        complete(prefix)
        ended = clock()
        found.append(ended - started)
        if ended > until:
            break
    return np.array(found[len(found) // 10 :])
