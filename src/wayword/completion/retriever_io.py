"""The graph retriever on disk: memory-mapped arrays, checked when they are loaded, and nothing that runs code."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import GraphRetriever, Recorded
from wayword.completion.prefix_matcher import Beginnings
from wayword.completion.sparse_topk import Graph
from wayword.demand.artefact import DEMAND, EXPOSURE, OWN
from wayword.store.arrays import load_array
from wayword.store.compressed_rows import WeightedRows

BEGINNINGS, DOCUMENTS_IN, QUERIES_IN = "beginnings", "documents_in", "queries_in"


def save(retriever: GraphRetriever, folder: Path) -> None:
    """All but the texts of the queries and how popular they are, which others keep."""
    retriever.graph.rates.save(folder, DEMAND)
    retriever.graph.returned.save(folder, EXPOSURE)
    np.save(folder / f"{OWN}.npy", retriever.own, allow_pickle=False)
    save_matching(retriever, folder)


def save_matching(retriever: GraphRetriever, folder: Path) -> None:
    """What is known of typed texts: all but the graph, which is the artefact `demand`."""
    np.save(folder / "typed.npy", retriever.typing, allow_pickle=False)
    retriever.beginnings.save(folder / BEGINNINGS)
    if recorded := retriever.recorded:
        recorded.searches.save(folder, "recorded")
        np.save(folder / "recorded_of_query.npy", recorded.of_query, allow_pickle=False)
        (folder / "recorded.json").write_text(
            json.dumps(recorded.prefixes, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    for kind, affinity in ((DOCUMENTS_IN, retriever.documents_in), (QUERIES_IN, retriever.queries_in)):
        if affinity:
            save_affinity(affinity, folder, kind)


def load_graph(folder: Path, queries: int, part: str = "") -> tuple[Graph, NDArray[np.float32]]:
    """Map demand, exposure and the queries' own utilities into memory; `part` is a folder with another demand."""
    exposure = WeightedRows.load(folder, EXPOSURE, below=queries)
    demand = WeightedRows.load(folder / part, DEMAND, below=len(exposure), rows=queries)
    own = load_array(folder / part / f"{OWN}.npy", np.float32, shape=(queries,))
    return Graph(demand, exposure, queries), own


def load(
    folder: Path,
    texts: Sequence[str],
    popularity: NDArray[np.int64],
    *,
    graph: Path | None = None,
    threads: int = 1,
) -> GraphRetriever:
    """Map the files of `save` into memory; where the graph is in another folder, the files of `save_matching`."""
    each = (len(texts),)
    if popularity.shape != each:
        raise ValueError(
            f"found {popularity.shape} popularities, expected one for each of {len(texts)} queries"
        )
    loaded, own = load_graph(graph or folder, len(texts))
    recorded = None
    if (folder / "recorded.json").exists():
        prefixes = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
        recorded = Recorded(
            prefixes,
            WeightedRows.load(folder, "recorded", below=len(texts), rows=len(prefixes)),
            load_array(folder / "recorded_of_query.npy", np.float32, shape=each),
        )
    return GraphRetriever(
        texts,
        Beginnings.load(folder / BEGINNINGS),
        loaded,
        typed=load_array(folder / "typed.npy", np.float32, shape=each),
        own=own,
        popularity=popularity,
        recorded=recorded,
        documents_in=load_affinity(folder, DOCUMENTS_IN, loaded.documents),
        queries_in=load_affinity(folder, QUERIES_IN, len(texts)),
        threads=threads,
    )


def save_affinity(affinity: Affinity, folder: Path, name: str) -> None:
    """A JSON file of values and one array per column."""
    (folder / f"{name}.json").write_text(json.dumps(affinity.values, ensure_ascii=False), encoding="utf-8")
    for number, column in enumerate(affinity.values):
        np.save(folder / f"{name}_{number}.npy", affinity.factors[column], allow_pickle=False)


def load_affinity(folder: Path, name: str, owners: int) -> Affinity | None:
    """Map the files of `save_affinity` into memory; None if there are none."""
    if not (folder / f"{name}.json").exists():
        return None
    values = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    factors = {
        column: load_array(folder / f"{name}_{number}.npy", np.float32, shape=(len(known) + 1, owners))
        for number, (column, known) in enumerate(values.items())
    }
    return Affinity(values, factors)
