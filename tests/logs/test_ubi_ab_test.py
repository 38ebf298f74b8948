"""A comparison of arms whose intervals resample people."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from ubi_reference import Record, bare, click, pick, query, shown

import wayword
from commands import wayword as command
from wayword.config import EvaluationConfig
from wayword.logs.ubi import ab_test


def session(person: int, arm: str, ranks: list[int | None], lists: int = 2) -> list[Record]:
    """A person is shown lists, picks once per search, and clicks at a rank or not."""
    who = {"client_id": f"person {person}"}
    records = [shown("t", ["tv", "toy"], arm=arm, seconds=n, **who) for n in range(lists)]
    for number, rank in enumerate(ranks):
        name = f"{arm}/{person}/{number}"
        records += [pick(name, "tv", "t", arm=arm, seconds=number, **who), query(name, "tv", number, **who)]
        if rank:
            records.append(click(name, "d", rank, seconds=number, **who))
    return records


def compared(folder: Path, records: list[Record]) -> dict[tuple[str, str], dict[str, Any]]:
    (folder / "ubi.ndjson").write_bytes(bare(records))
    log = wayword.read_ubi(folder, out=folder / "log")
    return {(row["arm"], row["measure"]): row for row in log.arms}


def test_lists_that_are_shown_to_compare_are_of_no_arm(tmp_path: Path) -> None:
    beside = [
        shown("t", ["toy"], policy="popular", client_id="person 1"),
        pick("other", "toy", "t", policy="popular", seconds=9, client_id="person 1"),
        query("other", "toy", 9, client_id="person 1"),
        click("other", "d", 1, seconds=9, client_id="person 1"),
    ]
    found = compared(tmp_path, session(1, "a", [4], lists=2) + beside)
    assert found["a", "share picked"]["value"] == 1 / 2
    assert (found["a", "clicks per search"]["searches"], found["a", "reciprocal rank"]["value"]) == (1, 1 / 4)


def test_draws_that_left_one_arm_out_cost_no_interval(tmp_path: Path) -> None:
    """Few people searched: some draws have none of them in one arm."""
    records = [record for n in range(8) for record in session(n, "a", [1] if n < 2 else [])]
    records += [record for n in range(8, 16) for record in session(n, "b", [2] if n < 11 else [])]
    found = compared(tmp_path, records)
    for measure in ("share picked", "clicks per search", "reciprocal rank"):
        row = found["b - a", measure]
        assert row["low"] <= row["value"] <= row["high"]


def test_the_measures_of_each_arm_are_ratios_of_sums(tmp_path: Path) -> None:
    records = session(1, "a", [1, None, 4], lists=5) + session(2, "a", [2], lists=3)
    records += session(3, "b", [1], lists=1) + session(4, "b", [], lists=1)
    found = compared(tmp_path, records)
    assert found["a", "share picked"]["value"] == 4 / 8
    assert found["a", "clicks per search"]["value"] == 3 / 4
    assert found["a", "reciprocal rank"]["value"] == (1 + 0 + 1 / 4 + 1 / 2) / 4
    assert found["b", "share picked"]["value"] == 1 / 2
    assert found["b - a", "clicks per search"]["value"] == 1 - 3 / 4
    counts = ("people", "shown", "picked", "searches", "clicks")
    assert [found["a", "share picked"][name] for name in counts] == [2, 8, 4, 4, 3]
    assert [found["b", "share picked"][name] for name in counts] == [2, 2, 1, 1, 1]


def test_the_interval_is_that_of_people_not_of_events(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clicking = rng.random(200) < 0.5
    records = [
        r for n in range(200) for r in session(n, "a", [1] * 5 if clicking[n] else [None] * 5, lists=1)
    ]
    row = compared(tmp_path, records)["a", "clicks per search"]
    by_people = 1.96 * math.sqrt(0.25 / 200)
    assert row["value"] == clicking.mean()
    assert (row["high"] - row["low"]) / 2 == pytest.approx(by_people, rel=0.15)
    assert row["low"] < row["value"] < row["high"]


def test_more_people_than_groups_give_the_same_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [r for n in range(300) for r in session(n, "ab"[n % 2], [n % 4 or None], lists=1 + n % 3)]
    one = compared(tmp_path, records)
    monkeypatch.setattr(ab_test, "GROUPS", 100)
    other = compared(tmp_path, records)
    for key, row in one.items():
        assert other[key]["value"] == pytest.approx(row["value"])
        wide = row["high"] - row["low"]
        assert other[key]["high"] - other[key]["low"] == pytest.approx(wide, rel=0.3)


def test_two_equal_arms_differ_by_nothing_and_two_unequal_by_something(tmp_path: Path) -> None:
    def gain(bonus: float) -> dict[str, Any]:
        rng = np.random.default_rng(1)
        records = []
        for n in range(400):
            chance = 0.4 + bonus * (n % 2)
            ranks = [1 if rng.random() < chance else None for _ in range(3)]
            records += session(n, "ab"[n % 2], ranks, lists=1)
        return compared(tmp_path, records)["b - a", "clicks per search"]

    same, better = gain(0.0), gain(0.2)
    assert same["low"] < 0 < same["high"]
    assert 0 < better["low"] < 0.2 < better["high"]


def test_people_who_saw_both_arms_are_drawn_for_both(tmp_path: Path) -> None:
    records = [
        r for n in range(40) for arm in "ab" for r in session(n, arm, [1 + n % 5, None], lists=1 + n % 3)
    ]
    found = compared(tmp_path, records)
    assert found["a", "reciprocal rank"]["low"] < found["a", "reciprocal rank"]["high"]
    for measure in ab_test.MEASURES:
        gain = found["b - a", measure]
        assert (gain["value"], gain["low"], gain["high"]) == (0, 0, 0)


def test_a_search_counts_for_the_arm_of_the_pick_that_began_it(tmp_path: Path) -> None:
    records = [
        pick("q", "tv", "t", arm="a", seconds=0),
        pick("q", "tv", "tv", arm="b", seconds=1),
        query("q", "tv", 2),
        click("q", "d", 2, seconds=3),
    ]
    found = compared(tmp_path, records)
    assert [found[arm, "clicks per search"]["searches"] for arm in "ab"] == [0, 1]
    assert math.isnan(found["a", "reciprocal rank"]["value"])
    assert found["b", "reciprocal rank"]["value"] == 1 / 2


def test_without_completions_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert compared(tmp_path, [query("q", "tv")]) == {}


def test_the_intervals_do_not_depend_on_the_order_of_lines(tmp_path: Path) -> None:
    records = [r for n in range(30) for r in session(n, "ab"[n % 2], [n % 3 or None])]
    found = compared(tmp_path, records)
    assert compared(tmp_path, records[::-1]) == found
    assert EvaluationConfig().level == 0.95  # as the table says


# --- the command


def test_the_command_tells_what_was_read_left_out_and_done(tmp_path: Path) -> None:
    records = [r for n in range(9) for r in session(n, "ab"[n % 2], [n % 3 or None])]
    file = tmp_path / "ubi.ndjson"
    file.write_bytes(bare(records) + b'{"action_name": "cli')
    told = command("ubi", file, "--out", tmp_path / "log")
    assert told.code == 0, told.err
    out = " ".join(told.out.decode().split())
    for said in (
        "query records │ 9",
        "searches │ 9",
        "cut off at the end of a file │ 1",
        "b - a",
        "counts positions from 1",
    ):
        assert said in out
    assert "Next: wayword run --log" in told.err
    assert max(map(len, told.out.decode().splitlines())) <= 80

    told = command("ubi", file, "--out", tmp_path / "log", "--json")
    found = json.loads(told.out)
    assert found["report"]["searches"] == 9
    assert {row["arm"] for row in found["arms"]} == {"a", "b", "b - a"}
    assert found["first_ordinals"] == {"": 1}


def test_the_command_passes_its_options_on(tmp_path: Path) -> None:
    records = [
        query("q", "tv", application="one", query_attributes={"device": "desk", "shop": "x"}),
        click("q", "d", 0, application="one"),
        click("q", "d", 5, application="one", seconds=3) | {"action_name": "purchase"},
        query("other", "tv", application="two"),
    ]
    (tmp_path / "ubi.ndjson").write_bytes(bare(records) + b"garbage\n" + bare([query("last", "tv")]))
    options = ["--clicks", "purchase", "--first-ordinal", "0", "--application", "one", "--context", "device"]
    told = command(
        "ubi", tmp_path, "--out", tmp_path / "log", *options, "--unreadable", "0.5", "--memory", "1GB"
    )
    assert told.code == 0, told.err
    assert "ubi.ndjson:5: 'garbage'" in told.err
    (row,) = pq.read_table(tmp_path / "log/clicks.parquet").drop_columns(["time"]).to_pylist()
    same = {"query": "tv", "search_id": "q", "user": "c", "prefix": None, "device": "desk"}
    assert row == same | {"document": "d", "rank": 6}
    assert "the records hold no result list" in told.err


def test_a_mistake_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "ubi.ndjson").write_bytes(b"query,document,rank\ntv,d,1\ntv,d,2\n")
    told = command("ubi", tmp_path / "ubi.ndjson", "--out", tmp_path / "log")
    assert (told.code, told.out) == (2, b"")
    assert "2 of 2 lines are no UBI records" in told.err
    assert not (tmp_path / "log").exists()
    told = command("ubi", tmp_path / "none", "--out", tmp_path / "log")
    assert (told.code, told.err) == (2, f"error: There is no file or folder {tmp_path / 'none'}.\n")
