"""What the log says of queries, documents and clicks, in numbers."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from wayword.demand.pairs import Floats
from wayword.engines import Engine
from wayword.propensity.exposure import exposure

HELD_OUT = 8000
"""So many held-out searches choose the settings."""
DISCOUNTED = {"dcg": "1 / log2(1 + rank)", "mrr": "1 / CAST(rank AS DOUBLE)"}
GAIN = {
    "dcg": "power(2, weight) - 1",
    "mrr": "CAST(CASE WHEN weight > 0 THEN 1 ELSE 0 END AS DOUBLE)",
}


@dataclass(frozen=True)
class Known:
    """Queries and documents are numbered as in the artefact `rankings`."""

    texts: list[str]
    names: list[str]
    titles: list[str]
    """Of documents; empty where it is not known."""
    exposures: csr_array
    clicked: pa.Table
    """split, query, document, weight, looks."""
    searches: pa.Table
    """split and query of each training search."""
    complete: bool
    """Whether searches without a click are logged too."""
    held: pa.Table
    """Some clicks of the ranker's split: context, document, looks."""
    in_context: pa.Table
    """split, query, document and context of every training click."""

    def clicks_of(self, *splits: str) -> pa.Table:
        """The clicks of these splits, one row per query and document."""
        chosen = self.clicked.filter(pc.is_in(self.clicked["split"], value_set=pa.array(splits)))
        summed = chosen.group_by(["query", "document"], use_threads=False).aggregate(
            [("weight", "sum"), ("looks", "sum")]
        )
        return summed.rename_columns(["query", "document", "weight", "looks"])

    def issued(self, *splits: str) -> Floats:
        """How often each query was issued; all alike where only searches with a click are logged."""
        if not self.complete:
            return np.ones(len(self.texts))
        chosen = self.searches.filter(pc.is_in(self.searches["split"], value_set=pa.array(splits)))
        counts = np.bincount(chosen["query"].to_numpy(), minlength=len(self.texts))
        return counts.astype(np.float64) + 0.5


def read(engine: Engine, variant: str) -> Known:
    """From the numbered tables; `variant` is `unbiased`, or how judgments are measured."""
    weight, discounted = GAIN.get(variant, "weight"), DISCOUNTED.get(variant)
    texts = engine.arrow("SELECT text FROM queries ORDER BY query")["text"].to_pylist()
    documents = engine.arrow("SELECT id, coalesce(title, '') AS title FROM documents ORDER BY document")
    p = discounted or "p"
    law = engine.arrow(f"SELECT rank, {p} AS p FROM propensity ORDER BY rank")
    ratio = "value" if discounted else "value / p.p"
    engine.step(
        "weighed",
        f"SELECT search, document, rank, {weight} AS value FROM numbered_clicks WHERE weight > 0",
    )
    clicked = engine.arrow(
        f"""
        SELECT s.split, s.query, c.document, {engine.ordered_sum("c.value", "c.search")} AS weight,
               {engine.ordered_sum(ratio.replace("value", "c.value"), "c.search")} AS looks
        FROM weighed AS c JOIN numbered_searches AS s ON s.search = c.search
        LEFT JOIN propensity AS p ON p.rank = c.rank
        WHERE s.split <> 'test' GROUP BY s.split, s.query, c.document ORDER BY s.split, s.query, c.document
        """
    )
    if not discounted:
        clicked = _in_clicks(clicked, engine)
    searches = engine.arrow(
        """SELECT split, query FROM numbered_searches WHERE split <> 'test' ORDER BY search"""
    )
    unclicked = engine.arrow(
        """SELECT count(*) AS n FROM numbered_searches
           WHERE split <> 'test' AND search NOT IN (SELECT search FROM numbered_clicks)"""
    )["n"][0].as_py()
    matrix = exposure(
        engine.arrow("SELECT query, document, rank FROM rankings"), law, (len(texts), documents.num_rows)
    )
    return Known(
        texts,
        documents["id"].to_pylist(),
        documents["title"].to_pylist(),
        matrix,
        clicked,
        searches,
        unclicked > 0.05 * searches.num_rows,
        _held_out(engine),
        _in_context(engine),
    )


def _in_clicks(clicked: pa.Table, engine: Engine) -> pa.Table:
    """Weights as numbers of clicks, whatever their unit: as few as vary as much (Kish's effective number)."""
    squares, weights = (engine.ordered_sum(what, "value") for what in ("value * value", "value"))
    unit = engine.arrow(f"SELECT {squares} / {weights} AS unit FROM weighed")["unit"][0].as_py()
    for name in ("weight", "looks"):
        place = clicked.column_names.index(name)
        clicked = clicked.set_column(place, name, pc.divide(clicked[name], unit or 1.0))
    return clicked


def _held_out(engine: Engine) -> pa.Table:
    """At most `HELD_OUT` clicked searches of the ranker's split by md5: their contexts and clicks."""
    return engine.arrow(
        f"""
        SELECT i.context, c.document, c.weight / p.p AS looks
        FROM (SELECT s.search FROM numbered_searches AS s
              WHERE s.split = 'ranker' AND s.search IN (SELECT search FROM weighed)
                AND s.search IN (SELECT search FROM instances)
              ORDER BY md5(s.search_id), s.search LIMIT {HELD_OUT}) AS chosen
        JOIN instances AS i ON i.search = chosen.search JOIN weighed AS w ON w.search = chosen.search
        JOIN numbered_clicks AS c ON c.search = w.search AND c.document = w.document AND c.rank = w.rank
        JOIN propensity AS p ON p.rank = c.rank
        ORDER BY i.context, chosen.search, c.document
        """
    )


def _in_context(engine: Engine) -> pa.Table:
    """A search has the columns of all its contexts; the first stands for them."""
    return engine.arrow(
        """
        SELECT s.split, s.query, c.document, i.context FROM weighed AS c
        JOIN numbered_searches AS s ON s.search = c.search
        JOIN (SELECT search, min(context) AS context FROM instances GROUP BY search) AS i ON i.search = c.search
        WHERE s.split <> 'test' ORDER BY c.search, c.document
        """
    )
