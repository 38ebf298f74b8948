"""Training data: queries, documents, rankings and training clicks in numbers, read from the tables of a workspace."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from wayword.demand.observations import Floats
from wayword.engines import Engine, totals
from wayword.propensity.exposure import exposure
from wayword.utility import VARIANTS

SEARCH_COLUMNS = ("search", "search_id", "split", "query", "recency")
"""The columns of the numbered searches that `read` needs."""
HELD_OUT = 8000
"""Number of held-out searches that choose settings."""
MOST_RATIO = 10.0
"""Bound of p[rank on the page of the intended query] / p[logged rank]."""


@dataclass(frozen=True)
class TrainingData:
    """Queries and documents are numbered as in the artefact `rankings`."""

    texts: list[str]
    """Of queries."""
    names: list[str]
    titles: list[str]
    """Of documents; an unknown title is empty."""
    exposures: csr_array
    """Queries × documents: p[rank]."""
    clicked: pa.Table
    """split, query, document, weight, ips_weight, and recency, that of the newest click."""
    searches: pa.Table
    """split, query and weight of the training searches; one may have intended several queries."""
    complete: bool
    """Whether the log holds searches without a click, too."""
    held_out: pa.Table
    """Some clicks of the ranker's split: context, document, ips_weight."""

    def clicks_of(self, *splits: str) -> pa.Table:
        """The clicks of these splits, one row per query and document."""
        chosen = self.clicked.filter(pc.is_in(self.clicked["split"], value_set=pa.array(splits)))
        summed = chosen.group_by(["query", "document"], use_threads=False).aggregate(
            [("weight", "sum"), ("ips_weight", "sum"), ("recency", "max")]
        )
        return summed.rename_columns(["query", "document", "weight", "ips_weight", "recency"])

    def searches_of(self, *splits: str) -> Floats:
        """The weighted searches of each query; 1 for every query if only searches with a click are logged."""
        if not self.complete:
            return np.ones(len(self.texts))
        chosen = self.searches.filter(pc.is_in(self.searches["split"], value_set=pa.array(splits)))
        counts = np.bincount(
            chosen["query"].to_numpy(), weights=chosen["weight"].to_numpy(), minlength=len(self.texts)
        )
        return counts.astype(np.float64) + 0.5


def read(engine: Engine, variant: str, *, intended: bool = False) -> TrainingData:
    """Read the numbered tables; `variant` is the definition of û (`utility.VARIANTS`).

    Of the searches it needs the columns `SEARCH_COLUMNS`. `intended` says that the table `intended` (search, query,
    probability) has what people intended who took a suggestion: their searches and clicks count for those queries
    instead of the issued one.
    """
    utility = VARIANTS[variant]
    texts = engine.arrow("SELECT text FROM queries ORDER BY query")["text"].to_pylist()
    documents = engine.arrow(
        "SELECT document_id, coalesce(title, '') AS title FROM documents ORDER BY document"
    )
    discounts = engine.arrow(
        f"SELECT looked.rank, {utility.discount} AS p FROM propensity AS looked ORDER BY looked.rank"
    )
    engine.step(
        "weighted_clicks",
        f"""
        SELECT c.search, c.document, s.recency * ({utility.gain if utility.whole else "c.weight"}) AS weight,
               s.recency * ({utility.gain}) AS ips_weight
        FROM numbered_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
        LEFT JOIN propensity AS logged ON logged.rank = c.rank WHERE c.weight > 0
        """,
    )
    clicked = engine.arrow(
        f"""
        SELECT s.split, s.query, c.document, {engine.ordered_sum("c.weight", "c.search")} AS weight,
               {engine.ordered_sum("c.ips_weight", "c.search")} AS ips_weight, max(s.recency) AS recency
        FROM weighted_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
        WHERE s.split <> 'test' GROUP BY s.split, s.query, c.document ORDER BY s.split, s.query, c.document
        """
    )
    searches = _searches(engine, _INTENDED if intended else _ISSUED)
    if intended:
        clicked = _intended_clicks(engine, utility.discount)
    training_searches = engine.arrow("SELECT count(*) AS n FROM numbered_searches WHERE split <> 'test'")[
        "n"
    ][0].as_py()
    unclicked = engine.arrow(
        """SELECT count(*) AS n FROM numbered_searches
           AS s WHERE split <> 'test' AND NOT EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = s.search)"""
    )["n"][0].as_py()
    return TrainingData(
        texts,
        documents["document_id"].to_pylist(),
        documents["title"].to_pylist(),
        exposure(
            engine.arrow("SELECT query, document, rank FROM rankings"),
            discounts,
            (len(texts), documents.num_rows),
        ),
        clicked if utility.whole else _effective_counts(clicked, engine),
        searches,
        unclicked > 0.05 * training_searches,
        _held_out(engine),
    )


