"""A theory on disk: `theory.json` for numbers, `PART.parquet` for the columns of each part. Nothing is pickled."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wayword.engines import tables
from wayword.reproduction.theory.bounding import Bounding
from wayword.reproduction.theory.generalization import Generalization
from wayword.reproduction.theory.padding import Padding
from wayword.reproduction.theory.theory import Theory
from wayword.reproduction.theory.unbiasedness import Unbiasedness
from wayword.reproduction.theory.variance import Unbounded, Variance

PARTS = {
    "unbiasedness": Unbiasedness,
    "variance": Variance,
    "unbounded": Unbounded,
    "bounding": Bounding,
    "generalization": Generalization,
    "padding": Padding,
}
FILE = "theory.json"
Part = TypeVar("Part")


def save(theory: Theory, folder: Path) -> None:
    """Write a theory into a folder, which is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {"seed": theory.seed, "effort": theory.effort}
    for name in PARTS:
        part = getattr(theory, name)
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        columns = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet", compression="zstd")
        numbers[name] = {key: value for key, value in values.items() if key not in columns}
    tables.write_json(folder / FILE, numbers)


def load(folder: Path) -> Theory:
    """What `save` wrote, bit for bit."""
    numbers = json.loads((folder / FILE).read_text(encoding="utf-8"))
    parts: dict[str, Any] = {
        name: _part(kind, tables.read(folder, name), numbers[name]) for name, kind in PARTS.items()
    }
    return Theory(seed=numbers["seed"], effort=numbers["effort"], **parts)


def _part(kind: type[Part], table: pa.Table, numbers: dict[str, Any]) -> Part:
    return kind(**{name: _array(table[name]) for name in table.column_names}, **numbers)


def _array(column: pa.ChunkedArray) -> Any:
    """NumPy's own text instead of objects."""
    return np.array(column.to_pylist()) if pa.types.is_string(column.type) else column.to_numpy().copy()
