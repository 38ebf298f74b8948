"""contexts: `instances` (which search shows which context) and `contexts`."""

from pathlib import Path

import pyarrow as pa

from wayword import tables
from wayword.config import PrefixConfig
from wayword.logs import prefixes
from wayword.stages import Folders, Report, tables_in
from wayword.stages.log import context_columns


def write(out: Path, at: Folders, config: PrefixConfig) -> Report:
    """Fill `out`."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_searches", "numbered_clicks")
        report = prefixes.build(engine, config, context_columns(at["log"]))
        tables.save(engine, out, "instances", "search, pass")
        tables.save(engine, out, "contexts", "context")
    return report


def load(folder: Path) -> pa.Table:
    """The contexts without their numbers: row i is context i."""
    return tables.read(folder, "contexts").drop_columns(["context"])
