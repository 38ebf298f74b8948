"""Stage `contexts`: the distinct `contexts`, and `instances`, the contexts of each search."""

from pathlib import Path

import pyarrow as pa

from wayword.config import PrefixConfig
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.logs import prefixes
from wayword.logs.columns import CONTEXT
from wayword.logs.stage import context_columns
from wayword.store.stage import Folders, Report


def write(out: Path, at: Folders, config: PrefixConfig) -> Report:
    """Write `instances` and `contexts`."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_searches", "numbered_clicks")
        report = prefixes.build(engine, config, [CONTEXT + name for name in context_columns(at["log"])])
        tables.save(engine, out, "instances", "search, pass")
        tables.save(engine, out, "contexts", "context")
    return report


def load(folder: Path) -> pa.Table:
    """Read the contexts with the column names of the log; row i is context i."""
    contexts = tables.read(folder, "contexts").drop_columns(["context"])
    return contexts.rename_columns([name.removeprefix(CONTEXT) for name in contexts.column_names])
