"""What is displayed is the most frequent spelling, clean, and the same whatever the order of the log."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inputs import write
from wayword.config import LogConfig
from wayword.engines import Engine
from wayword.logs import log
from wayword.rankings import table as rankings
from wayword.rankings.display_form import LONGEST_CHECKED, has_markup, spelling
from wayword.text import normalise

FORMS = [
    "tv stand",
    "TV Stand",
    "TV stand",
    " TV  stand ",
    "tv-stand",
    "TV\tStand",
    "TV stand\u200b",
    "Tv & Stand",
    "TV\x07stand",
]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(FORMS), min_size=1, max_size=12))
def test_the_most_frequent_spelling_is_displayed(engine: Engine, tmp_path: Path, typed: list[str]) -> None:
    rows = [
        {"search_id": f"{n}", "query": query, "document": "d", "rank": 1} for n, query in enumerate(typed)
    ]
    ranked = [{"query": query, "document": "d", "rank": 1} for query in {*typed, "unsearched"}]
    log.build(engine, write(tmp_path / "log.parquet", rows), LogConfig())
    rankings.read(engine, write(tmp_path / "rankings.parquet", ranked))
    rankings.number(engine, None)
    found = {row["text"]: row["shown"] for row in engine.arrow("SELECT text, shown FROM queries").to_pylist()}
    expected: dict[str, Counter[str]] = {}
    for query in typed:
        clean = " ".join(query.replace("\u200b", "").replace("\x07", " ").split())
        expected.setdefault(normalise(query), Counter())[clean] += 1
    best = {text: min(forms, key=lambda form: (-forms[form], form)) for text, forms in expected.items()}
    assert found == best | {"unsearched": "unsearched"}


@given(st.text())
def test_a_spelling_is_clean_and_means_the_same(raw: str) -> None:
    form = spelling(raw)
    assert form == " ".join(form.split())
    assert spelling(form) == form
    if form and any(character.isalnum() for character in form):
        assert normalise(form) == normalise(raw)


@pytest.mark.parametrize(
    "raw",
    [
        "<script>alert(1)</script>",
        "<b>tv",
        "tv &lt; 3",
        "&#39;",
        "https://shop.example/?q=1",
        "www.shop.example/x?y=1",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "1' OR '1'='1",
        "x union select password from users",
        "a'; --",
        "../../etc/passwd",
        "%3Cscript%3E",
        "x" * (LONGEST_CHECKED + 1),
    ],
)
def test_markup_and_code_are_recognised(raw: str) -> None:
    assert has_markup(raw)
    assert spelling(raw) == ""


@pytest.mark.parametrize(
    "raw",
    ["at&t", "a < b > c", "c#", "select comfort", "drop leaf table", "100% cotton", "R&B; soul", "10' ladder", "m&m's",
     "usb-c - hdmi", "insert into frame", "union jack", "price $5", "#1 dad", "rock 'n' roll", "www.nike.com"],
)  # fmt: skip
def test_what_people_type_is_not(raw: str) -> None:
    assert not has_markup(raw)
