"""Which documents can be had: read, checked, and what does not depend on it."""

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wayword.errors import LogError
from wayword.rankings.availability import digest_without, load, write
from wayword.store.input_file import InputFile

DOCUMENTS = ["a", "b", "c"]


def described(folder: Path, form: str, **columns: list[Any]) -> InputFile:
    path = folder / f"documents.{form}"
    if form == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return InputFile(path)


def mask(folder: Path, documents: InputFile, *, needed: bool = True) -> list[bool]:
    pq.write_table(
        pa.table({"document": range(len(DOCUMENTS)), "document_id": DOCUMENTS}), folder / "documents.parquet"
    )
    out = folder / "out"
    out.mkdir(exist_ok=True)
    write(out, {"rankings": folder}, documents, needed=needed)
    found: list[bool] = load(out, len(DOCUMENTS)).tolist()
    return found


@pytest.fixture
def given(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    return tmp_path / "given"


@pytest.mark.parametrize(
    ("form", "values"), [("parquet", [True, False, False]), ("csv", ["True", "false", "0"])]
)
def test_only_the_column_decides(tmp_path: Path, given: Path, form: str, values: list[Any]) -> None:
    """ "x" is in no ranking, and "c" is in no row of the table."""
    documents = described(given, form, document=["a", "b", "x"], title=["A", "B", "X"], available=values)
    assert mask(tmp_path, documents) == [True, False, True]
    plain = described(given, "csv", document=["a"], title=["A"])
    assert mask(tmp_path, plain, needed=False) == [True, True, True]


def test_values_that_say_nothing_are_refused(tmp_path: Path, given: Path) -> None:
    for column, message in (
        (["yes", "true", ""], "2 values of the column available are neither true nor false"),
        (["true", "true", "maybe"], "row 3: document='a', available='maybe'"),
        (["true", "true", "false"], "2 values of the column available are of a document that has both"),
    ):
        documents = described(given, "csv", document=["a", "b", "a"], available=column)
        with pytest.raises(LogError, match=message):
            mask(tmp_path, documents)
    with pytest.raises(LogError, match="expected document and available"):
        mask(tmp_path, described(given, "csv", document=["a"], title=["A"]))


def test_what_does_not_depend_on_it_has_the_same_hash(given: Path) -> None:
    def digest(available: list[str] | None, title: str = "A", first: str = "a") -> str:
        columns: dict[str, list[Any]] = {"document": [first, "b"], "title": [title, "B"]}
        if available:
            columns["available"] = available
        return digest_without(described(given, "csv", **columns))

    assert digest(["true", "true"]) == digest(["false", "true"])
    assert (
        len({digest(["true", "true"]), digest(["true", "true"], "A2"), digest(["true", "true"], "A", "x")})
        == 3
    )
    assert digest(None) == described(given, "csv", document=["a", "b"], title=["A", "B"]).digest
