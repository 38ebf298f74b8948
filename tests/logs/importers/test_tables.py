"""Tables: columns by their names or by --map, positions from 0, times in many forms, and rows that are left out."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from wayword.errors import LogError, WaywordError
from wayword.logs.importers import columns, names
from wayword.logs.importers.read import ImportedLog, import_log


def table(folder: Path, text: str, **options: Any) -> ImportedLog:
    (folder / "log.csv").write_text(text, encoding="utf-8")
    return import_log(folder / "log.csv", out=folder / "out", **options)


def rows(log: ImportedLog, *names: str) -> list[tuple[Any, ...]]:
    found = pq.read_table(log.folder / "clicks.parquet").to_pylist()
    return [tuple(row.get(name) for name in names) for row in found]


def test_usual_names_are_taken_and_said(tmp_path: Path) -> None:
    log = table(tmp_path, "Search Term,Position,Product-ID,device,colour\ntv,1,a,phone,red\n")
    assert rows(log, "query", "document", "rank", "device") == [("tv", "a", 1, "phone")]
    said = (
        "columns: --map query='Search Term' --map document=Product-ID --map rank=Position --map device=device"
    )
    assert log.outcome.taken_as[0] == said
    assert "columns that are not used: colour" in log.outcome.notes


def test_ambiguous_names_are_an_error_with_the_options_to_give(tmp_path: Path) -> None:
    text = "search_term,search_query,rank,sku,product_id\ntv,t,1,a,b\n"
    with pytest.raises(LogError) as refused:
        table(tmp_path, text)
    for option in ("query=search_term", "query=search_query", "document=sku", "document=product_id"):
        assert f"--map {option}" in str(refused.value)
    log = table(tmp_path, text, mapping={"query": "search_term", "document": "sku"})
    assert rows(log, "query", "document", "rank") == [("tv", "a", 1)]


def test_unknown_names_are_an_error_with_the_option_to_give(tmp_path: Path) -> None:
    with pytest.raises(
        LogError, match=r"found: a, b, c\n  query, document, rank: .*\nGive --map query=COLUMN"
    ):
        table(tmp_path, "a,b,c\ntv,x,1\n")
    with pytest.raises(LogError, match="has no column search"):
        table(tmp_path, "a,b,c\ntv,x,1\n", mapping={"query": "search"})
    named = {"query": "a", "document": "b", "rank": "c", "shop": "d"}
    log = table(tmp_path, "a,b,c,d\ntv,x,1,north\n", mapping=named)
    assert rows(log, "query", "document", "rank", "shop") == [("tv", "x", 1, "north")]


def test_a_file_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="found: column1, column2, column3"):
        table(tmp_path, "tv,d1,1\nradio,d2,3\n")
    log = table(
        tmp_path,
        "tv,d1,1\nradio,d2,3\n",
        mapping={"query": "column1", "document": "column2", "rank": "column3"},
    )
    assert rows(log, "query", "document", "rank") == [("tv", "d1", 1), ("radio", "d2", 3)]


def test_guessed_columns_are_confirmed_by_a_question(tmp_path: Path) -> None:
    asked: list[str] = []
    text = "q,pos,sku\ntv,1,a\n"

    def answer(question: str) -> bool:
        asked.append(question)
        return False

    with pytest.raises(LogError, match="--map query=q --map document=sku --map rank=pos"):
        table(tmp_path, text, confirm=answer)
    assert "--map query=q" in asked[0]
    table(tmp_path, text, confirm=lambda _: True)
    table(tmp_path, text, confirm=answer, mapping={"query": "q", "document": "sku", "rank": "pos"})
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("positions", "first", "ranks"),
    [
        ([0, 1, 2], None, [1, 2, 3]),
        ([1, 2, 3], None, [1, 2, 3]),
        ([1, 2, 3], 0, [2, 3, 4]),
        ([0, *[1] * 11], None, [1] * 11),
        ([0, 1], 1, [1]),
        ([1, 2.0, 20000, -1], None, [1, 2]),
    ],
)
def test_positions_begin_where_the_data_or_the_option_says(
    tmp_path: Path, positions: list[float], first: int | None, ranks: list[int]
) -> None:
    text = "query,document,rank\n" + "".join(f"tv,d{n},{position}\n" for n, position in enumerate(positions))
    log = table(tmp_path, text, first_rank=first)
    assert sorted(rank for (rank,) in rows(log, "rank")) == ranks
    found_zero = first is None and ranks == [1, 2, 3] and positions[0] == 0
    assert any("begin at 0" in said for said in log.outcome.taken_as) == found_zero
    assert sum(log.outcome.dropped.values()) == len(positions) - len(ranks)


@pytest.mark.parametrize(
    ("written", "more"),
    [
        ("2026-03-04T05:06:07Z", []),
        ("2026-03-04 05:06:07", []),
        ("04.03.2026 05:06:07", []),
        ("1772600767", []),
        ("1772600767000", []),
        ("1772600767000000", []),
        ("04/03/2026 05:06:07", ["25/03/2026 05:06:07"]),
        ("03/04/2026 05:06:07", ["03/25/2026 05:06:07"]),
        ("03/04/2026 05:06:07 AM", ["03/25/2026 05:06:07 AM"]),
        ("04/Mar/2026:05:06:07 +0000", []),
    ],
)
def test_times_are_read_in_the_form_that_they_have(tmp_path: Path, written: str, more: list[str]) -> None:
    text = "query,document,rank,ts\n" + "".join(
        f"tv,d{n},1,{time}\n" for n, time in enumerate([written, *more])
    )
    log = table(tmp_path, text)
    assert rows(log, "time")[0] == (datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),)


def test_rows_that_cannot_be_used_are_left_out_with_their_reasons(tmp_path: Path) -> None:
    log = table(
        tmp_path,
        "query,document,rank,search_id,time\n"
        "tv,a,1,s1,2026-01-01T10:00:00\n"
        "tv,a,1,s1,2026-01-01T10:00:00\n"  # twice
        "tv,a,4,s1,2026-01-01T10:00:09\n"  # at another rank
        " ,a,1,s2,2026-01-01T10:00:00\n"  # no query
        "tv,,2,s3,2026-01-01T10:00:00\n"  # no document
        "tv,b,,s4,2026-01-01T10:00:00\n"  # no rank
        "tv,b,1,,2026-01-01T10:00:00\n"  # no id
        "radio,,,s5,2026-01-01T10:00:00\n"  # no click
        "radio,c,1,s6,never\n",
    )
    assert rows(log, "query", "document", "rank", "search_id") == [
        ("radio", None, None, "s5"),
        ("radio", "c", 1, "s6"),
        ("tv", "a", 1, "s1"),
    ]
    assert list(log.outcome.dropped.values()) == [1, 1, 1, 1, 1, 1]
    assert log.outcome.kept == {"clicks": 2, "searches without a click": 1}
    assert any("1 times cannot be read" in note for note in log.outcome.notes)


def test_equal_rows_that_nothing_tells_apart_are_kept(tmp_path: Path) -> None:
    log = table(tmp_path, "query,document,rank\n" + "tv,a,1\n" * 5)
    assert log.outcome.kept["clicks"] == 5


def test_an_id_of_several_queries_is_several_searches(tmp_path: Path) -> None:
    log = table(tmp_path, "query,document,rank,search_id\ntv,a,1,s\nradio,a,2,s\ntv,b,2,s\n")
    ids = dict(rows(log, "query", "search_id"))
    assert len(ids) == len({*ids.values()}) == 2
    assert log.outcome.kept["search ids that stood for several searches"] == 1


def test_a_session_is_not_a_search(tmp_path: Path) -> None:
    log = table(tmp_path, "query,document,rank,session_id\ntv,a,1,s\nradio,a,2,s\ntv,b,2,s\n")
    assert len({search for (search,) in rows(log, "search_id")}) == 2


def test_actions_without_a_query_belong_to_the_search_before_them(tmp_path: Path) -> None:
    text = (
        "session_id,event,query,product_id,position,ts\n"
        "s,search,tv,,,1700000000\n"
        "s,impression,,a,0,1700000001\ns,impression,,b,1,1700000001\ns,click,,b,1,1700000002\n"
        "s,search,radio,,,1700000003\n"
        "t,click,,b,1,1700000003\n"
        "s,purchase,tv,b,,1700000004\ns,wish,,b,,1700000005\n"
    )
    log = table(tmp_path, text, weights={"purchase": 5})
    found = [("radio", None, None, None), ("tv", "b", 2, 1.0), ("tv", "b", 2, 5.0)]
    assert sorted(rows(log, "query", "document", "rank", "weight")) == found
    shown = pq.read_table(log.folder / "impressions.parquet").to_pylist()
    assert [(row["document"], row["rank"], row["clicked"]) for row in shown] == [
        ("a", 1, False),
        ("b", 2, True),
    ]
    assert any("wish (1). --weight wish=5" in note for note in log.outcome.notes)


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    text = "query,document,rank\ntv,a,1\n"
    with pytest.raises(LogError, match="--map action=COLUMN"):
        table(tmp_path, text, weights={"purchase": 5})
    for options in (
        {"weights": {"purchase": -1.0}},
        {"memory": "much"},
        {"first_rank": 2},
        {"unreadable": 2.0},
    ):
        with pytest.raises(WaywordError, match="expected"):
            table(tmp_path, text, **options)
    with pytest.raises(LogError, match="expected one of ubi"):
        table(tmp_path, text, format="sap")
    with pytest.raises(LogError, match="none of the rows can be used"):
        table(tmp_path, "query,document,rank\ntv,a,0\ntv,b,-1\n", first_rank=1)
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.endswith(".parquet")]


def test_parsing_of_map_and_usual_names_that_are_unique() -> None:
    with pytest.raises(LogError, match="expected COLUMN_OF_THE_LOG=COLUMN_OF_THE_FILE"):
        columns.parse(["query"])
    known = [name for strong, weak in names.ROLES.values() for name in f"{strong} {weak}".split()]
    assert len(known) == len({*known})
    assert all(names.simple(name) == name for name in known)


def test_nested_json_is_found_by_its_last_names_and_an_object_is_no_query(tmp_path: Path) -> None:
    lines = ['{"search": {"query": "tv"}, "product": {"id": "a"}, "pos": 1}'] * 9
    lines.insert(3, '{"search": {"query": {"text": "tv"}}, "product": {"id": "a"}, "pos": 1}')
    log = table(tmp_path, "\n".join(lines))
    assert rows(log, "query", "document", "rank") == [("tv", "a", 1)] * 9
    assert log.outcome.dropped == {"records with a value of the wrong type": 1}
    assert f"{tmp_path / 'log.csv'}:4: query {{" in log.outcome.notes[-2]


def test_comments_before_the_names_are_passed_over(tmp_path: Path) -> None:
    log = table(
        tmp_path, "# exported\n# today\nquery;document;rank;part\ntv;a;1;x\n", mapping={"part": "part"}
    )
    assert rows(log, "query", "document", "rank", "part") == [("tv", "a", 1, "x")]


def test_counts_are_not_taken_for_what_was_clicked(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="0 or 1 where a row was clicked"):
        table(tmp_path, "query,document,rank,search_id,clicked\n" + "tv,a,1,s,37\n" * 5)
