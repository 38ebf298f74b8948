"""The embedded BM25 as a source: for a catalogue without an engine, with stemming by language."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import EngineError
from wayword.rankings.sources.source import Answer, Options, listed
from wayword.rankings.stage import read_documents
from wayword.store.input_file import InputFile


class EmbeddedBm25:
    """The titles and names of a document table."""

    batch, most_batch = 1000, 10_000
    most_threads = 1

    def __init__(self, options: Options) -> None:
        from wayword.rankings.bm25 import index_of, names_of

        if options.documents is None:
            raise EngineError("Expected --documents: a table of document and title.")
        file = InputFile(Path(options.documents))
        engine = DuckDB()
        try:
            table = read_documents(engine, file)
        finally:
            engine.close()
        self._identity = {"documents": file.digest, "language": options.language}
        self._index, self._names = index_of(table, language=options.language), names_of(table)

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        return self._identity

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [
            listed((self._names[row].as_py() for row in self._index.best(query, depth)), depth)
            for query in queries
        ]

    def close(self) -> None:
        """See `Source.close`."""
