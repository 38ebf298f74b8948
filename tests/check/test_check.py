"""Each fault alone gives its finding and no other, with a count by arithmetic; no fault gives none."""

from collections.abc import Callable
from pathlib import Path

import pytest
from faultless import (
    CONFIG,
    DEPTH,
    QUERIES,
    SEARCHES,
    USERS,
    Row,
    check,
    checked,
    faults,
    impressions,
    log,
    named,
    rankings,
)

from wayword.config import Config


def test_a_log_without_a_fault_passes_every_check(tmp_path: Path) -> None:
    found = checked(tmp_path, shown=impressions(log()))
    assert faults(found) == {}
    assert [one.name for one in found] == [
        "columns",
        "empty_queries",
        "markup",
        "personal_data",
        "search_id",
        "search_rows",
        "duplicates",
        "ranks",
        "times",
        "bots",
        "impressions",
        "deep_ranks",
        "same_rank",
        "user_share",
        "test_searches",
        "clicks_shown",
        "shown_ranks",
        "rankings",
        "coverage",
        "depth",
        "rank_agreement",
    ]


def changed(numbers: range, **values: object) -> Callable[[], list[Row]]:
    """The log with other values in some rows."""

    def rows() -> list[Row]:
        return [row | values if i in numbers else row for i, row in enumerate(log())]

    return rows


def more(*added: Row) -> Callable[[], list[Row]]:
    """The log with more rows."""
    return lambda: [*log(), *added]


def without(name: str) -> Callable[[], list[Row]]:
    """The log without a column."""
    return lambda: [{key: value for key, value in row.items() if key != name} for row in log()]


def searches_of(user: str, number: int, *, seconds: int) -> list[Row]:
    """Searches of one user, so many seconds apart."""
    row = log()[0]
    return [
        row
        | {
            "search_id": f"{user}-{i}",
            "user": user,
            "time": f"2026-01-20T{i * seconds // 3600:02d}:{i * seconds // 60 % 60:02d}:{i * seconds % 60:02d}Z",
        }
        for i in range(number)
    ]


