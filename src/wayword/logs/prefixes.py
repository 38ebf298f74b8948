"""Contexts of searches: the recorded prefix, or one sampled from the query where the log has none.

π_s(x), the probability of context x in search s, is 1 for a recorded prefix and 1/(number of admissible cuts) for
each cut. A pass samples one cut per search by md5 of the search id and the pass, so every run and engine agree.
"""

from collections.abc import Sequence

import pyarrow as pa

from wayword.config import PrefixConfig
from wayword.engines import Engine, uniform
from wayword.errors import LogError
from wayword.text import cut_ends

AT_ONCE = 1 << 16
"""Number of texts that are cut at once: texts and cuts as Python objects take much memory."""


def table_of_cuts(texts: Sequence[str], config: PrefixConfig) -> pa.Table:
    """Every admissible cut of every text: text, cut (0-based), cuts (number of cuts of the text), prefix.

    >>> table_of_cuts(["tv"], PrefixConfig()).to_pylist()
    [{'text': 'tv', 'cut': 0, 'cuts': 1, 'prefix': 't'}]
    """
    parts = [_cuts_of(texts[first : first + AT_ONCE], config) for first in range(0, len(texts), AT_ONCE)]
    return pa.concat_tables([_cuts_of([], config), *parts])


def _cuts_of(texts: Sequence[str], config: PrefixConfig) -> pa.Table:
    ends_of = [(text, cut_ends(text, start=config.start, min_chars=config.min_chars)) for text in texts]
    return pa.table(
        {
            "text": pa.array([text for text, ends in ends_of for _ in ends], pa.string()),
            "cut": pa.array([i for _, ends in ends_of for i in range(len(ends))], pa.int32()),
            "cuts": pa.array([len(ends) for _, ends in ends_of for _ in ends], pa.int32()),
            "prefix": pa.array([text[:end] for text, ends in ends_of for end in ends], pa.string()),
        }
    )


def build(engine: Engine, config: PrefixConfig, context: Sequence[str]) -> dict[str, int]:
    """Steps `instances` (search, split, pass, context) and `contexts` (context, prefix and the context columns).

    Needs `numbered_searches` and `numbered_clicks`. The retriever's split gives `passes` instances per clicked
    search without a recorded prefix; ranker and test give one per search. Searches whose query is too short to
    have an admissible cut, and those with an empty recorded prefix, are dropped and counted in the report.
    """
    texts = engine.arrow(
        "SELECT DISTINCT text FROM numbered_searches WHERE prefix IS NULL AND NOT untyped ORDER BY text"
    )
    engine.load("cuts", table_of_cuts(texts["text"].to_pylist(), config))
    engine.load("passes", pa.table({"pass": pa.array(range(config.passes), pa.int32())}))
    draw = uniform("concat(s.search_id, '/', CAST(p.pass AS STRING), '/', :seed)")
    engine.step(
        "drawn",
        f"""
        SELECT s.search, p.pass, s.text,
               CAST(floor({draw} * n.cuts) AS INTEGER) AS cut
        FROM numbered_searches AS s
        JOIN passes AS p ON p.pass = 0 OR s.split = 'retriever'
        JOIN (SELECT DISTINCT text, cuts FROM cuts) AS n ON n.text = s.text
        WHERE s.prefix IS NULL AND NOT s.untyped
          AND (s.split <> 'retriever' OR EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = s.search))
        """,
        seed=str(config.seed),
    )
    columns = "".join(f", s.{engine.quote(name)}" for name in context)
    engine.step(
        "typed_by",
        f"""
        SELECT s.search, s.split, d.pass, c.prefix {columns}
        FROM drawn AS d JOIN cuts AS c ON c.text = d.text AND c.cut = d.cut
        JOIN numbered_searches AS s ON s.search = d.search
        UNION ALL
        SELECT s.search, s.split, 0 AS pass, s.prefix {columns}
        FROM numbered_searches AS s WHERE s.prefix IS NOT NULL
        """,
    )
    named = "".join(f", {engine.quote(name)}" for name in context)
    quoted = [engine.quote(name) for name in context]
    order = ", ".join(f"{name} NULLS LAST" for name in ("prefix", *quoted))
    engine.number("distinct_contexts", f"SELECT DISTINCT prefix {named} FROM typed_by", "context", order)
    engine.step(
        "contexts", f"SELECT CAST(context AS INTEGER) AS context, prefix {named} FROM distinct_contexts"
    )
    same = " AND ".join(f"(t.{n} = c.{n} OR (t.{n} IS NULL AND c.{n} IS NULL))" for n in quoted)
    engine.step(
        "instances",
        f"""SELECT t.search, t.split, t.pass, c.context FROM typed_by AS t
            JOIN contexts AS c ON c.prefix = t.prefix {"AND" if same else ""} {same}""",
    )
    return _report(engine)


def _report(engine: Engine) -> dict[str, int]:
    counts = engine.arrow(
        """
        SELECT (SELECT count(*) FROM contexts) AS contexts, (SELECT count(*) FROM instances) AS instances,
               (SELECT count(*) FROM numbered_searches AS s
                WHERE (s.split <> 'retriever' OR EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = s.search))
                  AND NOT EXISTS (SELECT 1 FROM instances AS i WHERE i.search = s.search)) AS dropped
        """
    ).to_pylist()[0]
    if not counts["instances"]:
        raise LogError(
            f"None of {counts['dropped']:,} searches has a prefix: their queries are too short for the cuts of "
            "[prefixes], or the log's column `prefix` is empty. Lower min_chars, or leave the column out."
        )
    return {
        "distinct contexts": counts["contexts"],
        "instances": counts["instances"],
        "searches too short to have a prefix": counts["dropped"],
    }
