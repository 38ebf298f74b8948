"""SQLite, with its full-text index FTS5: a SQL template with bound values.

`:query` is the query as it is. MATCH reads a language of its own, in which quotes, `-` or `NEAR` have a meaning and may
be an error; `:all_terms` and `:any_term` are the words of the query as strings of FTS5, to be matched all or any.

>>> print(*fts5_terms("tv -NEAR(x"))
"tv" "-NEAR(x"
"""

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wayword.errors import EngineError
from wayword.rankings.sources.source import Answer, Busy, Options, Refused, listed
from wayword.rankings.sources.sql_template import read_sql
from wayword.store.regular_file import stamp_of

_STEPS = 10_000
"""Instructions of SQLite's machine between two looks at the clock."""
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Sqlite:
    """A database file, opened for reading; each thread has a connection of its own."""

    batch = most_batch = 1
    most_threads = 16

    def __init__(self, options: Options) -> None:
        self._path = Path(options.endpoint or "").absolute()
        if not stamp_of(self._path):
            raise EngineError(f"There is no file {self._path}; expected --endpoint DATABASE.")
        self._sql = read_sql(options.template, ":query", ":all_terms", ":any_term")
        self._timeout = options.timeout
        self._own = threading.local()
        self._connections: list[sqlite3.Connection] = []

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return {"database": str(self._path), "sql": self._sql}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: str, depth: int) -> Answer:
        terms = fts5_terms(query)
        values = {
            "query": query,
            "depth": depth,
            "all_terms": " ".join(terms) or '""',
            "any_term": " OR ".join(terms) or '""',
        }
        try:
            connection = self._connection()
            until = time.monotonic() + self._timeout
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            rows = connection.execute(self._sql, values).fetchmany(depth)
            return listed((row[0] for row in rows), depth)
        except Refused as problem:
            return problem
        except sqlite3.Error as problem:
            code = getattr(problem, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_INTERRUPT:
                return Refused(f"{self._path.name}: no answer within {self._timeout:g} s")
            return (Busy if code in _LOCKED else Refused)(f"{self._path.name}: {problem}")

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode=ro", uri=True, timeout=self._timeout, check_same_thread=False
            )
            self._own.connection = connection
            self._connections.append(connection)
        return connection

    def close(self) -> None:
        """See `Source.close`."""
        for connection in self._connections:
            connection.close()


def fts5_terms(query: str) -> list[str]:
    """The words of a text as strings of FTS5, in which no character but the doubled quote is special."""
    return ['"' + word.replace('"', '""') + '"' for word in query.replace("\0", " ").split()]
