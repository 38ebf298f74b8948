"""A known world: a simulated one whose law is known, so that the utility of any list is computed, not estimated.

The utility of a query for those who typed a text and then clicked, as a multiple of that of the query they issued, is

    Σ over (q̄, a) of π(x | q̄) · mass(q̄, a) · p[rank_q(a)]  /  Σ over (q̄, a) of π(x | q̄) · mass(q̄, a) · p[rank_q̄(a)]

(see `wayword.evaluation.ceiling`). Utility@k is its mean over the test searches, the places of a list weighted as in
`wayword.evaluation`.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from wayword import Workspace
from wayword.completion.popular import popularity
from wayword.engines import Engine, tables
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation.ceiling import true_demand
from wayword.evaluation.stage import contexts_tested
from wayword.logs import contexts_stage as contexts
from wayword.propensity.exposure import exposure
from wayword.text import normalise
from wayword.utility import position_weights


@dataclass(frozen=True)
class KnownWorld:
    """The queries with how often the training log has them, and the texts that the test searches show."""

    texts: list[str]
    popularity: NDArray[np.float64]
    typed: list[str]
    searches: NDArray[np.int64]
    """How many test searches showed each typed text."""
    worth: csr_array
    """Typed texts × documents: what each is worth where it is seen for sure."""
    exposures: csr_array
    """Queries × documents."""

    @classmethod
    def open(cls, workspace: Workspace, truth: Path) -> "KnownWorld":
        """That of a workspace, whose log was drawn by this truth."""
        at = {stage: workspace.folder(stage) for stage in ("rankings", "contexts", "propensity")}
        texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
        with tempfile.TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
            fetch_numbered(engine, at)
            numbers = contexts_tested(engine)
            demand = true_demand(engine, truth, numbers, workspace.config.prefixes)
            law = engine.arrow("SELECT rank, p FROM propensity ORDER BY rank")
            return cls(
                texts,
                popularity(at["rankings"], "retriever", "ranker"),
                contexts.load(at["contexts"])["prefix"].take(pa.array(numbers)).to_pylist(),
                _searches(engine),
                csr_array(diags_array(1 / _own(engine, len(numbers))) @ demand),
                exposure(engine.arrow("rankings"), law, (len(texts), demand.shape[1])),
            )

    def utility(self, lists: Sequence[Sequence[str]], k: int = 5) -> float:
        """Utility@k of a list of queries for each of the typed texts; a query that the world lacks is worth nothing."""
        number = {text: place for place, text in enumerate(self.texts)}
        rows = [
            (context, place, number[normalise(query)])
            for context, found in enumerate(lists)
            for place, query in enumerate(found[:k])
            if normalise(query) in number
        ]
        context, place, query = np.array(rows, np.int64).reshape(-1, 3).T
        each = np.asarray(self.worth[context].multiply(self.exposures[query]).sum(axis=1)).ravel()
        weights = position_weights(k)[place] * self.searches[context]
        return float((weights * each).sum() / self.searches.sum())


def _searches(engine: Engine) -> NDArray[np.int64]:
    """Of each tested context, in their order."""
    rows = engine.arrow(
        """SELECT context, count(*) AS n FROM instances
           WHERE split = 'test' AND search IN (SELECT search FROM numbered_clicks) GROUP BY context ORDER BY context"""
    )
    return rows["n"].to_numpy()


def _own(engine: Engine, many: int) -> NDArray[np.float64]:
    """How probable a click is, of each context, up to the factor of `true_demand`, whose steps this uses."""
    rows = engine.arrow(
        """SELECT a.place, sum(t.mass / c.cuts * p.p) AS own
           FROM true_masses AS t JOIN true_forms AS f ON f.raw = t.query JOIN true_cuts AS c ON c.text = f.text
           JOIN contexts AS x ON x.prefix = c.prefix JOIN asked AS a ON a.context = x.context
           JOIN queries AS q ON q.text = f.text JOIN documents AS d ON d.document_id = t.document
           JOIN rankings AS r ON r.query = q.query AND r.document = d.document JOIN propensity AS p ON p.rank = r.rank
           GROUP BY a.place"""
    )
    own = np.full(many, np.inf)
    own[rows["place"].to_numpy()] = rows["own"].to_numpy()
    return own
