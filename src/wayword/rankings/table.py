"""Rankings of the production engine with numbered queries and documents, and the log joined to them.

There is one query per normalised text. If the rankings have several raw forms of one text ("TV stand", "tv stand"),
the most frequently searched form represents all: its result list is used. Displayed is the most frequent spelling in
the searches (see `display_form`), whether the rankings have it or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.config import RankingsConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import checks, column_types
from wayword.logs.columns import TYPES, as_text
from wayword.logs.log import forms
from wayword.progress import SILENT, Progress
from wayword.rankings import proposed_queries
from wayword.rankings.display_form import spelling
from wayword.rankings.document_ranker import DocumentRanker
from wayword.store.input_file import InputFile
from wayword.text import normalise


@dataclass(frozen=True)
class MismatchRules:
    """How to treat clicks that contradict the rankings: `on_mismatch` for another rank, `lenient` and the share
    `max_unexplained` for no ranking."""

    on_mismatch: str = "logged"
    lenient: bool = False
    judged: bool = False
    max_unexplained: float = RankingsConfig().max_unexplained


def read(engine: Engine, path: Path | InputFile) -> None:
    """Step `ranked` (raw_query, document, rank): read and validate an exported table."""
    engine.read("raw_rankings", path)
    rows(engine, source=str(path))
    if engine.arrow("SELECT count(*) AS n FROM ranked").column("n")[0].as_py() == 0:
        raise LogError(f"{path} is empty: it has columns but no row. Expected the result list of each query.")
    checks.enforce(engine, checks.RANKINGS_CHECKS, source=str(path))


def rows(engine: Engine, *, source: str) -> None:
    """Steps `ranked` and `ranked_forms`: the rows of `raw_rankings` with typed columns, valid or not."""
    names = [name for name in engine.columns("raw_rankings") if name != "input_row"]
    missing = [name for name in ("query", "document", "rank") if name not in names]
    if missing:
        raise LogError(
            f"{source} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}.\n"
            f"  found:    {', '.join(names)}\n  expected: query, document, rank\n"
            f"Rename them: `wayword import LOG --rankings {source} --out log` does."
        )
    used = {name: TYPES[name] for name in ("query", "document", "rank")}
    column_types.check(engine, "raw_rankings", used, source=source)
    text = {name: as_text(engine, "raw_rankings", name) for name in ("query", "document", "rank")}
    engine.step(
        "ranked",
        f"""
        SELECT input_row, {text["query"]} AS raw_query, NULLIF({text["document"]}, '') AS document_id,
               {text["rank"]} AS rank_text, TRY_CAST({text["rank"]} AS DOUBLE) AS rank
        FROM raw_rankings
        """,
    )
    _normalise(engine)


def rank_logged_queries(
    engine: Engine,
    documents: pa.Table,
    ranker: DocumentRanker,
    *,
    depth: int,
    more: Sequence[str] = (),
    propose: int = 0,
    progress: Progress = SILENT,
) -> int:
    """Step `ranked`: rank the documents for every logged query, and `more`, with an embedded ranker, and for at most
    `propose` queries from titles and attributes. Returns the number of these."""
    queries: Sequence[str] = engine.arrow(
        """SELECT raw_query FROM (SELECT text, raw_query, row_number() OVER (PARTITION BY text ORDER BY count(*) DESC,
           raw_query) AS place FROM searches GROUP BY text, raw_query) AS f WHERE place = 1 ORDER BY text"""
    )["raw_query"].to_pylist()
    clicked = engine.arrow(
        """SELECT DISTINCT s.raw_query AS query, c.document_id AS document FROM clicks AS c
           JOIN searches AS s ON s.search = c.search ORDER BY 1, 2"""
    )
    known = {normalise(text) for text in queries}
    further = [text for text in more if normalise(text) not in known]
    ranked = ranker(documents, clicked, [*queries, *further], depth=depth, progress=progress)
    proposed = ranked.slice(0, 0)
    if propose:
        known.update(map(normalise, further))
        proposed = proposed_queries.propose(
            engine, documents, ranker, most=propose, depth=depth, known=known
        ).cast(ranked.schema)
    engine.load(
        "ranked",
        pa.concat_tables([ranked, proposed]).rename_columns(["raw_query", "document_id", "rank"]),
    )
    _normalise(engine)
    return len(proposed["query"].unique())


def _normalise(engine: Engine) -> None:
    """Step `ranked_forms` (raw, text): the queries of `ranked` and their normal forms."""
    forms(engine, "ranked_forms", "SELECT DISTINCT raw_query FROM ranked")


def number(engine: Engine, titles: pa.Table | None) -> None:
    """Steps `queries`, `documents` and `rankings`: number queries and documents in text order, so deterministically."""
    engine.step(
        "answering",
        """
        SELECT text, raw FROM (
          SELECT f.text, f.raw, row_number() OVER (PARTITION BY f.text ORDER BY coalesce(c.n, 0) DESC, f.raw) AS place
          FROM ranked_forms AS f
          LEFT JOIN (SELECT raw_query, count(*) AS n FROM searches GROUP BY raw_query) AS c ON c.raw_query = f.raw
        ) AS choices WHERE place = 1
        """,
    )
    _display_forms(engine)
    engine.number(
        "numbered_queries",
        """
        SELECT t.text, min(t.raw) AS raw,
               CASE WHEN count(t.raw) > 0 THEN coalesce(min(d.spelling), t.text) END AS shown,
               count(t.raw) > 0 AS ranked
        FROM (SELECT text, raw FROM answering
              UNION ALL SELECT DISTINCT text, CAST(NULL AS STRING) FROM searches) AS t
        LEFT JOIN displayed AS d ON d.text = t.text
        GROUP BY t.text
        """,
        "query",
        "text",
    )
    engine.step(
        "queries", "SELECT CAST(query AS INTEGER) AS query, text, raw, shown, ranked FROM numbered_queries"
    )
    engine.load(
        "titles", titles.rename_columns({"document": "document_id"}) if titles is not None else _NO_TITLES
    )
    engine.number(
        "numbered_documents",
        """
        SELECT d.document_id, t.title
        FROM (SELECT DISTINCT document_id FROM ranked) AS d
        LEFT JOIN (SELECT document_id, min(nullif(title, '')) AS title FROM titles GROUP BY document_id) AS t
        ON t.document_id = d.document_id
        """,
        "document",
        "document_id",
    )
    engine.step(
        "documents",
        "SELECT CAST(document AS INTEGER) AS document, document_id, title FROM numbered_documents",
    )
    engine.step(
        "rankings",
        """
        SELECT DISTINCT q.query, d.document, CAST(r.rank AS INTEGER) AS rank
        FROM ranked AS r JOIN queries AS q ON q.raw = r.raw_query
        JOIN documents AS d ON d.document_id = r.document_id
        """,
    )


def _display_forms(engine: Engine) -> None:
    """Step `displayed` (text, spelling): the most frequent spelling of each text, of equal ones the first."""
    known = engine.arrow(
        "SELECT DISTINCT raw_query, text FROM searches UNION SELECT raw, text FROM ranked_forms"
    )
    spelt = [spelling(raw) for raw in known["raw_query"].to_pylist()]
    engine.load("spellings", known.append_column("spelling", pa.array(spelt, pa.string())))
    engine.step(
        "displayed",
        """
        SELECT text, spelling FROM (
          SELECT s.text, s.spelling, row_number() OVER (
                   PARTITION BY s.text ORDER BY sum(coalesce(c.n, 0)) DESC, s.spelling) AS place
          FROM spellings AS s
          LEFT JOIN (SELECT raw_query, count(*) AS n FROM searches GROUP BY raw_query) AS c ON c.raw_query = s.raw_query
          WHERE s.spelling <> '' GROUP BY s.text, s.spelling
        ) AS choices WHERE place = 1
        """,
    )


_NO_TITLES = pa.table({"document_id": pa.array([], pa.string()), "title": pa.array([], pa.string())})


def join_log(engine: Engine, rules: MismatchRules, *, source: str) -> dict[str, Any]:
    """Steps `numbered_searches` and `numbered_clicks`: the log by number. Returns counts of mismatched clicks."""
    place(engine)
    unknown = _clicks_without_ranking(engine, rules, source)
    mismatched = "false" if rules.judged else MISMATCHED
    drift = _rank_mismatches(engine, mismatched)
    if rules.on_mismatch == "error" and drift["mismatched clicks"]:
        raise LogError(
            f"{source}: {drift['mismatched clicks']:,} clicks were logged at another rank than in the rankings, and "
            f'[rankings] on_mismatch is "error". For example:\n{_examples(engine, mismatched)}'
        )
    keep = EXPLAINED + (f" AND NOT ({mismatched})" if rules.on_mismatch == "drop" else "")
    engine.step("kept", f"SELECT search, document, rank, weight FROM placed WHERE {keep}")
    engine.step("numbered_clicks", "SELECT search, document, rank, weight FROM kept")
    engine.step(
        "numbered_searches",
        """
        SELECT s.*, q.query FROM searches AS s JOIN queries AS q ON q.text = s.text
        WHERE EXISTS (SELECT 1 FROM kept AS k WHERE k.search = s.search)
           OR NOT EXISTS (SELECT 1 FROM clicks AS c WHERE c.search = s.search)
        """,
    )
    return {**unknown, **drift}


def require_clicks(engine: Engine, *, source: str) -> None:
    """Raise an error if `join_log` has left no click."""
    if engine.arrow("SELECT count(*) AS n FROM numbered_clicks").column("n")[0].as_py() == 0:
        raise LogError(
            f"{source}: no click is left after the join. Expected clicks on documents that the rankings contain."
        )


def place(engine: Engine) -> None:
    """Step `placed`: clicks with the rank that the rankings give, if any, and the `depth` to which these go."""
    engine.step(
        "placed",
        """
        SELECT c.search, s.search_id, s.raw_query, c.document_id, c.rank, c.weight, q.query, q.ranked, d.document,
               r.rank AS table_rank, f.raw <> q.raw AS another_form, l.depth
        FROM clicks AS c JOIN searches AS s ON s.search = c.search JOIN queries AS q ON q.text = s.text
        LEFT JOIN documents AS d ON d.document_id = c.document_id
        LEFT JOIN rankings AS r ON r.query = q.query AND r.document = d.document
        LEFT JOIN (SELECT query, max(rank) AS depth FROM rankings GROUP BY query) AS l ON l.query = q.query
        LEFT JOIN ranked_forms AS f ON f.raw = s.raw_query
        """,
    )


_ANOTHER_FORM = "coalesce(another_form, false)"
"""The raw form of the clicked query has its own result list in the rankings, which was not chosen."""
_ELSEWHERE = "(table_rank IS NULL OR table_rank <> rank)"
BELOW = "clicks below the last rank that the rankings have for their query"
EXPLAINED = "document IS NOT NULL AND ranked"
"""Conditions on a click of `placed`. Explained: it is learned from."""
UNRANKED = "NOT ranked"
DEEPER = "coalesce(ranked AND table_rank IS NULL AND rank > depth, false)"
"""Below the last rank that the rankings have for its query: the rankings do not say what is there."""
UNKNOWN_DOCUMENT = f"ranked AND document IS NULL AND NOT {DEEPER}"
MISMATCHED = f"{EXPLAINED} AND NOT {_ANOTHER_FORM} AND {_ELSEWHERE} AND NOT {DEEPER}"


def _clicks_without_ranking(engine: Engine, rules: MismatchRules, source: str) -> dict[str, int]:
    """Count clicks whose document or query has no ranking; an error above a share, unless `lenient` or `judged`."""
    conditions = {
        "clicks on documents that no ranking contains": UNKNOWN_DOCUMENT,
        "clicks from queries without a ranking": UNRANKED,
    }
    counts = {what: _count(engine, bad) for what, bad in conditions.items()}
    unexplained, clicks = sum(counts.values()), _count(engine, "true")
    if unexplained > rules.max_unexplained * clicks and not (rules.lenient or rules.judged):
        problems = [
            f"- {n:,} {what}. For example:\n{_examples(engine, conditions[what])}"
            for what, n in counts.items()
            if n
        ]
        raise LogError(
            f"{source} and the rankings do not match:\n"
            + "\n".join(problems)
            + "\nExpected the result list of every logged query; without one are "
            f"{unexplained / clicks:.1%} of the clicks, and [rankings] max_unexplained is {rules.max_unexplained:.1%}. "
            "Export the rankings again, or give --lenient to drop these clicks."
        )
    return counts


def _rank_mismatches(engine: Engine, mismatched: str) -> dict[str, Any]:
    row = engine.arrow(
        f"""
        SELECT count(*) AS explained, count(CASE WHEN {mismatched} THEN 1 END) AS mismatched,
               count(CASE WHEN table_rank IS NULL THEN 1 END) AS absent,
               count(CASE WHEN {_ANOTHER_FORM} AND {_ELSEWHERE} AND rank IS NOT NULL THEN 1 END) AS merged
        FROM placed WHERE {EXPLAINED}
        """
    ).to_pylist()[0]
    return {
        "clicks explained by the rankings": row["explained"],
        "mismatched clicks": row["mismatched"],
        "clicks that their own query does not return in the rankings": row["absent"],
        "clicks from another form of their query with other results": row["merged"],
        BELOW: _count(engine, DEEPER),
    }


def _count(engine: Engine, condition: str) -> int:
    return int(engine.arrow(f"SELECT count(*) AS n FROM placed WHERE {condition}").column("n")[0].as_py())


def _examples(engine: Engine, condition: str) -> str:
    rows = engine.arrow(
        f"""SELECT search_id, raw_query, document_id, rank, table_rank FROM placed WHERE {condition}
            ORDER BY search LIMIT {checks.EXAMPLES}"""
    ).to_pylist()
    return "\n".join(f"    {checks.describe(row)}" for row in rows)
