"""The page about a log: well-formed, self-contained, escaped, and with a sentence for every verdict."""

import re
from collections import Counter
from pathlib import Path

import pytest
from made_report import ARABIC, EVIL, FACTS, FOUND, NOTHING, VERDICT, made

from parsed_page import Page
from wayword.report.exhibits import number
from wayword.report.log_report import Arm, render


@pytest.fixture(scope="module")
def page() -> str:
    return render(made())


def test_the_page_is_well_formed_its_ids_unique_and_every_link_leads_somewhere(page: str) -> None:
    found = Page(page)
    ids = Counter(one["id"] for _, one in found.tags if "id" in one)
    assert [name for name, count in ids.items() if count > 1] == []
    assert all(str(link["href"])[1:] in ids for link in found.named("a"))
    labels = [str(one["aria-labelledby"]) for _, one in found.tags if "aria-labelledby" in one]
    assert set(labels) <= set(ids)


def test_the_page_asks_nothing_of_the_network_and_lets_no_other_script_run(page: str) -> None:
    assert "default-src 'none'" in page
    assert re.findall(r"https?://[^\s\"<]+", page) == []
    assert not re.search(r"@import|<link|<iframe|<img|fetch\(|url\(", page)
    assert len(Page(page).named("script")) == 1


def test_every_text_of_the_log_stays_text(page: str) -> None:
    found = Page(page)
    assert EVIL in found.texts
    assert "{{ 7 * 7 }}" in found.texts
    assert "a" * 1000 not in page
    assert f"{'a' * 79}…" in found.texts
    isolated = re.findall(r"<bdi[^>]*>([^<]*)</bdi>", page)
    assert ARABIC in isolated
    assert page.count(ARABIC) == isolated.count(ARABIC)  # right-to-left text turns nothing around it


def test_tables_have_captions_and_scopes(page: str) -> None:
    found = Page(page)
    tables = len(found.named("table"))
    assert tables == len(found.named("caption")) > 5
    assert all(cell.get("scope") in ("col", "row") for cell in found.named("th"))
    boxes = [one for one in found.named("div") if one.get("class") == "scroll rows"]
    assert len(boxes) == tables
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (VERDICT, ("Better than most popular completion", "serve it to a part of your users")),
        (VERDICT | {"better": "popular"}, ("Most popular completion is better", "do not serve it like this")),
        (VERDICT | {"better": "equal"}, ("No difference that matters", "serve either")),
        (VERDICT | {"better": "mixed"}, ("A trade", "decide what counts more")),
        (
            VERDICT | {"better": "unknown", "clicks_needed": 4.2},
            ("Cannot tell yet", "about four times the clicks"),
        ),
        (NOTHING, ("Cannot tell yet", "no test search has a click")),
    ],
)
def test_every_verdict_has_a_headline_and_a_next_step(
    verdict: dict[str, object], said: tuple[str, str]
) -> None:
    text = Page(render(made(verdict=verdict))).text
    assert all(one in text for one in said)


def test_the_numbers_of_the_verdict_are_on_the_page(page: str) -> None:
    text = Page(page).text
    for value in (FOUND["policy_value"], FOUND["other_value"]):
        assert f"{number(100 * value, 1)} %" in text
    assert "+3.1 points (+2.4 to +3.9)" in text
    assert "They type 2 % less." in text
    assert (
        "For hasty people: no difference that matters (+0.2 percentage points found, 2 % less typed)." in text
    )


def test_a_problem_of_the_data_comes_first_and_changes_the_advice() -> None:
    wrong = FACTS.__class__(**{**vars(FACTS), "mismatched": FACTS.clicks, "shift": 1})
    text = Page(render(made(facts=wrong))).text
    headline = "Do not rely on this yet: better than most popular completion"
    assert text.index("Check the data first.") < text.index(headline)
    assert "count ranks from 1 in both files" in text
    assert "first do what is said above" in text
    assert "serve it to a part of your users" not in text


def test_commands_in_backticks_are_code() -> None:
    wrong = FACTS.__class__(**{**vars(FACTS), "mismatched": FACTS.clicks, "shift": 1})
    page = render(made(facts=wrong))
    assert "<code>wayword import --first-rank 0</code>" in page
    assert "`" not in Page(page).text


def test_four_times_the_log_halves_the_interval(page: str) -> None:
    half = 100 * (FOUND["high"] - FOUND["low"]) / 2
    text = Page(page).text
    assert f"this log ± {half:.1f}" in text
    assert f"4 times the log ± {half / 2:.1f}" in text


def test_an_ab_test_has_a_section_only_if_there_is_one(page: str) -> None:
    row = {
        "arm": "b",
        "people": 12,
        "measure": "share picked",
        "shown": 9,
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
    }
    gain = row | {"shown": None, "people": None, "arm": "b − a", "anytime_low": -0.1, "anytime_high": 0.5}
    assert "What people did" not in Page(page).text
    text = Page(render(made(arms=[Arm.of(row), Arm.of(gain)]))).text
    assert "share picked 12 0.200 (0.100–0.300)" in text
    assert "b − a share picked +0.200 (−0.100 to +0.500)" in text


def test_the_same_report_gives_the_same_bytes(page: str) -> None:
    assert render(made()) == page


def test_given_propensities_have_no_interval(page: str) -> None:
    assert "95 % interval" in page
    assert '<polygon class="band"' in page
    report = made()
    sure = [{**row, "low": row["p"], "high": row["p"]} for row in report.propensities.rows]
    given = render(made(propensities=report.propensities.__class__(sure, "given in a file", [], None)))
    assert '<polygon class="band"' not in given


def test_the_styles_are_there(page: str) -> None:
    folder = Path(render.__code__.co_filename).parent / "templates"
    assert all(
        (folder / name).read_text(encoding="utf-8").strip() in page for name in ("page.css", "log.css")
    )


def test_variants_are_named_with_the_query_that_is_shown_for_them(page: str) -> None:
    text = Page(page).text
    assert "1 queries are variants" not in text
    assert "tvs tv word form 12" in text
