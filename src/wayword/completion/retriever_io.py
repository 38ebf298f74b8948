"""Saves and loads the expected-utility retriever: memory-mapped arrays, checked on loading, and no executable code."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.availability import Mask, only_available
from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import ExpectedUtilityRetriever, RecordedPrefixes
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.sparse_topk import DemandGraph
from wayword.demand.artefact import DEMAND, EXPOSURE, OWN
from wayword.store.arrays import load_array, save_array
from wayword.store.compressed_rows import WeightedRows
from wayword.store.regular_file import read_regular

MATCHER, DOCUMENTS_IN, QUERIES_IN = "beginnings", "documents_in", "queries_in"


def save(retriever: ExpectedUtilityRetriever, folder: Path) -> None:
    """Save the retriever without the queries' texts and popularities, which are stored elsewhere."""
    retriever.graph.demand.save(folder, DEMAND)
    retriever.graph.exposure.save(folder, EXPOSURE)
    save_array(folder / f"{OWN}.npy", retriever.own_utility)
    save_matching(retriever, folder)


def save_matching(retriever: ExpectedUtilityRetriever, folder: Path) -> None:
    """Save all but texts, popularities and the demand graph, which is the artefact `demand`."""
    save_array(folder / "typed.npy", retriever.prefix_probability)
    retriever.matcher.save(folder / MATCHER)
    if recorded := retriever.recorded:
        recorded.searches.save(folder, "recorded")
        save_array(folder / "recorded_of_query.npy", recorded.of_query)
        (folder / "recorded.json").write_text(
            json.dumps(recorded.prefixes, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    for kind, affinity in ((DOCUMENTS_IN, retriever.documents_in), (QUERIES_IN, retriever.queries_in)):
        if affinity:
            save_affinity(affinity, folder, kind)


def load_graph(folder: Path, queries: int, part: str = "") -> tuple[DemandGraph, NDArray[np.float32]]:
    """Map demand, exposure and the queries' own utilities into memory; `part` is a subfolder with another demand."""
    exposure = WeightedRows.load(folder, EXPOSURE, below=queries)
    demand = WeightedRows.load(folder / part, DEMAND, below=len(exposure), rows=queries)
    own_utility = load_array(folder / part / f"{OWN}.npy", np.float32, shape=(queries,))
    return DemandGraph(demand, exposure, queries), own_utility


def load(
    folder: Path,
    texts: Sequence[str],
    popularity: NDArray[np.float64],
    *,
    graph: Path | None = None,
    available: Mask | None = None,
    threads: int = 1,
) -> ExpectedUtilityRetriever:
    """Map the files of `save` into memory; with `graph`, those of `save_matching` and that folder's graph. With
    `available`, only these documents count."""
    each = (len(texts),)
    if popularity.shape != each:
        raise ValueError(
            f"found {popularity.shape} popularities, expected one for each of {len(texts)} queries"
        )
    loaded, own_utility = load_graph(graph or folder, len(texts))
    if available is not None:
        loaded, own_utility = only_available(loaded, own_utility, available)
        returned = np.bincount(loaded.exposure.values, minlength=len(texts)) > 0
        popularity = np.where(returned, popularity, 0.0)
    recorded = None
    if (folder / "recorded.json").exists():
        prefixes = json.loads(read_regular(folder / "recorded.json", None))
        recorded = RecordedPrefixes(
            prefixes,
            WeightedRows.load(folder, "recorded", below=len(texts), rows=len(prefixes)),
            load_array(folder / "recorded_of_query.npy", np.float32, shape=each),
        )
    return ExpectedUtilityRetriever(
        texts,
        PrefixMatcher.load(folder / MATCHER),
        loaded,
        prefix_probability=load_array(folder / "typed.npy", np.float32, shape=each),
        own_utility=own_utility,
        popularity=popularity,
        recorded=recorded,
        documents_in=load_affinity(folder, DOCUMENTS_IN, loaded.documents),
        queries_in=load_affinity(folder, QUERIES_IN, len(texts)),
        threads=threads,
    )


def save_affinity(affinity: Affinity, folder: Path, name: str) -> None:
    """Save a JSON file of values and one array per column."""
    (folder / f"{name}.json").write_text(json.dumps(affinity.values, ensure_ascii=False), encoding="utf-8")
    for number, column in enumerate(affinity.values):
        save_array(folder / f"{name}_{number}.npy", affinity.factors[column])


def load_affinity(folder: Path, name: str, owners: int) -> Affinity | None:
    """Map the files of `save_affinity` into memory; None if they do not exist."""
    if not (folder / f"{name}.json").exists():
        return None
    values = json.loads(read_regular(folder / f"{name}.json", None))
    factors = {
        column: load_array(folder / f"{name}_{number}.npy", np.float32, shape=(len(known) + 1, owners))
        for number, (column, known) in enumerate(values.items())
    }
    return Affinity(values, factors)
