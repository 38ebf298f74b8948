"""Embedded document ranker: BM25 on Tantivy, in memory, over the names and titles of the documents.

The score of a document is the sum over the query's terms t and the searched fields f of

    idf_f(t) · 2.2 · n / (n + 1.2 · (0.25 + 0.75 · length / mean length)),
    idf_f(t) = ln(1 + (N − N_t + ½) / (N_t + ½)),

where n is the count of t in the field, N the number of documents and N_t the number of those whose field contains t.
Ties keep the table's order. Queries bypass the query parser, so no character in them is special. With a `language`, the
terms of documents and queries are stemmed by its Snowball stemmer.

>>> documents = pa.table({"document": ["vlc", "mpv"], "title": ["media player", "video player for you"]})
>>> rank_with_bm25(documents, ["video player", "mpv!", "fish"]).to_pylist()
... # doctest: +NORMALIZE_WHITESPACE
[{'query': 'video player', 'document': 'mpv', 'rank': 1},
 {'query': 'video player', 'document': 'vlc', 'rank': 2},
 {'query': 'mpv!', 'document': 'mpv', 'rank': 1}]
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tantivy
from numpy.typing import NDArray

from wayword.errors import LogError
from wayword.progress import SILENT, Progress
from wayword.rankings.terms import document_terms, query_terms

RANKINGS_SCHEMA = pa.schema([("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())])
FIELDS = ("name", "title")
BATCH = 4096
LANGUAGES = (
    *("arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian"),
    *("norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish"),
)
"""Those that have a stemmer."""
_TOKENIZER = "terms"
# A limit, not a reservation: the maximum of Tantivy, so that one thread writes one segment.
_HEAP_LIMIT = 4_293_000_000


def rank_with_bm25(
    documents: pa.Table,
    queries: Sequence[str],
    *,
    depth: int = 100,
    fields: Sequence[str] = FIELDS,
    language: str | None = None,
    progress: Progress = SILENT,
) -> pa.Table:
    """The `depth` best documents of each distinct query, in the given order: columns query, document, rank.

    `documents` has the column `document` and the searched `fields`; without a column `name`, the document's
    id is its name. A query without results has no row. `progress` counts the ranked queries.
    """
    index, names = index_of(documents, fields, language), names_of(documents)
    batches, distinct, done = [], dict.fromkeys(queries), 0
    for batch in _batches(distinct, BATCH):
        batches.append(_rank_batch(index, names, batch, depth))
        done += len(batch)
        progress.advance(done, len(distinct))
    return pa.Table.from_batches(batches, schema=RANKINGS_SCHEMA)


def index_of(documents: pa.Table, fields: Sequence[str] = FIELDS, language: str | None = None) -> "Bm25Index":
    """Check a document table and index its `fields`."""
    _check(documents, fields)
    return Bm25Index([_texts(documents, field) for field in fields], language)


def names_of(documents: pa.Table) -> pa.StringArray:
    """The identifiers of the documents, as text."""
    return documents["document"].cast(pa.string()).combine_chunks()


class Bm25Index:
    """An inverted index over parallel columns of text; a document is identified by its row."""

    def __init__(self, columns: Sequence[Sequence[str]], language: str | None = None) -> None:
        self._fields = [f"field{number}" for number in range(len(columns))]
        self._schema = _schema(self._fields)
        self._analyzer = _analyzer(language)
        index = tantivy.Index(self._schema)
        index.register_tokenizer(_TOKENIZER, self._analyzer)
        writer = index.writer(heap_size=_HEAP_LIMIT, num_threads=1)
        for texts in zip(*columns, strict=True):
            terms = (" ".join(document_terms(text)) for text in texts)
            writer.add_document(tantivy.Document(**dict(zip(self._fields, terms, strict=True))))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()
        if self._searcher.num_segments > 1:
            raise LogError(
                f"{len(columns[0]):,} documents do not fit into one segment of the embedded engine; "
                "export the rankings of your own engine instead."
            )

    def best(self, query: str, depth: int) -> list[int]:
        """Rows of the `depth` best documents, best first."""
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, term, "freq"))
            for term in self._analyzer.analyze(" ".join(query_terms(query)))
            for field in self._fields
        ]
        if not clauses or not self._searcher.num_docs:
            return []
        results = self._searcher.search(tantivy.Query.boolean_query(clauses), depth, count=False)
        return [address.doc for _, address in results.hits]


def _analyzer(language: str | None) -> tantivy.TextAnalyzer:
    """Splits at white space; with a language, stems.

    >>> _analyzer("english").analyze("running shoes"), _analyzer(None).analyze("running shoes")
    (['run', 'shoe'], ['running', 'shoes'])
    """
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    if language is None:
        return builder.build()
    if language not in LANGUAGES:
        raise LogError(f"Found the language {language!r}; expected one of {', '.join(LANGUAGES)}.")
    return builder.filter(tantivy.Filter.stemmer(language)).build()


def _schema(fields: Sequence[str]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in fields:
        builder.add_text_field(field, tokenizer_name=_TOKENIZER, index_option="freq")
    return builder.build()


def _rank_batch(index: Bm25Index, names: pa.StringArray, queries: list[str], depth: int) -> pa.RecordBatch:
    best = [index.best(query, depth) for query in queries]
    lengths = np.fromiter(map(len, best), np.int64, len(best))
    places: NDArray[np.int64] = np.fromiter(
        (p for places in best for p in places), np.int64, int(lengths.sum())
    )
    return pa.RecordBatch.from_arrays(
        [
            pa.array(queries, pa.string()).take(pa.array(np.repeat(np.arange(len(queries)), lengths))),
            names.take(pa.array(places)),
            pa.array(_ranks(lengths).astype(np.int32)),
        ],
        schema=RANKINGS_SCHEMA,
    )


def _ranks(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ranks 1, 2, …, n for each length n, concatenated.

    >>> _ranks(np.array([2, 0, 3]))
    array([1, 2, 1, 2, 3])
    """
    starts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) - np.repeat(starts, lengths) + 1


def _batches(queries: dict[str, None], size: int) -> Iterator[list[str]]:
    rest = iter(queries)
    while batch := list(islice(rest, size)):
        yield batch


def _texts(documents: pa.Table, field: str) -> list[str]:
    column = "document" if field == "name" and "name" not in documents.column_names else field
    texts: list[str] = pc.fill_null(documents[column].cast(pa.string()), "").to_pylist()
    return texts


def _check(documents: pa.Table, fields: Sequence[str]) -> None:
    columns = documents.column_names
    missing = [name for name in ("document", *fields) if name not in columns and name != "name"]
    if missing or not fields:
        raise LogError(
            f"The documents have no column {', '.join(map(repr, missing)) or 'to search'}; "
            f"found: {', '.join(columns)}. Expected 'document' and the searched fields."
        )
    counts = pc.value_counts(documents["document"].cast(pa.string()).combine_chunks())
    twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(twice) or documents["document"].null_count:
        examples = ", ".join(repr(name) for name in twice[:3].to_pylist()) or "null"
        raise LogError(
            f"Each document must have one row of its own; found more than one or null: {examples}."
        )
