"""Findings and recommended settings: what follows from counts of a log."""

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from made_report import FACTS, VERDICT

from wayword.check.finding import Finding
from wayword.config import Config
from wayword.report.findings import findings
from wayword.report.log_facts import LogFacts
from wayword.report.recommended_settings import Recommended, recommended, settings_file


def found(facts: LogFacts, words: str) -> Finding:
    (one,) = [one for one in findings(facts) if words in f"{one.found} {one.do}"]
    return one


@pytest.mark.parametrize(
    ("change", "words", "level"),
    [
        ({"mismatched": 24_000}, "100 % of the clicks (24,000) were logged at another rank", "FAIL"),
        ({"mismatched": 24_000, "shift": -1}, "differ by exactly -1: count ranks from 1", "FAIL"),
        ({"mismatched": 24_000, "shift": 4}, "differ by exactly +4: look for results", "FAIL"),
        ({"mismatched": 6_000, "shift": -1}, "differ by exactly -1: look for results", "FAIL"),
        ({"mismatched": 6_000, "shift": -1, "confirmed": 3_001}, "confirm the logged rank of 3,001", "WARN"),
        ({"mismatched": 6_000, "shift": -1, "confirmed": 3_000}, "differ by exactly -1", "FAIL"),
        ({"mismatched": 1_200}, "5.0 % of the clicks (1,200)", "WARN"),
        ({"mismatched": 240}, "99.0 % of the clicks have the rank", "PASS"),
        ({"unexplained": 6_000}, "20 % of the clicks (6,000) are left out", "WARN"),
        ({"unexplained": 24_000}, "50 % of the clicks (24,000) are left out", "FAIL"),
        (
            {"not_returned": 12_000},
            "50 % of the clicks (12,000) are on documents that the rankings",
            "FAIL",
        ),
        ({"tested": 27}, "Only 27 searches with a click", "FAIL"),
        ({"tested": 500}, "500 searches with a click", "WARN"),
        ({}, "2,000 searches with a click", "PASS"),
        ({"queries": 30_000}, "0.8 clicks per query", "WARN"),
        (
            {},
            "For 80 % of the clicks another query shows the document too, for 25 % at a better rank",
            "PASS",
        ),
        ({"worth": replace(FACTS.worth, bound=1.01)}, "at a better rank", "WARN"),
        ({"searches_with_click": 50_000}, "only searches with a click", "WARN"),
        ({"at_first_rank": 24_000}, "100 % of the clicks (24,000) are at rank 1.", "FAIL"),
        ({"seldom": 40_000}, "80 % of the searches", "WARN"),
    ],
)
def test_what_counts_mean(change: dict[str, Any], words: str, level: str) -> None:
    one = found(replace(FACTS, **change), words)
    assert one.level == level
    assert bool(one.do) == (level == "FAIL") or level == "WARN"


def test_problems_come_first() -> None:
    order = [one.level for one in findings(replace(FACTS, tested=5, mismatched=24_000, queries=30_000))]
    assert order == sorted(order, key=["FAIL", "WARN", "PASS"].index)
    assert order[:3] == ["FAIL", "FAIL", "WARN"]


def test_what_only_the_files_show_is_added_once() -> None:
    checked = [
        Finding("bots", "WARN", "A bot."),
        Finding("duplicates", "PASS", "No row is there twice."),
        Finding("rank_agreement", "WARN", "Some ranks."),
    ]
    made = findings(FACTS, checked=checked)
    assert [one.found for one in made if one.name in {"bots", "duplicates", "rank_agreement"}] == [
        "A bot.",
        "100 % of the clicks have the rank that the rankings give.",
    ]


def test_judgments_have_no_ranks_to_check() -> None:
    assert not [one for one in findings(replace(FACTS, judged=True)) if "rank" in one.found]


UNKNOWN, WORSE = VERDICT | {"better": "unknown"}, VERDICT | {"better": "popular"}


def changes(facts: LogFacts = FACTS, verdict: dict[str, Any] = VERDICT, **tables: Any) -> set[str]:
    config = Config.parse(tables)
    return {
        f"{one.table}.{one.key} = {one.value}"
        for one in recommended(config, facts, verdict, impressions=False)
    }


def test_a_log_that_needs_nothing_gets_no_settings() -> None:
    assert changes() == set()
    assert settings_file(Config(), []) == ""


def test_what_is_recommended() -> None:
    times = replace(FACTS, times=("2026-01-01", "2026-02-01"))
    assert changes(times) == set()  # the default splits by time where there are times
    assert changes(times, log={"split": "hash"}) == {"log.split = time"}
    assert changes(replace(FACTS, users=300)) == {"index.min_users = 5"}
    assert changes(verdict=UNKNOWN) == {"evaluation.sessions = 5000"}
    assert changes(replace(FACTS, test_searches=800), verdict=UNKNOWN) == set()
    assert changes(verdict=WORSE, index={"policy": "expected"}) == {"index.policy = wayword"}
    assert changes(verdict=WORSE, completion={"keystroke_value": 0.1}) == {
        "completion.keystroke_value = auto"
    }
    assert changes(replace(FACTS, mismatched=24_000)) == {"rankings.on_mismatch = error"}


def test_the_settings_file_is_valid_keeps_what_is_set_and_adds_what_is_recommended() -> None:
    config = Config.parse(
        {
            "log": {"split": "hash"},
            "propensity": {"alpha": 0.5},
            "index": {"block": 'a "quoted" \\ path'},
            "evaluation": {"compare": []},
        }
    )
    facts = replace(FACTS, users=300, times=("a", "b"), mismatched=24_000)
    made = recommended(config, facts, UNKNOWN, impressions=False)
    read = Config.parse(tomllib.loads(settings_file(config, made)))
    expected = config.saved()
    for one in made:
        expected[one.table][one.key] = one.value
    assert read.saved() == expected
    assert len(made) == 4


def test_a_change_replaces_what_is_set() -> None:
    config = Config.parse({"index": {"min_users": 2}})
    text = settings_file(config, [Recommended("index", "min_users", 5, "because")])
    assert text == "[index]\nmin_users = 5  # because"
