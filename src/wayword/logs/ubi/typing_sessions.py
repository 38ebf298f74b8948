"""Typing sessions: the lists shown on the way to one query, what was taken from them, and the query that followed.

A session is what has one `typing_session`; records without one have a `query_id`, which holds lists and picks together
if a search or a pick has it, too. A pick ends a session: what follows is another one.
"""

from collections.abc import Sequence

from wayword.engines.duck import DuckDB
from wayword.logs.columns import CONTEXT
from wayword.logs.ubi.parser import count
from wayword.logs.ubi.schema import DEEPEST_RANK

NO_LIST, NO_SESSION, CONTRADICTORY, REPEATED, DOUBTFUL = REASONS = (
    "lists without a typed text or with an empty completion",
    "lists of no known typing session",
    "picks that contradict their list",
    "picks that are there twice",
    "lists before a pick that contradicts its list",
)
_ORDER = "time NULLS LAST, action = 'picked', place"
_LIST = ("prefix", "shown", "mode", "policy", "index", "arm")
_COLUMNS = ("user", "time", "prefix", "shown", "taken", "query", "search_id", *_LIST[2:])


def build(engine: DuckDB) -> dict[str, int]:
    """Table `lists`: one row per list shown. Needs `completions` and `searches`."""
    _check_picks(engine)
    _judge(engine)
    _cut(engine)
    _take(engine)
    _follow(engine)
    engine.step(
        "lists",
        """
        SELECT t.* EXCLUDE (person), coalesce(t.person, f.person) AS user, f.query, f.search_id,
               t.session || CASE t.part WHEN 0 THEN '' ELSE '/' || (t.part + 1) END AS name
        FROM taken_lists AS t LEFT JOIN followed AS f ON f.session = t.session AND f.part = t.part
        """,
    )
    return _report(engine)


def _check_picks(engine: DuckDB) -> None:
    """Table `first_positions`: whether an application counts positions of completions from 0 or from 1.

    The picked text is in the list, so each pick tells: what most of them say.
    """
    whole = f"ordinal BETWEEN 0 AND {DEEPEST_RANK} AND ordinal = floor(ordinal)"
    at = "shown[CAST(ordinal AS INTEGER){}] = picked"
    engine.step(
        "first_positions",
        f"""
        SELECT application,
               CASE WHEN count(*) FILTER ({at.format(" + 1")}) > count(*) FILTER ({at.format("")})
                    THEN 0 ELSE 1 END AS first
        FROM completions WHERE action = 'picked' AND {whole} GROUP BY application
        """,
    )
    engine.step(
        "positioned",
        f"""
        SELECT c.*, CASE WHEN c.ordinal IS NULL THEN list_position(c.shown, c.picked)
                         WHEN {whole} THEN CAST(c.ordinal AS INTEGER) - f.first + 1 END AS position
        FROM completions AS c LEFT JOIN first_positions AS f ON f.application = c.application
        """,
    )


def _judge(engine: DuckDB) -> None:
    """Table `judged_completions`: the session of each event, what was taken, and why an event is left out."""
    visible = "len(list_filter(shown, lambda text: trim(text) <> ''))"
    usable = f"prefix IS NOT NULL AND len(shown) > 0 AND {visible} = len(shown)"
    engine.step(
        "judged_completions",
        f"""
        SELECT *, coalesce(typing_session, query_id, '#' || place) AS session,
               CASE WHEN position >= 1 AND shown[position] = picked THEN position END AS taken,
               CASE WHEN action = 'picked' AND coalesce({usable} AND position >= 1 AND shown[position] = picked, false)
                    THEN NULL
                    WHEN action = 'picked' THEN '{CONTRADICTORY}'
                    WHEN NOT coalesce({usable}, false) THEN '{NO_LIST}'
                    WHEN typing_session IS NULL AND NOT coalesce(query_id IN (
                      SELECT query_id FROM searches UNION ALL
                      SELECT query_id FROM completions WHERE action = 'picked' AND query_id IS NOT NULL), false)
                    THEN '{NO_SESSION}' END AS reason
        FROM positioned
        """,
    )


def _cut(engine: DuckDB) -> None:
    """Table `session_events`: the events in order, with the part of the session: the number of picks before.

    A pick right after the same pick is the same one, since nothing was shown meanwhile.
    """
    what = "struct_pack(action, picked, taken, prefix, shown, mode, policy, index, arm)"
    engine.step(
        "kept_events",
        f"""
        SELECT *, action = 'picked' AND {what} IS NOT DISTINCT FROM
                  lag({what}) OVER (PARTITION BY session ORDER BY {_ORDER}) AS repeated
        FROM judged_completions WHERE reason IS NULL OR reason = '{CONTRADICTORY}'
        """,
    )
    engine.step(
        "session_events",
        f"""
        SELECT *, CAST(coalesce(count(*) FILTER (action = 'picked') OVER (
                    PARTITION BY session ORDER BY {_ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
                  AS INTEGER) AS part
        FROM kept_events WHERE NOT repeated
        """,
    )


