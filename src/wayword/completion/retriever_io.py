"""The graph retriever on disk: arrays that are mapped into memory and looked over, and nothing that runs code."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.context_affinity import Affinity
from wayword.completion.expected_utility import GraphRetriever, Recorded
from wayword.completion.prefix_matcher import Beginnings
from wayword.completion.sparse_topk import Graph, Rows
from wayword.store.arrays import check_numbers, check_starts, mapped

BEGINNINGS, DOCUMENTS_IN, QUERIES_IN = "beginnings", "documents_in", "queries_in"


def save(retriever: GraphRetriever, folder: Path) -> None:
    """All but the texts of the queries and how popular they are, which others keep."""
    save_rows(retriever.graph.rates, folder, "rates")
    save_rows(retriever.graph.returned, folder, "returned")
    np.save(folder / "typed.npy", retriever.typing, allow_pickle=False)
    np.save(folder / "own.npy", retriever.own, allow_pickle=False)
    retriever.beginnings.save(folder / BEGINNINGS)
    if recorded := retriever.recorded:
        save_rows(recorded.searches, folder, "recorded")
        np.save(folder / "recorded_of_query.npy", recorded.of_query, allow_pickle=False)
        (folder / "recorded.json").write_text(
            json.dumps(recorded.prefixes, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    for kind, affinity in ((DOCUMENTS_IN, retriever.documents_in), (QUERIES_IN, retriever.queries_in)):
        if affinity:
            save_affinity(affinity, folder, kind)


def load(
    folder: Path, texts: Sequence[str], popularity: NDArray[np.int64], *, threads: int = 1
) -> GraphRetriever:
    """What `save` wrote."""
    returned = load_rows(folder, "returned", len(texts))
    recorded = None
    if (folder / "recorded.json").exists():
        prefixes = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
        recorded = Recorded(
            prefixes,
            load_rows(folder, "recorded", len(texts), len(prefixes)),
            mapped(folder / "recorded_of_query.npy", np.float32),
        )
    typed, own = mapped(folder / "typed.npy", np.float32), mapped(folder / "own.npy", np.float32)
    for array in (typed, own, popularity):
        if array.shape != (len(texts),):
            raise ValueError(f"found {array.shape} numbers, expected one for each of {len(texts)} queries")
    return GraphRetriever(
        texts,
        Beginnings.load(folder / BEGINNINGS),
        Graph(load_rows(folder, "rates", len(returned), len(texts)), returned, len(texts)),
        typed=typed,
        own=own,
        popularity=popularity,
        recorded=recorded,
        documents_in=load_affinity(folder, DOCUMENTS_IN, len(returned)),
        queries_in=load_affinity(folder, QUERIES_IN, len(texts)),
        threads=threads,
    )


def save_rows(rows: Rows, folder: Path, name: str) -> None:
    """Three files that `load_rows` maps into memory."""
    for part in ("starts", "column", "value"):
        np.save(folder / f"{name}_{part}.npy", getattr(rows, part), allow_pickle=False)


def load_rows(folder: Path, name: str, columns: int, rows: int | None = None) -> Rows:
    """What `save_rows` wrote of a matrix of that size; it stays on disk until it is used."""
    found = Rows(
        mapped(folder / f"{name}_starts.npy", np.int64),
        mapped(folder / f"{name}_column.npy", np.int32),
        mapped(folder / f"{name}_value.npy", np.float32),
    )
    check_starts(found.starts, len(found.column))
    check_starts(found.starts, len(found.value))
    check_numbers(found.column, columns)
    if rows is not None and len(found) != rows:
        raise ValueError(f"found {len(found)} rows of {name}, expected {rows}")
    return found


def save_affinity(affinity: Affinity, folder: Path, name: str) -> None:
    """A JSON file of values and one array per column."""
    (folder / f"{name}.json").write_text(json.dumps(affinity.values, ensure_ascii=False), encoding="utf-8")
    for number, column in enumerate(affinity.values):
        np.save(folder / f"{name}_{number}.npy", affinity.factors[column], allow_pickle=False)


def load_affinity(folder: Path, name: str, owners: int) -> Affinity | None:
    """What `save_affinity` wrote, if anything."""
    if not (folder / f"{name}.json").exists():
        return None
    values = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    factors = {
        column: mapped(folder / f"{name}_{number}.npy", np.float32) for number, column in enumerate(values)
    }
    for column, known in values.items():
        if factors[column].shape != (len(known) + 1, owners):
            raise ValueError(
                f"found factors {factors[column].shape} of {column}, expected {len(known) + 1} × {owners}"
            )
    return Affinity(values, factors)
