"""The embedded catalogue: Debian's packages, their titles and how they relate (see ATTRIBUTION.md).

A catalogue is a table with the columns `package`, `title`, `section`, and for each kind of relation a list of
row numbers. The worlds take it as an argument, so tests pass a small one.
"""

from importlib.resources import as_file, files

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

KINDS = ("depends", "recommends", "suggests", "enhances")


def load_catalogue() -> pa.Table:
    """Read the packages of Debian 12, sorted by name.

    >>> load_catalogue().select(["package", "title", "section"]).slice(0, 1).to_pylist()
    [{'package': '0ad', 'title': 'Real-time strategy game of ancient warfare', 'section': 'games'}]
    """
    with as_file(files("wayword.simulation") / "debian.parquet") as path:
        return pq.read_table(path)


def relations(catalogue: pa.Table) -> NDArray[np.int64]:
    """Return the distinct pairs (package, related package) of every kind of relation as two sorted columns.

    >>> catalogue = pa.table({"package": ["mpv", "yt-dlp"], "title": ["", ""], "depends": [[1], []],
    ...     "recommends": [[1], []], "suggests": [[], [0]], "enhances": [[], [0]]})
    >>> relations(catalogue).tolist()
    [[0, 1], [1, 0]]
    """
    pairs = [np.zeros((0, 2), np.int64)]
    for kind in KINDS:
        column = catalogue[kind].combine_chunks()
        targets = pc.list_flatten(column).to_numpy(zero_copy_only=False)
        sources = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
        pairs.append(np.column_stack([sources, targets]).astype(np.int64))
    return np.unique(np.concatenate(pairs), axis=0)


def related_counts(catalogue: pa.Table) -> NDArray[np.int64]:
    """Count the packages that relate to each package."""
    return np.bincount(relations(catalogue)[:, 1], minlength=catalogue.num_rows)