def _take(engine: DuckDB) -> None:
    """Table `taken_lists`: the lists; a pick belongs to the last such list before it, or brings its own.

    Lists that were shown at the same time for the same text, side by side, have the same position in the session.
    """
    same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM p.{name}" for name in _LIST)
    engine.step(
        "matched",
        f"""
        SELECT s.*, p.place IS NOT NULL AND p.reason IS NOT NULL AS doubtful,
               coalesce({same} AND p.place IS NOT NULL, false) AS picked_from, p.taken AS pick
        FROM session_events AS s
        LEFT JOIN (SELECT * FROM session_events WHERE action = 'picked') AS p
          ON p.session = s.session AND p.part = s.part
        """,
    )
    latest = """row_number() OVER (PARTITION BY session, part, picked_from
                                   ORDER BY action = 'picked', time DESC NULLS FIRST, place DESC) = 1"""
    engine.step(
        "session_lists",
        f"""
        SELECT * EXCLUDE (taken), CASE WHEN picked_from AND {latest} THEN pick END AS taken,
               action = 'picked' AND NOT {latest} AS known
        FROM matched
        """,
    )
    engine.step(
        "taken_lists",
        """
        SELECT place, session, part, typing_session, person, time, prefix, shown, CAST(taken AS INTEGER) AS taken,
               mode, policy, index, arm,
               CAST(dense_rank() OVER displays - 1 AS INTEGER) AS position_in_session
        FROM (SELECT *, min(CASE action WHEN 'shown' THEN place END) OVER (PARTITION BY session, part, time, prefix)
                        AS beside
              FROM session_lists WHERE NOT known AND NOT doubtful) AS l
        WINDOW displays AS (PARTITION BY session, part ORDER BY time NULLS LAST, beside NULLS LAST)
        """,
    )


def _follow(engine: DuckDB) -> None:
    """Table `followed` (session, part, query, search_id, person): the search at the end of each part.

    A search names its typing session, or has the query_id of lists. The first search of a picked text belongs to
    the first pick of it, and so on. What was typed after the last pick, or without any, led to the first search of
    another text. Times of searches and of lists are not compared: a server's clock is not that of a browser.
    """
    engine.step(
        "session_parts",
        """
        SELECT session, part, picked, row_number() OVER (PARTITION BY session, picked ORDER BY part) AS turn
        FROM (SELECT session, part, any_value(lower(trim(picked))) AS picked,
                     bool_or(action = 'picked') AS ended FROM session_events GROUP BY session, part) AS parts
        WHERE picked IS NOT NULL OR NOT ended
        """,
    )
    engine.step(
        "session_searches",
        """
        SELECT f.*, p.picked, row_number() OVER (PARTITION BY f.session, p.picked ORDER BY f.time NULLS LAST, f.place)
                    AS turn
        FROM (
          SELECT *, typing_session AS session FROM searches
          WHERE typing_session IN (SELECT session FROM session_events)
          UNION ALL
          SELECT s.*, e.session FROM searches AS s JOIN (
            SELECT query_id, session FROM session_events WHERE query_id IS NOT NULL
            QUALIFY row_number() OVER (PARTITION BY query_id ORDER BY time DESC NULLS LAST, place DESC) = 1
          ) AS e ON e.query_id = s.query_id
          WHERE s.typing_session IS NULL OR s.typing_session NOT IN (SELECT session FROM session_events)
        ) AS f LEFT JOIN (SELECT DISTINCT session, picked FROM session_parts) AS p
          ON p.session = f.session AND p.picked = lower(trim(f.query))
        """,
    )
    engine.step(
        "followed",
        """
        SELECT p.session, p.part, s.query, s.query_id AS search_id, s.person
        FROM session_parts AS p JOIN session_searches AS s
          ON s.session = p.session AND s.turn = p.turn AND s.picked IS NOT DISTINCT FROM p.picked
        """,
    )


def selected(engine: DuckDB, context: Sequence[str]) -> str:
    """The rows that are written; context columns are those of the search, named `context_NAME`. Needs `contexts`."""
    columns = ", ".join(f"l.{name}" for name in _COLUMNS)
    named = "".join(f", x.{engine.quote(name)} AS {engine.quote(CONTEXT + name)}" for name in context)
    return f"""SELECT l.name AS typing_session, l.position_in_session, {columns}{named}
               FROM lists AS l LEFT JOIN contexts AS x ON x.query_id = l.search_id
               ORDER BY min(l.time) OVER (PARTITION BY l.name) NULLS LAST, l.name, l.position_in_session, l.place"""


def _report(engine: DuckDB) -> dict[str, int]:
    rows = engine.arrow("SELECT reason, count(*) AS n FROM judged_completions GROUP BY reason").to_pylist()
    reasons = {row["reason"]: row["n"] for row in rows}
    return {
        "typing sessions": count(engine, "(SELECT DISTINCT name FROM lists)"),
        "lists of completions": count(engine, "lists"),
        "lists from which a completion was taken": count(engine, "lists WHERE taken IS NOT NULL"),
        "lists that no search followed": count(engine, "lists WHERE search_id IS NULL"),
        "lists whose typing session is known by the query_id alone": count(
            engine, "lists WHERE typing_session IS NULL"
        ),
        "typing sessions that begin after a pick": count(
            engine, "(SELECT DISTINCT name FROM lists WHERE part > 0)"
        ),
        **{reason: reasons.get(reason, 0) for reason in REASONS},
        REPEATED: count(engine, "kept_events WHERE repeated"),
        DOUBTFUL: count(engine, "session_lists WHERE doubtful AND action = 'shown'"),
    }