_ISSUED = "SELECT split, query, recency AS weight, search FROM numbered_searches WHERE split <> 'test'"
_INTENDED = """
    SELECT s.split, s.query, s.recency AS weight, s.search FROM numbered_searches AS s
    WHERE s.split <> 'test' AND NOT EXISTS (SELECT 1 FROM intended AS i WHERE i.search = s.search)
    UNION ALL
    SELECT s.split, i.query, s.recency * i.probability AS weight, s.search FROM intended AS i
    JOIN numbered_searches AS s ON s.search = i.search WHERE s.split <> 'test'"""
"""split, query and weight of training searches, as issued or as intended."""


def _searches(engine: Engine, sql: str) -> pa.Table:
    """split, query and weight, summed over searches."""
    return engine.arrow(
        f"""SELECT split, query, {engine.ordered_sum("weight", "search")} AS weight FROM ({sql}) AS s
            GROUP BY split, query ORDER BY split, query"""
    )


def _intended_clicks(engine: Engine, discount: str) -> pa.Table:
    """Clicks by what was intended. A click on the page of a taken suggestion counts for an intended query that returns
    the document as its own page would have given it: by probability · p[rank there] / p[logged rank], at most
    `MOST_RATIO` times the probability."""
    engine.step(
        "clicks_by_intent",
        f"""
        SELECT s.split, s.query, c.document, c.search, c.weight, c.ips_weight, s.recency
        FROM weighted_clicks AS c JOIN numbered_searches AS s ON s.search = c.search
        WHERE s.split <> 'test' AND NOT EXISTS (SELECT 1 FROM intended AS i WHERE i.search = s.search)
        UNION ALL
        SELECT split, query, document, search, weight, weight / p AS ips_weight, recency FROM (
          SELECT s.split, i.query, c.document, c.search, own.p AS p, s.recency,
                 i.probability * c.weight * least(own.p * c.ips_weight / c.weight, {MOST_RATIO}) AS weight
          FROM intended AS i JOIN numbered_searches AS s ON s.search = i.search
          JOIN weighted_clicks AS c ON c.search = i.search
          JOIN rankings AS r ON r.query = i.query AND r.document = c.document
          JOIN (SELECT looked.rank, {discount} AS p FROM propensity AS looked) AS own ON own.rank = r.rank
          WHERE s.split <> 'test')
        """,
    )
    return engine.arrow(
        f"""
        SELECT split, query, document, {engine.ordered_sum("weight", "search")} AS weight,
               {engine.ordered_sum("ips_weight", "search")} AS ips_weight, max(recency) AS recency
        FROM clicks_by_intent GROUP BY split, query, document ORDER BY split, query, document
        """
    )


def _effective_counts(clicked: pa.Table, engine: Engine) -> pa.Table:
    """Kish's effective count: weights divided by Σw²/Σw, so that they are numbers of clicks in any unit."""
    found = totals(engine, "weighted_clicks", "weight", squares="weight * weight", weights="weight")
    squares, weights = found["squares"], found["weights"]
    unit = squares / weights if squares and weights else 1.0
    for name in ("weight", "ips_weight"):
        place = clicked.column_names.index(name)
        clicked = clicked.set_column(place, name, pc.divide(clicked[name], unit))
    return clicked


def _held_out(engine: Engine) -> pa.Table:
    """The contexts and clicks of at most `HELD_OUT` clicked searches of the ranker's split, chosen by md5."""
    return engine.arrow(
        f"""
        SELECT i.context, c.document, c.ips_weight
        FROM (SELECT s.search FROM numbered_searches AS s
              WHERE s.split = 'ranker' AND s.search IN (SELECT search FROM weighted_clicks)
                AND s.search IN (SELECT search FROM instances)
              ORDER BY md5(s.search_id), s.search LIMIT {HELD_OUT}) AS chosen
        JOIN instances AS i ON i.search = chosen.search JOIN weighted_clicks AS c ON c.search = chosen.search
        ORDER BY i.context, chosen.search, c.document
        """
    )
