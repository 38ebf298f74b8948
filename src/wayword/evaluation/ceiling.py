"""The ceiling of a simulated world: the best policy that does not know the clicked document.

It ranks all queries by the exact expectation of û given the context and a click, under the true distribution:

    E[û(s, q) | x, c, click]  ∝  Σ over (q̄, a) of  π(x | q̄) · mass(q̄, a, c) · p[rank_q(a)]

where mass(q̄, a, c) is the probability that a search issues q̄, that the user wants a, that q̄ returns a, and that the
log's context columns have the values c; and π(x | q̄) = 1/(number of admissible cuts) for each cut x of q̄. This is
demand · exposure with the true demand. c has the context columns common to the truth and the log: masses are summed
over the other columns of the truth, and the other columns of the log are ignored.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion.candidates import Candidates
from wayword.completion.popular import LAST
from wayword.completion.sparse_topk import best_queries
from wayword.config import PrefixConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import column_types
from wayword.logs.columns import CONTEXT, context_value
from wayword.logs.log import forms
from wayword.logs.prefixes import table_of_cuts
from wayword.propensity.exposure import exposure
from wayword.store.compressed_rows import WeightedRows
from wayword.store.input_file import InputFile

LAW = ("query", "document", "mass")
"""The columns of every truth table; any further column is a context column of the simulated log."""
LAW_TYPES = {
    "query": column_types.PLAIN_TEXT,
    "document": column_types.PLAIN_TEXT,
    "mass": column_types.REAL,
}


def ceiling(
    engine: Engine,
    truth: Path | InputFile,
    contexts: NDArray[np.int32],
    config: PrefixConfig,
    k: int,
    *,
    prefixed: bool = False,
) -> Candidates:
    """The best k queries for each of the numbered contexts; with `prefixed`, only completions of the prefix.

    Needs `queries`, `documents`, `rankings`, `propensity`, `contexts` and `numbered_searches`.
    """
    demand = true_demand(engine, truth, contexts, config)
    shape = tuple(
        int(engine.arrow(f"SELECT count(*) AS n FROM {t}")["n"][0].as_py()) for t in ("queries", "documents")
    )
    table = engine.arrow("SELECT rank, p FROM propensity ORDER BY rank")
    within = _completions(engine, contexts) if prefixed else None
    return best_queries(
        demand, exposure(engine.arrow("rankings"), table, (shape[0], shape[1])), k, within=within
    )


def _completions(engine: Engine, contexts: NDArray[np.int32]) -> WeightedRows:
    """The queries that start with the prefix of each context and are longer. Query numbers are in text order."""
    texts = engine.arrow("SELECT text FROM queries ORDER BY query")["text"].to_pylist()
    typed = (
        engine.arrow("SELECT prefix FROM contexts ORDER BY context")["prefix"]
        .take(pa.array(contexts))
        .to_pylist()
    )
    low = np.array([bisect_right(texts, prefix) for prefix in typed], np.int64)
    high = np.array([bisect_left(texts, prefix + LAST) for prefix in typed], np.int64)
    starts = np.r_[0, np.cumsum(high - low)]
    query = (np.arange(starts[-1]) + np.repeat(low - starts[:-1], high - low)).astype(np.int32)
    return WeightedRows(starts, query, np.ones(len(query), np.float32))


def true_demand(
    engine: Engine, truth: Path | InputFile, contexts: NDArray[np.int32], config: PrefixConfig
) -> csr_array:
    """The true demand of each numbered context (rows) for each document (columns), up to a factor."""
    if engine.arrow("SELECT count(*) AS n FROM numbered_searches WHERE prefix IS NOT NULL")["n"][0].as_py():
        raise LogError(
            "The log records prefixes, whose distribution the truth does not contain, so no ceiling is known. "
            "Run without the truth, or leave out the column `prefix`."
        )
    engine.read("truth", truth)
    names = [name for name in engine.columns("truth") if name != "input_row"]
    if not {*LAW} <= set(names):
        raise LogError(f"{truth} has the columns {', '.join(names)}; expected query, document and mass.")
    column_types.check(engine, "truth", LAW_TYPES, source=str(truth))
    shared = [name for name in names if name not in LAW and CONTEXT + name in engine.columns("contexts")]
    _masses(engine, shared)
    forms(engine, "true_forms", "SELECT DISTINCT query FROM truth")
    texts = engine.arrow("SELECT DISTINCT text FROM true_forms ORDER BY text")["text"].to_pylist()
    engine.load("true_cuts", table_of_cuts(texts, config))
    engine.load("asked", pa.table({"context": contexts, "place": np.arange(len(contexts), dtype=np.int32)}))
    stored = [engine.quote(CONTEXT + name) for name in shared]
    rows = engine.arrow(
        f"""
        SELECT a.place, d.document, t.mass / c.cuts AS mass
        FROM true_masses AS t JOIN true_forms AS f ON f.raw = t.query JOIN true_cuts AS c ON c.text = f.text
        JOIN contexts AS x ON x.prefix = c.prefix {"".join(f" AND x.{n} IS NOT DISTINCT FROM t.{n}" for n in stored)}
        JOIN asked AS a ON a.context = x.context
        JOIN documents AS d ON d.document_id = t.document
        ORDER BY a.place, d.document, f.raw
        """
    )
    documents = int(engine.arrow("SELECT count(*) AS n FROM documents")["n"][0].as_py())
    place, document = rows["place"].to_numpy(), rows["document"].to_numpy()
    return csr_array((rows["mass"].to_numpy(), (place, document)), shape=(len(contexts), documents))


def _masses(engine: Engine, shared: Sequence[str]) -> None:
    """Step `true_masses`: the truth summed over columns that the contexts lack; other columns typed as in the log.

    A column that is numeric in the log is compared as a number.
    """
    kinds = engine.columns("contexts")
    values = {
        engine.quote(CONTEXT + name): context_value(
            engine, "truth", name, number=kinds[CONTEXT + name].upper() in ("FLOAT", "DOUBLE")
        )
        for name in shared
    }
    engine.step(
        "true_masses",
        f"""
        SELECT query, document {"".join(f", {n}" for n in values)}, {engine.ordered_sum("mass", "input_row")} AS mass
        FROM (SELECT input_row, query, document, mass {"".join(f", {v} AS {n}" for n, v in values.items())} FROM truth)
             AS valued
        GROUP BY query, document {"".join(f", {n}" for n in values)}
        """,
    )
