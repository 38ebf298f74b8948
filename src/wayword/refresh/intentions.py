"""What people intended who took a suggestion, with new lists shown. The acceptance model stays that of the full run.

The posterior of new searches is that of a model fitted to the new lists alone. It includes test searches, because the
next refresh learns from them.
"""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wayword.completion import shown_lists
from wayword.completion.acceptance import MODEL
from wayword.completion.acceptance_learning import learn
from wayword.completion.acceptance_stage import numbered, universe_before_demand
from wayword.completion.popular import INTENDED
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.progress import Progress
from wayword.refresh.numbering import moved
from wayword.store.artefact import report_of
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report


def write(
    out: Path, at: Folders, before: Folders, completions: InputFile | None, progress: Progress
) -> Report:
    """Write the model and the table `intended` of the stage `acceptance`."""
    shutil.copyfile(before["acceptance"] / MODEL, out / MODEL)
    number = moved(before["rankings"], at["rankings"], "queries", "text")
    earlier = tables.read(before["acceptance"], INTENDED)
    query = pa.array(number[earlier["query"].to_numpy()].astype(np.int32))
    parts = [earlier.set_column(earlier.column_names.index("query"), "query", query)]
    if completions is not None:
        new = _intended(out, at, completions, progress)
        known = pc.is_in(new["search"], value_set=earlier["search"].combine_chunks())
        parts.append(new.filter(pc.invert(known)).select(earlier.column_names).cast(earlier.schema))
    table = pa.concat_tables(parts).sort_by([("search", "ascending"), ("query", "ascending")])
    pq.write_table(table, out / f"{INTENDED}.parquet", compression="zstd")
    return report_of(before["acceptance"])


def _intended(out: Path, at: Folders, completions: InputFile, progress: Progress) -> pa.Table:
    searches = tables.read(at["rankings"], "numbered_searches", "search", "search_id", "split", "query")
    logged = searches.filter(pc.not_equal(searches["split"], "test"))["search_id"].combine_chunks()
    with tables_in(out) as engine:
        universe = universe_before_demand(engine, at)
        joined = shown_lists.read(engine, completions, universe.texts).in_log(
            searches.select(["search_id", "split", "query"])
        )
    joined.check(str(completions))
    issued = universe.retriever.popularity.astype(np.float64)
    return numbered(learn(joined.agreeing(), universe, issued, logged, progress), searches)
