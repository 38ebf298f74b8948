from pathlib import Path
from typing import Any

import pytest

from inputs import Row, write
from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.errors import LogError
from wayword.logs import log
from wayword.rankings import table as rankings
from wayword.rankings.table import MismatchRules

RANKINGS: list[Row] = [
    {"query": "TV stand", "document": "01", "rank": 1},
    {"query": "TV stand", "document": "02", "rank": 2},
    {"query": "tv-stand", "document": "02", "rank": 1},
    {"query": "mail", "document": "03", "rank": 1},
    {"query": "mail", "document": "03", "rank": 1},
    {"query": "unsearched", "document": "04", "rank": 1},
]
LOG: list[Row] = [
    {"search_id": "a", "query": "tv-stand", "document": "02", "rank": 1},
    {"search_id": "b", "query": "tv-stand", "document": "02", "rank": 1},
    {"search_id": "c", "query": "TV stand", "document": "02", "rank": 1},
    {"search_id": "d", "query": "MAIL", "document": "03", "rank": 1},
    {"search_id": "e", "query": "nothing found", "document": None, "rank": None},
]


def joined(
    engine: Engine, tmp_path: Path, more: list[Row], answers: list[Row] | None = None, **strictness: Any
) -> dict[str, Any]:
    log.build(engine, write(tmp_path / "log.parquet", LOG + more), LogConfig())
    rankings.read(engine, write(tmp_path / "rankings.parquet", answers or RANKINGS))
    rankings.number(engine, None)
    return rankings.join_log(engine, MismatchRules(**strictness), source="the log")


def searches(engine: Engine) -> str:
    return "".join(
        engine.arrow("SELECT search_id FROM numbered_searches ORDER BY search")["search_id"].to_pylist()
    )


def clicks(engine: Engine) -> list[tuple[str, str, int]]:
    rows = engine.arrow(
        """SELECT s.search_id, d.document_id, c.rank FROM numbered_clicks AS c
           JOIN numbered_searches AS s ON s.search = c.search
           JOIN documents AS d ON d.document = c.document ORDER BY 1, 2"""
    ).to_pylist()
    return [(row["search_id"], row["document_id"], row["rank"]) for row in rows]


def test_forms_of_a_query_are_one_and_the_most_logged_stands_for_all_with_its_own_list(
    engine: Engine, tmp_path: Path
) -> None:
    joined(engine, tmp_path, [])
    assert engine.arrow("SELECT text, shown, ranked FROM queries ORDER BY query").to_pylist() == [
        {"text": "mail", "shown": "MAIL", "ranked": True},
        {"text": "nothing found", "shown": None, "ranked": False},
        {"text": "tv stand", "shown": "tv-stand", "ranked": True},
        {"text": "unsearched", "shown": "unsearched", "ranked": True},
    ]
    assert engine.arrow("SELECT document_id FROM documents ORDER BY document")["document_id"].to_pylist() == [
        "01",
        "02",
        "03",
        "04",
    ]
    assert engine.arrow("SELECT * FROM rankings ORDER BY query").to_pylist() == [
        {"query": 0, "document": 2, "rank": 1},
        {"query": 2, "document": 1, "rank": 1},
        {"query": 3, "document": 3, "rank": 1},
    ]


def test_a_search_without_a_click_may_have_found_nothing(engine: Engine, tmp_path: Path) -> None:
    report = joined(engine, tmp_path, [])
    assert searches(engine) == "abcde"
    assert clicks(engine) == [("a", "02", 1), ("b", "02", 1), ("c", "02", 1), ("d", "03", 1)]
    assert set(report.values()) == {0, 4}


UNKNOWN = [{"search_id": f"x{n}", "query": "mail", "document": f"no {n}", "rank": 1} for n in range(6)]
UNRANKED = [{"search_id": "y", "query": "nothing found", "document": "01", "rank": 1}]
HALF = [{"search_id": "d", "query": "mail", "document": "no", "rank": 1}]


def test_clicks_that_the_rankings_cannot_explain_are_refused_with_five_examples(
    engine: Engine, tmp_path: Path
) -> None:
    with pytest.raises(LogError) as refused:
        joined(engine, tmp_path, UNKNOWN + UNRANKED)
    message = str(refused.value)
    assert "6 clicks on documents that no ranking contains" in message
    assert "1 clicks from queries without a ranking" in message
    assert message.count("document='no ") == 5
    assert "search_id='y', query='nothing found', document='01', rank=1" in message


@pytest.mark.parametrize(("share", "refused"), [(0.2, False), (0.19, True), (0, True), (1, False)])
def test_a_few_clicks_that_the_rankings_cannot_explain_are_dropped_and_counted(
    engine: Engine, tmp_path: Path, share: float, refused: bool
) -> None:
    """One click of five, as anybody may post one."""
    if refused:
        with pytest.raises(LogError, match=r"(?s)1 clicks on documents.*20\.0% of the clicks, .*--lenient"):
            joined(engine, tmp_path, HALF, max_unexplained=share)
        return
    report = joined(engine, tmp_path, HALF, max_unexplained=share)
    assert report["clicks on documents that no ranking contains"] == 1
    assert clicks(engine) == [("a", "02", 1), ("b", "02", 1), ("c", "02", 1), ("d", "03", 1)]


