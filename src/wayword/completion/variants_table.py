"""The table of variants that people read and correct: which query is shown instead of which, and why.

A corrected file (CSV or Parquet) has the columns query and shown_as; others are ignored. A row whose `shown_as` is
empty or equal to its query separates it: it is shown itself.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.completion.variants import Variants, unspaced
from wayword.completion.word_forms import without_accents
from wayword.errors import WaywordError
from wayword.text import normalise

LARGEST_FILE = 256_000_000
"""Bytes of a file of corrections."""
_PARQUET = b"PAR1"
"""The first bytes of a Parquet file."""


def as_table(texts: Sequence[str], variants: Variants, searches: NDArray[np.int64]) -> pa.Table:
    """List the queries that are not shown themselves, most searched first.

    >>> texts = ["e mail", "email"]
    >>> as_table(texts, Variants.of(texts, np.array([2, 9])), np.array([2, 9])).to_pylist()
    [{'query': 'e mail', 'shown_as': 'email', 'reason': 'spacing', 'searches': 2, 'searches_of_shown': 9}]
    """
    shown = variants.shown_as.astype(np.int64)
    merged = np.flatnonzero(shown != np.arange(len(shown)))
    merged = merged[np.lexsort((merged, -np.asarray(searches)[merged]))]
    return pa.table(
        {
            "query": pa.array([texts[query] for query in merged.tolist()], pa.string()),
            "shown_as": pa.array([texts[query] for query in shown[merged].tolist()], pa.string()),
            "reason": pa.array([_reason(texts, variants, query) for query in merged.tolist()], pa.string()),
            "searches": pa.array(np.asarray(searches)[merged], pa.int64()),
            "searches_of_shown": pa.array(np.asarray(searches)[shown[merged]], pa.int64()),
        }
    )


def _reason(texts: Sequence[str], variants: Variants, query: int) -> str:
    """Why the query is shown as another one: the first that explains all of the difference."""
    if variants.corrected[query]:
        return "corrected by people"
    if variants.misspelt[query]:
        return "misspelt"
    one, other = texts[query], texts[int(variants.shown_as[query])]
    if without_accents(one) == without_accents(other):
        return "accents"
    if sorted(one.split()) == sorted(other.split()):
        return "word order"
    if set(one.split()) == set(other.split()):
        return "repeated words"
    return "spacing" if unspaced(one) == unspaced(other) else "inflected"


def read_corrections(path: Path, texts: Sequence[str]) -> tuple[dict[int, int], list[str]]:
    """(corrections, unknown): a corrected file for `Variants.of`, and the queries in it that there are not.

    Texts are normalised, so "E-Mail" is the query "e mail". Of rows for the same query the last counts.
    """
    table = _read(path)
    missing = {"query", "shown_as"} - set(table.column_names)
    if missing:
        raise WaywordError(
            f"Found the columns {', '.join(table.column_names) or 'none'} in {path}; expected query and shown_as."
        )
    number = {text: place for place, text in enumerate(texts)}
    corrections: dict[int, int] = {}
    unknown: list[str] = []
    rows = zip(table["query"].to_pylist(), table["shown_as"].to_pylist(), strict=True)
    for query, shown in ((normalise(str(query or "")), normalise(str(shown or ""))) for query, shown in rows):
        lacking = [text for text in (query, shown or query) if text not in number]
        unknown += lacking
        if not lacking:
            corrections[number[query]] = number[shown or query]
    return corrections, sorted(set(unknown))


def _read(path: Path) -> pa.Table:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise WaywordError(
                f"Found more than {LARGEST_FILE:,} bytes in {path}; expected a table of corrections."
            )
        with path.open("rb") as file:
            if file.read(len(_PARQUET)) == _PARQUET:
                return pq.read_table(path)
        text = pc.ConvertOptions(column_types={"query": pa.string(), "shown_as": pa.string()})
        return pc.read_csv(path, convert_options=text)
    except (OSError, pa.ArrowException) as problem:
        raise WaywordError(
            f"Cannot read the corrections {path}: {problem}. "
            "Expected CSV or Parquet with the columns query and shown_as."
        ) from problem
