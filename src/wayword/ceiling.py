"""The ceiling of a simulated world: the best that any policy could do that does not know the clicked document.

It sorts the universe by the exact expectation of û given the context and a click, under the world's own law:

    E[û(s, q) | x, click]  ∝  Σ over (q̄, a) of  π(x | q̄) · mass(q̄, a) · p[rank_q(a)]

where mass(q̄, a) is the probability that a search issues q̄, that the person wants a, and that q̄ returns a; and
π(x | q̄) = 1/(number of admissible cuts) for each cut x of q̄. This is demand · exposure with the true demand.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.config import PrefixConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.graph import best_queries, exposure
from wayword.logs.log import forms
from wayword.logs.prefixes import table_of_cuts
from wayword.retrieval.candidates import Candidates


def ceiling(
    engine: Engine, truth: Path, contexts: NDArray[np.int32], config: PrefixConfig, k: int
) -> Candidates:
    """The best k queries for each of the numbered contexts, whose extra columns the world's law does not speak of.

    Needs `queries`, `documents`, `rankings`, `propensity`, `contexts` and `numbered_searches`.
    """
    demand = true_demand(engine, truth, contexts, config)
    shape = tuple(
        int(engine.arrow(f"SELECT count(*) AS n FROM {t}")["n"][0].as_py()) for t in ("queries", "documents")
    )
    table = engine.arrow("SELECT rank, p FROM propensity ORDER BY rank")
    return best_queries(demand, exposure(engine.arrow("rankings"), table, (shape[0], shape[1])), k)


def true_demand(engine: Engine, truth: Path, contexts: NDArray[np.int32], config: PrefixConfig) -> csr_array:
    """The demand of each numbered context (rows) for each document (columns) under the world's law, up to a factor."""
    if engine.arrow("SELECT count(*) AS n FROM numbered_searches WHERE prefix IS NOT NULL")["n"][0].as_py():
        raise LogError(
            "The log records prefixes, and the truth does not say how people type them: no ceiling is known."
        )
    engine.read("truth", truth)
    names = [name for name in engine.columns("truth") if name != "input_row"]
    if not {"query", "document", "mass"} <= set(names):
        raise LogError(f"{truth} has the columns {', '.join(names)}; expected query, document and mass.")
    forms(engine, "true_forms", "SELECT DISTINCT query FROM truth")
    texts = engine.arrow("SELECT DISTINCT text FROM true_forms ORDER BY text")["text"].to_pylist()
    engine.load("true_cuts", table_of_cuts(texts, config))
    engine.load("asked", pa.table({"context": contexts, "place": np.arange(len(contexts), dtype=np.int32)}))
    rows = engine.arrow(
        """
        SELECT a.place, d.document, t.mass / c.cuts AS mass
        FROM truth AS t JOIN true_forms AS f ON f.raw = t.query JOIN true_cuts AS c ON c.text = f.text
        JOIN contexts AS x ON x.prefix = c.prefix JOIN asked AS a ON a.context = x.context
        JOIN documents AS d ON d.id = t.document
        ORDER BY a.place, d.document, f.raw
        """
    )
    documents = int(engine.arrow("SELECT count(*) AS n FROM documents")["n"][0].as_py())
    place, document = rows["place"].to_numpy(), rows["document"].to_numpy()
    return csr_array((rows["mass"].to_numpy(), (place, document)), shape=(len(contexts), documents))
