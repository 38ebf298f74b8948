"""`debian` and `debian-pecos`: the paper's Appendix B on a catalogue that everybody may have.

Queries are the titles of packages; the documents relevant to one are the packages that those with this
title relate to. Documents are the packages that 2 to 1,500 others relate to: the rest says nothing or
everything.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.simulation.catalogue import related_counts, relations
from wayword.simulation.world import World
from wayword.simulation.worlds.pairs import pairs_world
from wayword.text import normalise

FEWEST, MOST = 2, 1500


def debian_world(
    catalogue: pa.Table,
    *,
    ranker: str = "bm25",
    depth: int = 100,
    progress: Callable[[int], None] | None = None,
) -> World:
    """Build the world from a catalogue, with BM25 over names and titles or PECOS as the document ranker."""
    counts = related_counts(catalogue)
    kept = (counts >= FEWEST) & (counts <= MOST)
    documents = catalogue.filter(pa.array(kept)).select(["package", "title", "section"])
    return pairs_world(
        _title_pairs(catalogue, kept),
        documents.rename_columns(["document", "title", "section"]).combine_chunks(),
        ranker=ranker,
        fields=("name", "title"),
        depth=depth,
        progress=progress,
    )


def _title_pairs(catalogue: pa.Table, kept: NDArray[np.bool_]) -> pa.Table:
    """Distinct pairs of a normalised title and a kept package that a package of this title relates to."""
    related = relations(catalogue)
    related = related[kept[related[:, 1]]]
    titles = pa.array(map(normalise, catalogue["title"].to_pylist()), pa.string())
    pairs = pa.table(
        {
            "query": titles.take(pa.array(related[:, 0])),
            "document": catalogue["package"].combine_chunks().take(pa.array(related[:, 1])),
        }
    )
    distinct = pairs.group_by(["query", "document"], use_threads=False).aggregate([])
    return distinct.sort_by([("query", "ascending"), ("document", "ascending")])
