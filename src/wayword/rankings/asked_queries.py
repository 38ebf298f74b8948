"""Which queries an engine is asked for: those of logs, and further ones.

Each normalised text is asked once, in its most searched raw form (as `rankings/table.py` takes it); the most searched
texts come first.
"""

from collections.abc import Sequence
from pathlib import Path

from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import column_types
from wayword.logs.columns import as_text
from wayword.logs.log import forms


def asked_queries(engine: Engine, logs: Sequence[Path], further: Sequence[Path] = ()) -> list[str]:
    """The raw queries, in the order in which they are asked."""
    parts = [
        _raw_queries(engine, f"given{n}", path, n < len(logs)) for n, path in enumerate((*logs, *further))
    ]
    engine.step("raw_queries", " UNION ALL ".join(parts))
    forms(engine, "query_forms", "SELECT DISTINCT raw_query FROM raw_queries")
    engine.step(
        "asked_queries",
        """
        SELECT raw, all_searches, text FROM (
          SELECT f.raw, f.text, sum(sum(r.searches)) OVER (PARTITION BY f.text) AS all_searches,
                 row_number() OVER (PARTITION BY f.text ORDER BY sum(r.searches) DESC, f.raw) AS place
          FROM raw_queries AS r JOIN query_forms AS f ON f.raw = r.raw_query WHERE f.text <> '' GROUP BY f.text, f.raw
        ) AS chosen WHERE place = 1
        """,
    )
    found = engine.arrow("SELECT raw FROM asked_queries ORDER BY all_searches DESC, text")["raw"].to_pylist()
    if not found:
        raise LogError(
            f"Found no query in {', '.join(map(str, (*logs, *further)))}; expected text in `query`."
        )
    return found


def _raw_queries(engine: Engine, table: str, path: Path, searched: bool) -> str:
    """SQL for the raw queries of a file and how often each was searched."""
    engine.read(table, path)
    names = engine.columns(table)
    if "query" not in names:
        found = ", ".join(name for name in names if name != "input_row")
        raise LogError(f"{path} lacks the column query; found: {found}. Rename the column.")
    column_types.check(engine, table, {"query": column_types.TEXT}, source=str(path))
    searches = "0" if not searched else "count(DISTINCT search_id)" if "search_id" in names else "count(*)"
    query = as_text(engine, table, "query")
    return f"SELECT {query} AS raw_query, {searches} AS searches FROM {table} GROUP BY 1"
