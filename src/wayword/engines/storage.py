"""Folders that an engine and this process both see, by URL: s3://, gs://, abfss://, hdfs:// or file://.

A cluster writes its tables there; this process reads those that a model needs, and writes small ones for the cluster.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from wayword.errors import ClusterError

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ALIASES = {"s3a": "s3", "s3n": "s3"}
"""Names of a scheme that Hadoop has and Arrow does not."""
PART = "part-0.parquet"
STEPS = "steps-"
"""Folders of the steps of a stage under way begin so."""


def is_url(place: str | Path) -> bool:
    """Whether this is a URL and not a path of this machine.

    >>> is_url("s3://bucket/log"), is_url("/data/log.parquet"), is_url("C:/log.parquet")
    (True, False, False)
    """
    return bool(_URL.match(str(place)))


@dataclass(frozen=True)
class Storage:
    """A folder or file: `url` is its name for the engine, `path` its name in `files`."""

    url: str
    files: fs.FileSystem
    path: str

    @classmethod
    def at(cls, place: str | Path) -> "Storage":
        """The folder or file at a URL, or at a path of this machine."""
        url = str(place) if is_url(place) else Path(place).absolute().as_uri()
        scheme, rest = url.rstrip("/").split("://", 1)
        try:
            files, path = fs.FileSystem.from_uri(f"{_ALIASES.get(scheme.lower(), scheme.lower())}://{rest}")
        except (OSError, ValueError, pa.ArrowException) as problem:
            raise ClusterError(f"Cannot open {url} from this machine: {brief(problem)}") from problem
        return cls(f"{scheme}://{rest}", files, path)

    def under(self, name: str) -> "Storage":
        """A folder or file in this folder."""
        return Storage(f"{self.url}/{name}", self.files, f"{self.path}/{name}")

    def write(self, table: pa.Table) -> None:
        """Write a table as the only file of this folder."""
        self._write(table.schema, table.to_batches())

    def upload(self, file: Path) -> None:
        """Copy a Parquet file of this machine, as the only file of this folder."""
        with pq.ParquetFile(file) as rows:
            self._write(rows.schema_arrow, rows.iter_batches())

    def _write(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Without statistics of floats: they leave out NaN, and Sail reads a column whose least and greatest number are
        equal as if it had no other."""
        self.files.create_dir(self.path, recursive=True)
        known = [field.name for field in schema if not pa.types.is_floating(field.type)]
        part = f"{self.path}/{PART}"
        with pq.ParquetWriter(
            part, schema, filesystem=self.files, compression="zstd", write_statistics=known or False
        ) as out:
            for batch in batches:
                out.write_batch(batch)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of all Parquet files of this folder, in no particular order."""
        return pq.read_table(self.path, columns=list(columns) if columns else None, filesystem=self.files)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Columns of the rows in parts, file by file."""
        for one in self.listing():
            with self.files.open_input_file(one.path) as file:
                for batch in pq.ParquetFile(file).iter_batches(columns=list(columns)):
                    yield pa.Table.from_batches([batch])

    def schema(self) -> pa.Schema:
        """The columns of a Parquet file, or of the first one of this folder."""
        found = [one for one in self.listing() if one.size]
        if not found:
            raise ClusterError(f"{self.url} has no file with rows; expected Parquet files.")
        return pq.read_schema(found[0].path, filesystem=self.files)

    def listing(self) -> list[fs.FileInfo]:
        """The files of this folder by name, or the file itself; none if there is nothing."""
        try:
            here = self.files.get_file_info(self.path)
            if here.type == fs.FileType.File:
                return [here]
            selector = fs.FileSelector(self.path, recursive=True, allow_not_found=True)
            found = [one for one in self.files.get_file_info(selector) if one.type == fs.FileType.File]
        except (OSError, pa.ArrowException) as problem:
            raise ClusterError(f"Cannot read {self.url} from this machine: {brief(problem)}") from problem
        return sorted(
            (one for one in found if not one.base_name.startswith(("_", "."))), key=lambda one: one.path
        )

    def folders(self) -> list[str]:
        """The names of the folders in this one; none if it is not there."""
        if self.files.get_file_info(self.path).type != fs.FileType.Directory:
            return []
        found = self.files.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(one.base_name for one in found if one.type == fs.FileType.Directory)

    def digest(self) -> str:
        """A hash of names, sizes and times of the files; of their content nothing is read."""
        stamps = [f"{one.path}\t{one.size}\t{one.mtime_ns}" for one in self.listing()]
        return hashlib.sha256("\n".join(stamps).encode()).hexdigest()

    def remove(self) -> None:
        """Remove this folder, if it is there."""
        if self.files.get_file_info(self.path).type != fs.FileType.NotFound:
            self.files.delete_dir(self.path)


def brief(problem: Exception) -> str:
    """The first line of an error, at most 500 characters."""
    return str(problem).strip().split("\n")[0][:500]
