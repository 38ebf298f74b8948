"""The contexts of new searches, numbered after those that are known.

A search that was tested keeps its one cut when it becomes one to learn from.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from wayword.config import PrefixConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.logs import prefixes
from wayword.logs.columns import CONTEXT
from wayword.logs.stage import context_columns
from wayword.store.artefact import report_of
from wayword.store.stage import Folders, Report

_SEARCH_COLUMNS = ("search", "search_id", "split", "text", "prefix", "untyped")
"""The columns of the numbered searches that say what was typed, beside context columns."""


def write(out: Path, at: Folders, before: Folders, config: PrefixConfig) -> Report:
    """Write `instances` and `contexts` of the stage `contexts`."""
    columns = [CONTEXT + name for name in context_columns(at["log"])]
    searches = tables.read(at["rankings"], "numbered_searches", *_SEARCH_COLUMNS, *columns)
    known = np.isin(
        searches["search"].to_numpy(),
        tables.read(before["rankings"], "numbered_searches", "search")["search"].to_numpy(),
    )
    with tables_in(out) as engine:
        engine.load("numbered_searches", searches.filter(pa.array(~known)))
        clicked = tables.read(at["rankings"], "numbered_clicks", "search")
        engine.load(
            "numbered_clicks", clicked.filter(pa.array(np.isin(clicked["search"], searches["search"])))
        )
        report = prefixes.build(engine, config, columns)
        engine.load("known", tables.read(before["contexts"], "contexts"))
        same = " AND ".join(
            f"k.{name} IS NOT DISTINCT FROM c.{name}" for name in ["prefix", *map(engine.quote, columns)]
        )
        number = report_of(before["contexts"])["distinct contexts"]
        engine.step(
            "numbers",
            f"""SELECT c.context AS read_context, CAST(coalesce(k.context, {number} - 1 + row_number() OVER (
                         PARTITION BY k.context IS NULL ORDER BY c.context)) AS INTEGER) AS context
                FROM contexts AS c LEFT JOIN known AS k ON {same}""",
        )
        names = ", ".join(["prefix", *map(engine.quote, columns)])
        contexts = engine.arrow(
            f"""SELECT n.context, {names} FROM contexts AS c JOIN numbers AS n ON n.read_context = c.context
                WHERE n.context >= {number} ORDER BY n.context"""
        )
        instances = engine.arrow(
            """SELECT i.search, i.split, i.pass, n.context FROM instances AS i
               JOIN numbers AS n ON n.read_context = i.context ORDER BY i.search, i.pass"""
        )
    _append(out, "contexts", tables.read(before["contexts"], "contexts"), contexts)
    _append(out, "instances", _as_split(tables.read(before["contexts"], "instances"), searches), instances)
    earlier = report_of(before["contexts"])
    return {
        "distinct contexts": number + contexts.num_rows,
        "instances": earlier["instances"] + instances.num_rows,
        **{name: earlier[name] + n for name, n in report.items() if name.startswith("searches")},
    }


def _as_split(instances: pa.Table, searches: pa.Table) -> pa.Table:
    """The instances with the split that their searches have now."""
    place = np.searchsorted(searches["search"].to_numpy(), instances["search"].to_numpy())
    split = searches["split"].take(pa.array(place))
    return instances.set_column(instances.column_names.index("split"), "split", split)


def _append(out: Path, name: str, earlier: pa.Table, added: pa.Table) -> None:
    both = pa.concat_tables([earlier, added.select(earlier.column_names).cast(earlier.schema)])
    if name == "instances":
        search = both["search"].to_numpy()
        both = both.take(pa.array(np.argsort(search, kind="stable"))) if (np.diff(search) < 0).any() else both
    pq.write_table(both, out / f"{name}.parquet", compression="zstd")
