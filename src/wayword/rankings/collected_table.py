"""The table that a run collected: query, document, rank and the time of the answer.

Which queries have no results, and whose answers these are, is in the metadata of the file.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.engines.duck import DuckDB
from wayword.errors import EngineError
from wayword.rankings.journal import Journal
from wayword.store import disk
from wayword.store.input_file import InputFile

KEY = b"wayword.answers"
"""Of the metadata: a JSON object with `identity` and `empty`, the time of the answer of each query without results."""
_ROWS = pa.schema(
    [
        ("query", pa.string()),
        ("document", pa.string()),
        ("rank", pa.int32()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)
_ANSWERS = pa.schema([("query", pa.string()), ("time", pa.float64()), ("found", pa.list_(pa.string()))])


class CollectedTable:
    """The table of earlier runs, if there is one, and how it is renewed. Answers older than `oldest` are left out."""

    def __init__(self, path: Path, identity: str, oldest: float) -> None:
        self._path, self._identity, self._oldest = path, identity, oldest
        earlier = _metadata(path) if path.exists() else None
        self.other = earlier is not None and earlier["identity"] != identity
        """Whether the table is of another source; then none of its answers counts."""
        self._there = earlier is not None and not self.other
        of_queries = earlier["empty"] if earlier is not None and self._there else {}
        self._empty = {query: moment for query, moment in of_queries.items() if moment >= oldest}
        self.rows = 0

    def times(self, engine: DuckDB) -> dict[str, float]:
        """When each query was answered."""
        self._earlier(engine)
        found = engine.arrow("SELECT query, epoch(max(time)) AS time FROM earlier GROUP BY query")
        return dict(zip(found["query"].to_pylist(), found["time"].to_pylist(), strict=True)) | self._empty

    def _earlier(self, engine: DuckDB) -> None:
        """Step `earlier`: the rows of the table that are not too old."""
        if not self._there:
            engine.load("earlier", _ROWS.empty_table())
            return
        engine.read("earlier_rows", InputFile(self._path))
        engine.step(
            "earlier",
            "SELECT query, document, rank, time FROM earlier_rows WHERE epoch(time) >= :oldest",
            oldest=self._oldest,
        )

    def renew(self, engine: DuckDB, journal: Journal) -> int:
        """Write the table; answers in the journal replace earlier ones. Returns how many have no results."""
        self._earlier(engine)
        self._answers(engine, journal)
        engine.step(
            "collected",
            """
            SELECT query, document, CAST(min(rank) AS INTEGER) AS rank, to_timestamp(min(time)) AS time FROM (
              SELECT query, time, unnest(found) AS document, generate_subscripts(found, 1) AS rank FROM answers
            ) AS hit WHERE document IS NOT NULL GROUP BY query, document
            UNION ALL
            SELECT query, document, rank, time FROM earlier WHERE query NOT IN (SELECT query FROM answers)
            """,
        )
        self.rows = engine.arrow("SELECT count(*) AS n FROM collected")["n"][0].as_py()
        empty = self._without_results(engine)
        about = json.dumps({"identity": self._identity, "empty": empty}, ensure_ascii=False)
        with disk.filled(self._path.absolute().parent) as folder:
            ordered = "SELECT * FROM collected ORDER BY query, rank"
            engine.write(ordered, folder / self._path.name, {KEY: about.encode()})
        return len(empty)

    def _answers(self, engine: DuckDB, journal: Journal) -> None:
        """Step `answers` (query, time, found): the last answer in the journal to each query."""
        if not journal.times:
            engine.load("answers", _ANSWERS.empty_table())
            return
        engine.read("journalled", InputFile(journal.path))
        engine.step(
            "answers",
            """
            SELECT query, CAST(time AS DOUBLE) AS time, from_json(documents, '["VARCHAR"]') AS found FROM journalled
            WHERE query IS NOT NULL AND CAST(time AS DOUBLE) >= :oldest
            QUALIFY row_number() OVER (PARTITION BY query ORDER BY input_row DESC) = 1
            """,
            oldest=self._oldest,
        )

    def _without_results(self, engine: DuckDB) -> dict[str, float]:
        answers = engine.arrow(
            "SELECT query, time, query IN (SELECT query FROM collected) AS found FROM answers"
        ).to_pylist()
        renewed = {row["query"] for row in answers}
        earlier = {query: moment for query, moment in self._empty.items() if query not in renewed}
        return earlier | {row["query"]: row["time"] for row in answers if not row["found"]}


def _metadata(path: Path) -> dict[str, Any]:
    """What the file says about itself; a file that this command did not write is refused."""
    try:
        content = (pq.read_schema(path).metadata or {}).get(KEY)
    except (OSError, pa.ArrowException) as problem:
        raise EngineError(
            f"Cannot read {path}: {problem}. Move it away; every query is then asked again."
        ) from None
    if content is None:
        raise EngineError(
            f"{path} exists, and `wayword rankings` did not write it. Choose another --out, or move it away."
        )
    found: dict[str, Any] = json.loads(content)
    return found
