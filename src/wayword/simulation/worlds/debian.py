"""`debian`, `debian-pecos` and `debian-dense`: the paper's Appendix B on a public catalogue.

Queries are the titles of packages; the documents relevant to one are the packages that those with this
title relate to. Documents are the packages that 2 to 1,500 others relate to: the rest is too rare or too
common. The context column is the section of the package of this title.

`debian-dense` keeps 450 of the titles, and the documents that two of their packages relate to: few enough queries for
300,000 clicks to give a context ten searches, as in the paper.
"""

from dataclasses import replace
from hashlib import md5

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import DocumentRanker, bm25
from wayword.simulation.catalogue import related_counts, relations
from wayword.simulation.world import World
from wayword.simulation.worlds.related_packages import pairs_world
from wayword.text import normalise

FEWEST, MOST = 2, 1500
DENSE = 450
"""Titles of `debian-dense`."""


def debian_world(
    catalogue: pa.Table,
    *,
    ranker: DocumentRanker = bm25,
    titles: int | None = None,
    depth: int = 100,
    progress: Progress = SILENT,
) -> World:
    """Build the world from a catalogue, with a document ranker over names and titles; of the `titles` first titles by
    md5, if given: more titles contain fewer."""
    related = relations(catalogue)
    if titles is not None:
        related = related[_sampled(_titles(catalogue), titles)[related[:, 0]]]
    counts = np.bincount(related[:, 1], minlength=catalogue.num_rows)
    kept = (counts >= FEWEST) & (related_counts(catalogue) <= MOST)
    documents = catalogue.filter(pa.array(kept)).select(["package", "title", "section"])
    world = pairs_world(
        _title_pairs(catalogue, related[kept[related[:, 1]]]),
        documents.rename_columns(["document", "title", "section"]).combine_chunks(),
        ranker=ranker,
        fields=("name", "title"),
        depth=depth,
        progress=progress,
    )
    return replace(world, context_values=_sections(catalogue, world.queries))


def _sampled(titles: pa.StringArray, most: int) -> NDArray[np.bool_]:
    """Return whether each title is among the first distinct ones by md5."""
    first = sorted(
        set(titles.to_pylist()), key=lambda title: md5(title.encode(), usedforsecurity=False).digest()
    )[:most]
    chosen: NDArray[np.bool_] = pc.is_in(titles, value_set=pa.array(first, pa.string())).to_numpy(False)
    return chosen


def _title_pairs(catalogue: pa.Table, related: NDArray[np.int64]) -> pa.Table:
    """Return the distinct pairs of a normalised title and a package that a package of this title relates to."""
    pairs = pa.table(
        {
            "query": _titles(catalogue).take(pa.array(related[:, 0])),
            "document": catalogue["package"].combine_chunks().take(pa.array(related[:, 1])),
        }
    )
    distinct = pairs.group_by(["query", "document"], use_threads=False).aggregate([])
    return distinct.sort_by([("query", "ascending"), ("document", "ascending")])


def _sections(catalogue: pa.Table, queries: pa.StringArray) -> pa.StringArray:
    """Return for each query the most frequent section of the packages with that title, ties by name."""
    sections = pa.table({"query": _titles(catalogue), "section": catalogue["section"]})
    counted = sections.group_by(["query", "section"], use_threads=False).aggregate([([], "count_all")])
    best_first = [("query", "ascending"), ("count_all", "descending"), ("section", "ascending")]
    first = counted.sort_by(best_first).group_by("query", use_threads=False).aggregate([("section", "first")])
    place = pc.index_in(queries, value_set=first["query"].combine_chunks())
    return first["section_first"].combine_chunks().take(place)


def _titles(catalogue: pa.Table) -> pa.StringArray:
    return pa.array(map(normalise, catalogue["title"].to_pylist()), pa.string())