def test_lenient_drops_and_counts_them_and_a_search_that_loses_all_its_clicks_disappears(
    engine: Engine, tmp_path: Path
) -> None:
    report = joined(engine, tmp_path, UNKNOWN + UNRANKED + HALF, lenient=True)
    assert searches(engine) == "abcde"
    assert report["clicks on documents that no ranking contains"] == 6 + 1
    assert report["clicks from queries without a ranking"] == 1
    assert ("d", "03", 1) in clicks(engine)


def test_a_log_of_which_no_click_is_left_is_refused(engine: Engine, tmp_path: Path) -> None:
    answers = [{"query": "other", "document": "05", "rank": 1}]
    joined(engine, tmp_path, [], answers, lenient=True)
    with pytest.raises(LogError, match="no click is left"):
        rankings.require_clicks(engine, source="the log")


DRIFTED = [
    {"search_id": "p", "query": "mail", "document": "03", "rank": 7},
    {"search_id": "q", "query": "mail", "document": "01", "rank": 1},
]


def test_a_click_logged_at_another_rank_is_kept_dropped_or_refused(engine: Engine, tmp_path: Path) -> None:
    report = joined(engine, tmp_path, DRIFTED)
    assert report["clicks explained by the rankings"] == 4 + 2
    assert report["mismatched clicks"] == 2
    assert report["clicks that their own query does not return in the rankings"] == 1
    assert clicks(engine)[-2:] == [("p", "03", 7), ("q", "01", 1)]

    joined(engine, tmp_path, DRIFTED, on_mismatch="drop")
    assert searches(engine) == "abcde"
    with pytest.raises(
        LogError, match=r"2 clicks .* another rank (.|\n)*search_id='p'.* rank=7, table_rank=1"
    ):
        joined(engine, tmp_path, DRIFTED, on_mismatch="error")


@pytest.mark.parametrize("on_mismatch", ["logged", "drop", "error"])
@pytest.mark.parametrize("document", ["01", "far"])
def test_a_click_below_the_rankings_stops_nothing_and_is_no_mismatch(
    engine: Engine, tmp_path: Path, document: str, on_mismatch: str
) -> None:
    """The rankings do not say what is at rank 2 of "mail": nothing contradicts the click."""
    deep = [{"search_id": "z", "query": "mail", "document": document, "rank": 2}]
    report = joined(engine, tmp_path, deep, on_mismatch=on_mismatch, max_unexplained=0.0)
    assert report["clicks below the last rank that the rankings have for their query"] == 1
    assert report["mismatched clicks"] == report["clicks on documents that no ranking contains"] == 0
    assert ("z" in searches(engine)) == (document == "01")


@pytest.mark.parametrize("on_mismatch", ["logged", "drop", "error"])
def test_a_form_with_results_of_its_own_is_no_drift(engine: Engine, tmp_path: Path, on_mismatch: str) -> None:
    """Both forms answer as the table says of them; one list stands for the text, and that is told apart from drift."""
    answers = [
        *RANKINGS,
        {"query": "night lamp", "document": "01", "rank": 1},
        {"query": "Night-lamp", "document": "01", "rank": 7},
    ]
    rows = [{"search_id": f"t{i}", "query": "night lamp", "document": "01", "rank": 1} for i in range(3)]
    rows.append({"search_id": "u", "query": "Night-lamp", "document": "01", "rank": 7})
    report = joined(engine, tmp_path, rows, answers, on_mismatch=on_mismatch)
    assert report["mismatched clicks"] == 0
    assert report["clicks from another form of their query with other results"] == 1
    assert ("u", "01", 7) in clicks(engine)


@pytest.mark.parametrize("on_mismatch", ["logged", "drop", "error"])
def test_judgments_have_no_rank_to_differ(engine: Engine, tmp_path: Path, on_mismatch: str) -> None:
    rows = [{"query": "mail", "document": d, "grade": 2} for d in ("03", "01", "no")]
    log.build(engine, write(tmp_path / "log.csv", rows), LogConfig(), judged=True)
    rankings.read(engine, write(tmp_path / "rankings.csv", RANKINGS))
    rankings.number(engine, None)
    report = rankings.join_log(engine, MismatchRules(on_mismatch, judged=True), source="the judgments")
    assert report["clicks on documents that no ranking contains"] == 1
    assert report["mismatched clicks"] == 0
    assert engine.arrow("SELECT count(*) AS n FROM numbered_clicks")["n"].to_pylist() == [2]


BAD_RANKS = [0, -1, 1.5, "x", "nan", 2**31]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "mail", "document": "03", "rank": 2}, "two ranks .* query='mail', document='03', one_rank=1.0"),
        ({"query": "\u200b", "document": "03", "rank": 1}, "without a query .* row 7"),
        ({"query": "mail", "document": "", "rank": 1}, "without a document .* row 7: query='mail'"),
        *[({"query": "mail", "document": "09", "rank": r}, "not a whole number") for r in BAD_RANKS],
    ],
)  # fmt: skip
def test_a_bad_row_is_shown(engine: Engine, tmp_path: Path, row: Row, message: str) -> None:
    path = write(tmp_path / "rankings.csv", [*RANKINGS, row])
    with pytest.raises(LogError, match=f"(?s){message}"):
        rankings.read(engine, path)


def test_missing_columns_and_rows_are_named(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(
        LogError, match=r"(?s)lacks the columns document, rank.*found: +query.*expected: query, document"
    ):
        rankings.read(engine, write(tmp_path / "rankings.csv", [{"query": "a"}]))
    (tmp_path / "rankings.csv").write_text("query,document,rank\n")
    with pytest.raises(LogError, match="it has columns but no row"):
        rankings.read(engine, tmp_path / "rankings.csv")