HALF = SEARCHES // 2
FAULTS: dict[str, tuple[Callable[[], list[Row]], dict[str, tuple[str, int]]]] = {
    "empty queries": (changed(range(3), query=" "), {"empty_queries": ("FAIL", 3)}),
    "positions from 0": (
        lambda: [row | {"rank": row["rank"] - 1} for row in log()],
        {"first_rank": ("FAIL", SEARCHES // 5)},
    ),
    "a few ranks that are none": (changed(range(5), rank="x"), {"ranks": ("FAIL", 5)}),
    "a few ranks of 0": (changed(range(10), rank=0), {"ranks": ("FAIL", 10)}),
    "no rank": (changed(range(7), rank=""), {"ranks": ("FAIL", 7)}),
    "a weight that is none": (
        lambda: [row | {"weight": -1 if i < 4 else 1} for i, row in enumerate(log())],
        {"weights": ("FAIL", 4)},
    ),
    "no search_id": (without("search_id"), {"search_id": ("WARN", 0)}),
    "some search_ids missing": (changed(range(6), search_id=""), {"search_id": ("FAIL", 6)}),
    "a search with two queries": (
        changed(range(1, 2), search_id="s0", user="u0"),
        {"search_queries": ("FAIL", 1)},
    ),
    "a search with two users": (
        more(log()[0] | {"user": "u9", "document": "d0-2", "rank": 2}),
        {"search_users": ("FAIL", 1)},
    ),
    "a document at two ranks": (more(log()[0] | {"rank": 2}), {"search_ranks": ("FAIL", 1)}),
    "duplicate rows": (more(log()[0], log()[1], log()[1]), {"duplicates": ("WARN", 3)}),
    "an absurd rank": (changed(range(1), rank=1_000_000), {"deep_ranks": ("WARN", 1)}),
    "markup": (
        more(*[{"search_id": f"m{i}", "query": "<script>alert(1)</script>"} for i in range(4)]),
        {"markup": ("WARN", 4)},
    ),
    "personal data": (
        more(
            {"search_id": "p1", "query": "ann@example.org"},
            {"search_id": "p2", "query": "4111 1111 1111 1111"},
            {"search_id": "p3", "query": "+49 30 1234567"},
        ),
        {"personal_data": ("WARN", 3)},
    ),
    "a bot of a minute": (more(*searches_of("bot", 31, seconds=1)), {"bots": ("WARN", 31)}),
    "a bot of an hour": (
        more(*searches_of("bot", 201, seconds=17)),
        {"bots": ("WARN", 201), "user_share": ("WARN", 201)},
    ),
    "one user with many searches": (
        changed(range(0, 2 * 101, 2), user="one"),
        {"user_share": ("WARN", 101)},
    ),
    "one user alone": (changed(range(SEARCHES), user="one"), {"user_share": ("WARN", SEARCHES)}),
    "no click of any weight": (
        lambda: [row | {"weight": 0} for row in log()],
        {"clicks": ("FAIL", 0)},
    ),
    "a time that is none": (changed(range(2), time="yesterday"), {"times": ("WARN", 2)}),
    "times in the future": (changed(range(3), time="2026-11-20T14:00:01Z"), {"clock": ("WARN", 3)}),
    "times before there were logs": (changed(range(2), time="1970-01-01T00:00:00Z"), {"clock": ("WARN", 2)}),
    "clicks from queries without rankings": (
        lambda: [row | {"query": "other"} if i < 60 else row for i, row in enumerate(log())],
        {"coverage": ("WARN", 60)},
    ),
    "most clicks from queries without rankings": (
        lambda: [row | {"query": f"other {i}"} if i < HALF else row for i, row in enumerate(log())],
        {"coverage": ("FAIL", HALF)},
    ),
    "one click below the rankings": (changed(range(1), rank=DEPTH + 1, document="far"), {"depth": ("WARN", 1)}),
    "many clicks below the rankings": (
        changed(range(HALF), rank=DEPTH + 1, document="far"),
        {"depth": ("FAIL", HALF)},
    ),
    "few ranks that disagree": (
        changed(range(0, 60), document="d1-9"),
        {"rank_agreement": ("WARN", 60)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gives_its_finding_and_no_other(fault: str, tmp_path: Path) -> None:
    make, expected = FAULTS[fault]
    assert faults(checked(tmp_path, make())) == expected


def test_rows_are_named_by_their_lines(tmp_path: Path) -> None:
    found = named(checked(tmp_path, FAULTS["empty queries"][0]()), "empty_queries")
    assert [one.split(":")[0] for one in found.examples] == ["line 2", "line 3", "line 4"]
    text = [*(tmp_path / "log.csv").read_text().splitlines()]
    text.insert(2, "broken")
    (tmp_path / "broken.csv").write_text("\n".join(text) + "\n")
    found = named(check(tmp_path / "broken.csv"), "empty_queries")
    assert [one.split(":")[0] for one in found.examples] == ["line 2", "line 4", "line 5"]


def test_ranks_of_another_engine_fail_above_a_fifth(tmp_path: Path) -> None:
    """Documents in another order for some of the queries: no constant shift."""

    def reordered(queries: int) -> list[Row]:
        moved = {1: 2, 2: 4, 3: 1, 4: 5, 5: 3}
        return [
            row | {"rank": moved.get(row["rank"], row["rank"])}
            if int(row["query"].split()[1]) < queries
            else row
            for row in rankings()
        ]

    fifth = QUERIES // 5
    assert faults(checked(tmp_path, ranked=reordered(fifth))) == {"rank_agreement": ("WARN", SEARCHES // 5)}
    found = checked(tmp_path, ranked=reordered(fifth + 1))
    assert faults(found) == {"rank_agreement": ("FAIL", SEARCHES * (fifth + 1) // QUERIES)}
    assert "another engine or another day" in named(found, "rank_agreement").found


@pytest.mark.parametrize(
    ("by", "words"), [(1, "+1: count ranks from 1 in both"), (3, "+3: look for results, such as ad")]
)
def test_a_constant_shift_is_recognised(by: int, words: str, tmp_path: Path) -> None:
    found = checked(tmp_path, [row | {"rank": row["rank"] + by} for row in log()])
    assert faults(found) == {"rank_agreement": ("FAIL", SEARCHES)}
    assert words in named(found, "rank_agreement").do


def test_a_shift_by_one_of_some_clicks_is_no_matter_of_counting(tmp_path: Path) -> None:
    """The engine has removed the first result of some queries."""
    moved = [row | {"rank": row["rank"] + (int(row["query"].split()[1]) < QUERIES // 4)} for row in log()]
    found = named(checked(tmp_path, moved), "rank_agreement")
    assert "+1: look for results" in found.do
    assert "count ranks" not in found.do


def test_rankings_from_0_are_one_fault_and_are_read_on_from_1(tmp_path: Path) -> None:
    found = checked(tmp_path, ranked=[row | {"rank": row["rank"] - 1} for row in rankings()])
    assert faults(found) == {"rankings_first_rank": ("FAIL", QUERIES)}


def test_faults_of_the_rankings_are_found(tmp_path: Path) -> None:
    bad = [
        {"query": "", "document": "d", "rank": 1},
        {"query": "new", "document": "", "rank": 1},
        {"query": "new", "document": "d", "rank": 1.5},
        {"query": "query 0", "document": "d0-10", "rank": 12},
    ]
    assert faults(checked(tmp_path, ranked=[*rankings(), *bad])) == {
        "rankings_queries": ("FAIL", 1),
        "rankings_documents": ("FAIL", 1),
        "rankings_ranks": ("FAIL", 1),
        "rankings_two_ranks": ("FAIL", 1),
    }


def test_clicks_without_impressions_are_counted_by_reason(tmp_path: Path) -> None:
    shown = impressions(log())
    unknown = [row for row in shown if row["search_id"] not in {f"s{i}" for i in range(30)}]
    found = checked(tmp_path, shown=unknown)
    assert faults(found) == {"clicks_shown": ("WARN", 30)}
    assert "30 in searches that the impressions lack, 0 on documents" in named(found, "clicks_shown").found
    unseen = [
        row for row in shown if not (row["clicked"] and row["search_id"] in {f"s{i}" for i in range(24)})
    ]
    found = checked(tmp_path, shown=unseen)
    assert faults(found) == {"clicks_shown": ("WARN", 24)}
    assert "0 in searches that the impressions lack, 24 on documents" in named(found, "clicks_shown").found


def test_impressions_at_other_ranks_fail_and_confirm_the_rankings_of_no_click(tmp_path: Path) -> None:
    shown = [row | {"rank": row["rank"] % DEPTH + 1} for row in impressions(log())]
    assert faults(checked(tmp_path, shown=shown)) == {"shown_ranks": ("FAIL", SEARCHES)}


def test_ranks_that_were_changed_on_purpose_are_no_failure_where_impressions_show_them(
    tmp_path: Path,
) -> None:
    """Every search shows the first two results in the other order."""
    swapped = {1: 2, 2: 1}
    rows = [row | {"rank": swapped.get(row["rank"], row["rank"])} for row in log()]
    shown = [row | {"rank": swapped.get(row["rank"], row["rank"])} for row in impressions(log())]
    moved = SEARCHES * 2 // 5
    assert faults(checked(tmp_path, rows)) == {"rank_agreement": ("FAIL", moved)}
    found = checked(tmp_path, rows, shown=shown)
    assert faults(found) == {"rank_agreement": ("WARN", moved)}
    assert f"confirm the logged rank of {moved}" in named(found, "rank_agreement").found


def test_impressions_that_cannot_be_used_are_one_failure(tmp_path: Path) -> None:
    shown = [row | {"rank": row["rank"] - 1} for row in impressions(log())]
    found = checked(tmp_path, shown=shown)
    assert faults(found) == {"impressions": ("FAIL", 0)}
    assert "--first-rank 0" in named(found, "impressions").found
    assert faults(checked(tmp_path, shown=shown, first_rank=0)) == {}


def test_ranks_that_are_all_the_same_are_named(tmp_path: Path) -> None:
    rows = [row | {"rank": 1, "document": f"d{row['query'].split()[1]}-1"} for row in log()]
    found = checked(tmp_path, rows)
    assert faults(found) == {"same_rank": ("WARN", SEARCHES)}
    assert "(600) are at rank 1." in named(found, "same_rank").found


@pytest.mark.parametrize(
    ("few", "enough", "words"), [(1000, 2000, "too few to say"), (10, 1000, "only large differences")]
)
def test_few_test_searches_say_little(few: int, enough: int, words: str, tmp_path: Path) -> None:
    config = Config.parse({"check": {"few_test": few, "enough_test": enough}})
    found = checked(tmp_path, config=config)
    assert list(faults(found)) == ["test_searches"]
    assert words in named(found, "test_searches").found


def test_test_searches_are_those_of_the_split(tmp_path: Path) -> None:
    config = Config.parse(
        {
            "log": {"split": "time", "retriever_share": 0.5, "ranker_share": 0.25},
            "check": {"enough_test": 20, "few_test": 10},
        }
    )
    assert named(checked(tmp_path, config=config), "test_searches").count == SEARCHES // 4


def test_times_that_the_split_needs_are_a_failure(tmp_path: Path) -> None:
    config = Config.parse({"log": {"split": "time"}, "check": {"enough_test": 20, "few_test": 10}})
    found = checked(tmp_path, FAULTS["a time that is none"][0](), config=config)
    assert {name: level for name, (level, _) in faults(found).items()} == {"times": "FAIL", "split": "FAIL"}


def test_personal_data_is_not_repeated(tmp_path: Path) -> None:
    found = checked(tmp_path, FAULTS["personal data"][0]())
    assert "example.org" not in repr(found)
    assert "4111" not in repr(found)
    assert named(found, "personal_data").examples == (
        "line 602: looks_like='e-mail address'",
        "line 603: looks_like='card number'",
        "line 604: looks_like='phone number'",
    )


def test_rows_that_cannot_be_told_apart_are_no_duplicates(tmp_path: Path) -> None:
    rows = [{"query": "query 0", "document": "d0-1", "rank": 1, "time": "2026-01-05"}] * 100
    assert "duplicates" not in {one.name for one in checked(tmp_path, rows)}


def test_days_alone_tell_no_rate_by_the_minute(tmp_path: Path) -> None:
    rows = [row | {"user": "u0", "time": "2026-01-05"} for row in log()[:100]]
    assert "bots" not in faults(checked(tmp_path, rows))


def test_no_click_is_a_failure(tmp_path: Path) -> None:
    rows = [
        {"search_id": row["search_id"], "query": row["query"], "document": "", "rank": ""} for row in log()
    ]
    assert faults(checked(tmp_path, rows)) == {"clicks": ("FAIL", 0)}


def test_everything_is_reported_at_once(tmp_path: Path) -> None:
    rows = FAULTS["positions from 0"][0]()
    rows[0] |= {"query": ""}
    rows[1] |= {"time": "1970-01-01T00:00:00Z"}
    rows += searches_of("bot", 31, seconds=1)
    found = faults(checked(tmp_path, [row | {"rank": max(row["rank"], 0)} for row in rows]))
    assert found["empty_queries"] == ("FAIL", 1)
    assert found["first_rank"][0] == "FAIL"
    assert found["clock"] == ("WARN", 1)
    assert found["bots"] == ("WARN", 31)


def test_lenient_drops_clicks_without_failing(tmp_path: Path) -> None:
    rows = FAULTS["most clicks from queries without rankings"][0]()
    assert faults(checked(tmp_path, rows, lenient=True)) == {"coverage": ("WARN", HALF)}


def test_thresholds_are_settings(tmp_path: Path) -> None:
    rows = FAULTS["few ranks that disagree"][0]()
    for wrong, some, level in ((0.05, 0.02, "FAIL"), (0.2, 0.1, "PASS")):
        config = Config.parse({"check": {"wrong": wrong, "some": some, "few_test": 10, "enough_test": 20}})
        assert named(checked(tmp_path, rows, config=config), "rank_agreement").level == level
    assert CONFIG.check.wrong == 0.2
    assert USERS > 50


def test_judgments_have_grades_and_no_ranks(tmp_path: Path) -> None:
    rows = [{"query": row["query"], "document": row["document"], "grade": 2} for row in log()]
    config = Config.parse({"check": {"few_test": 1, "enough_test": 1}})  # a search per query
    found = checked(tmp_path, rows, judged=True, config=config)
    assert faults(found) == {}
    assert not {one.name for one in found} & {"ranks", "rank_agreement", "depth", "bots", "same_rank"}
    rows[3] |= {"grade": -1}
    assert faults(checked(tmp_path, rows, judged=True, config=config)) == {"grades": ("FAIL", 1)}
