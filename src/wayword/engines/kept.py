"""A table of an artefact that stays in the storage of an engine: the artefact says where it is."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from wayword.engines.storage import Storage
from wayword.errors import ClusterError
from wayword.store.artefact import read_object

SUFFIX = ".kept.json"


@dataclass(frozen=True)
class Kept:
    """The folder at `url` has `rows` rows with these columns; sorted by `order`, they are the table."""

    url: str
    rows: int
    order: tuple[str, ...]
    columns: pa.Schema

    @classmethod
    def of(cls, path: Path) -> "Kept | None":
        """What `write` wrote beside the name `path` of a table; None if the table is there itself."""
        file = path.with_name(path.stem + SUFFIX)
        if path.exists() or not file.exists():
            return None
        known = read_object(file)
        columns = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(known["columns"])))
        return cls(known["url"], known["rows"], tuple(known["order"]), columns)

    def write(self, path: Path) -> None:
        """Write beside the name `path` of a table where it is."""
        columns = self.columns.serialize().to_pybytes().hex()
        value = {"url": self.url, "rows": self.rows, "order": list(self.order), "columns": columns}
        path.with_name(path.stem + SUFFIX).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")

    def read(self, columns: Sequence[str] = ()) -> pa.Table:
        """The table, or some of its columns, in its order."""
        if not self.rows:
            return self.columns.empty_table().select(list(columns) or self.columns.names)
        known = list(dict.fromkeys([*columns, *self.order])) if columns else None
        rows = self.storage().read(known)
        ordered = rows.sort_by([(name, "ascending") for name in self.order])
        return ordered.select(list(columns)) if columns else ordered

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns of the rows, file by file, in no particular order."""
        if self.rows:
            yield from (batch.select(list(columns)) for batch in self.storage().batches(columns))
        else:
            yield self.columns.empty_table().select(list(columns))

    def storage(self) -> Storage:
        """The folder of the rows; an error if it is gone."""
        storage = Storage.at(self.url)
        if not storage.listing():
            raise ClusterError(
                f"The table {self.url} is gone; expected {self.rows:,} rows. Run again with another --out, or put the "
                "folder back."
            )
        return storage


def pruned(tables: Storage, artefacts: Path) -> None:
    """Remove tables in a folder that no artefact of a workspace names."""
    named = {json.loads(file.read_text(encoding="utf-8"))["url"] for file in artefacts.glob(f"*/*{SUFFIX}")}
    for name in tables.folders():
        if tables.under(name).url not in named:
            tables.under(name).remove()
