"""Rankings collected from an engine: asks for what is new or old, and writes the table that `wayword run` reads.

Answers wait in a journal beside the table until all are there, so that a run that was killed goes on where it was.

>>> import tempfile
>>> import pyarrow.parquet as pq
>>> folder = Path(tempfile.mkdtemp())
>>> _ = (folder / "log.csv").write_text("query,document,rank\\nvideo,vlc,1\\nVideo,vlc,1\\nvideo,mpv,2\\nfish,,\\n")
>>> shelf = {"video": ["mpv", "vlc"]}
>>> found = collect(lambda query, depth: shelf.get(query, []), [folder / "log.csv"], out=folder / "rankings.parquet")
>>> found.asked, found.known, found.without_results
(2, 0, 1)
>>> pq.read_table(found.path).select(["query", "document", "rank"]).to_pylist()
[{'query': 'video', 'document': 'mpv', 'rank': 1}, {'query': 'video', 'document': 'vlc', 'rank': 2}]
"""

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import EngineError
from wayword.progress import SILENT, Progress
from wayword.rankings.asked_queries import asked_queries
from wayword.rankings.asking import LIMITS, Answered, Failures, Limits, ask_all
from wayword.rankings.collected_table import CollectedTable
from wayword.rankings.journal import Journal
from wayword.rankings.sources.callable import Function, Search
from wayword.rankings.sources.source import Source
from wayword.store import disk

JOURNAL = ".journal.jsonl"
"""Added to the name of the table."""


@dataclass(frozen=True)
class Collected:
    """What a run collected."""

    path: Path
    queries: int
    asked: int
    known: int
    """Queries that had an answer before."""
    without_results: int
    failures: Failures
    notes: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self) | {"path": str(self.path)}


def collect(
    source: Source | Search,
    logs: Sequence[Path],
    *,
    out: Path,
    further: Sequence[Path] = (),
    depth: int = 100,
    max_age: float | None = None,
    limits: Limits = LIMITS,
    progress: Progress = SILENT,
) -> Collected:
    """Ask a source, or a function (query, depth) → documents, for the queries of `logs` and of the files `further`.

    A query that `out` or its journal has an answer to is not asked again, unless the answer is older than `max_age`
    seconds. No answer that is older is written.
    """
    if out.suffix != ".parquet":
        raise EngineError(f"Found --out {out}; expected a name that ends in .parquet.")
    folder = out.absolute().parent
    disk.make_folder(folder)
    asked = Function(source) if callable(source) else source
    identity = _identity(asked, depth)
    oldest = 0.0 if max_age is None else time.time() - max_age
    table = CollectedTable(out, identity, oldest)
    with closing(Journal(out.with_name(out.name + JOURNAL), identity)) as journal:
        with closing(
            DuckDB(spill=folder)
        ) as engine:  # not open while the engine is asked, which may take hours
            queries = asked_queries(engine, logs, further)
            known = table.times(engine) | journal.times
        new = [query for query in queries if known.get(query, -1.0) < oldest]
        most = int(limits.max_failed * len(queries))
        keep = _kept_in(journal)
        failures = ask_all(asked, new, depth, most_failed=most, keep=keep, limits=limits, progress=progress)
        with closing(DuckDB(spill=folder)) as engine:
            empty = table.renew(engine, journal)
        journal.remove()
    notes = _notes(out, table, journal)
    return Collected(out, len(queries), len(new), len(queries) - len(new), empty, failures, notes)


def _identity(source: Source, depth: int) -> str:
    """A hash of what the answers depend on."""
    content = json.dumps({"source": source.identity, "depth": depth}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _kept_in(journal: Journal) -> Any:
    def keep(answers: list[Answered]) -> None:
        journal.append({"query": q, "time": moment, "documents": found} for q, moment, found in answers)

    return keep


def _notes(out: Path, table: CollectedTable, journal: Journal) -> tuple[str, ...]:
    notes = []
    if table.other:
        notes.append(
            f"the answers in {out} were of another source, template or depth: every query was asked again"
        )
    if journal.dropped:
        notes.append(
            f"{journal.dropped:,} answers in {journal.path} were of another source, template or depth: dropped"
        )
    if not table.rows:
        notes.append("no query has a result: check the index, the template and the fields that are searched")
    return tuple(notes)
