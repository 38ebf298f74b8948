"""Stage `availability`: which documents can be had, by the column `available` of the document table.

Nothing that is learned depends on it, so a new table with other values in this column needs only a new index.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.engines import Engine, tables
from wayword.engines.tables import tables_in
from wayword.errors import LogError
from wayword.logs import column_types
from wayword.logs.checks import EXAMPLES, describe
from wayword.logs.columns import as_text
from wayword.store.arrays import load_array, save_array
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report

COLUMN = "available"
STAGE = "availability"


def write(out: Path, at: Folders, documents: InputFile, *, needed: bool = False) -> Report:
    """Write a mask of the documents of `rankings`. A document that the table does not have is available, and so are
    all where it has no such column, unless the column is `needed`."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "documents")
        gone = _unavailable(engine, documents, needed=needed)
        rows = engine.arrow(
            "SELECT document FROM documents WHERE document_id IN (SELECT document_id FROM gone)"
        )
        mask = np.ones(tables.rows(at["rankings"], "documents"), np.bool_)
    mask[rows["document"].to_numpy()] = False
    return {**save(out, mask), "of no ranking": gone - int((~mask).sum())}


def save(out: Path, mask: NDArray[np.bool_]) -> Report:
    """Write the mask of the documents that can be had."""
    save_array(out / f"{COLUMN}.npy", mask)
    return {"unavailable documents": int((~mask).sum())}


def _unavailable(engine: Engine, documents: InputFile, *, needed: bool) -> int:
    """Step `gone` (document_id): the documents that cannot be had. Returns their number."""
    engine.read("described", documents)
    names = [name for name in engine.columns("described") if name != "input_row"]
    wanted = ("document", COLUMN) if needed else ("document",)
    if missing := [name for name in wanted if name not in names]:
        raise LogError(
            f"{documents} has the columns {', '.join(names)}; expected document and {COLUMN}. "
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing."
        )
    if COLUMN not in names:
        engine.load("gone", pa.table({"document_id": pa.array([], pa.string())}))
        return 0
    kinds = {"document": column_types.TEXT, COLUMN: column_types.VALUE}
    column_types.check(engine, "described", kinds, source=str(documents))
    document, stated = (as_text(engine, "described", name) for name in ("document", COLUMN))
    engine.step(
        "stated",
        f"""SELECT input_row, {document} AS document, {stated} AS stated,
                   CASE WHEN lower({stated}) IN ('true', '1') THEN true
                        WHEN lower({stated}) IN ('false', '0') THEN false END AS available
            FROM described""",
    )
    _refuse(engine, documents, "neither true nor false (or 1, 0)", "available IS NULL")
    both = "SELECT document FROM stated GROUP BY document HAVING min(available) <> max(available)"
    _refuse(engine, documents, "of a document that has both", f"document IN ({both})")
    engine.step("gone", "SELECT DISTINCT document AS document_id FROM stated WHERE NOT available")
    return int(engine.arrow("SELECT count(*) AS n FROM gone")["n"][0].as_py())


def _refuse(engine: Engine, documents: InputFile, what: str, bad: str) -> None:
    """Raise an error that shows the rows for which `bad` holds, if there are any."""
    count = engine.arrow(f"SELECT count(*) AS n FROM stated WHERE {bad}")["n"][0].as_py()
    if not count:
        return
    rows = engine.arrow(
        f"""SELECT input_row, document, coalesce(stated, '') AS {COLUMN} FROM stated WHERE {bad}
            ORDER BY input_row LIMIT {EXAMPLES}"""
    ).to_pylist()
    examples = "\n".join(f"    {describe(row)}" for row in rows)
    raise LogError(
        f"{documents}: {count:,} values of the column {COLUMN} are {what}; expected true or false for each document. "
        f"For example:\n{examples}"
    )


def load(folder: Path, documents: int) -> NDArray[np.bool_]:
    """Read the mask."""
    return load_array(folder / f"{COLUMN}.npy", np.bool_, shape=(documents,))


def digest_without(documents: InputFile, spill: Path | None = None) -> str:
    """The hash of a document table but for the column `available`, for what does not depend on it."""
    from wayword.engines.duck import DuckDB

    engine = DuckDB(spill=spill)
    try:
        engine.read("described", documents)
        columns = [name for name in engine.columns("described") if name not in ("input_row", COLUMN)]
        if COLUMN not in engine.columns("described"):
            return documents.digest
        cells = ", ".join(f"coalesce(md5(CAST({engine.quote(name)} AS STRING)), '')" for name in columns)
        rows = engine.arrow(
            f"""SELECT md5(string_agg(md5(concat_ws(',', {cells})), '' ORDER BY input_row)) AS rows FROM described"""
        )
        return f"{','.join(columns)}/{rows['rows'][0].as_py()}"
    finally:
        engine.close()
