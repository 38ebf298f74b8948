"""A table that the team exported: query, document, rank. A query that it has in another form only is answered by it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.engines.duck import DuckDB
from wayword.rankings import table
from wayword.rankings.sources.source import Answer, Options, listed
from wayword.store.input_file import InputFile
from wayword.text import normalise


class Exported:
    """A file, read and checked."""

    batch, most_batch = 5000, 10_000
    most_threads = 1

    def __init__(self, options: Options) -> None:
        file = InputFile(Path(options.endpoint or ""))
        self._identity = {"file": file.digest}
        self._engine = DuckDB()
        table.read(self._engine, file)

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return self._identity

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        asked = {"raw": list(queries), "text": [normalise(query) for query in queries]}
        self._engine.load(
            "asked", pa.table(asked, schema=pa.schema([("raw", pa.string()), ("text", pa.string())]))
        )
        rows = self._engine.arrow(
            """
            SELECT a.raw, list({'rank': r.rank, 'document': r.document_id} ORDER BY r.rank) AS found FROM (
              SELECT a.raw, min(CASE WHEN f.raw = a.raw THEN f.raw END) AS same, min(f.raw) AS another
              FROM asked AS a JOIN ranked_forms AS f ON f.text = a.text GROUP BY a.raw
            ) AS a JOIN ranked AS r ON r.raw_query = coalesce(a.same, a.another) AND r.rank <= :depth GROUP BY a.raw
            """,
            depth=depth,
        ).to_pylist()
        found = {row["raw"]: _by_rank(row["found"]) for row in rows}
        return [found.get(query, []) for query in queries]

    def close(self) -> None:
        """See `Source.close`."""
        self._engine.close()


def _by_rank(rows: list[dict[str, Any]]) -> Answer:
    """The documents by rank, None where the table has none."""
    named = {int(row["rank"]): row["document"] for row in rows}
    names = listed(named.values(), len(named))
    placed = dict(zip(named, names, strict=True))
    return [placed.get(rank) for rank in range(1, max(placed) + 1)]
