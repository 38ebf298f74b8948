"""The report where most popular completion is better, or Wayword's lists are short: by whom it is said, and why."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from parsed_page import Page
from shop import CONFIG, QUERIES, Shop
from wayword.config import Config
from wayword.pipeline import evaluate, run
from wayword.progress import Progress
from wayword.report.log_report import LogReport, read, render
from wayword.report.text_examples import Example
from wayword.store.workspace import Workspace

TEXTS = {query[:n].strip() for query in QUERIES for n in range(1, len(query))}
SMALL = {
    text: [query for query in QUERIES if query.startswith(text) and query.endswith("small")] for text in TEXTS
}
PINNED = {text: queries[:3] for text, queries in SMALL.items() if queries}
"""A campaign: whatever is typed, what is small comes first."""


@pytest.fixture(scope="module")
def pinned(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> LogReport:
    copy = shutil.copytree(shop.workspace.path, tmp_path_factory.mktemp("pinned") / "workspace")
    (copy / "index" / "overrides.json").write_text(json.dumps({"pin": PINNED}))
    return read(evaluate(Workspace.open(copy), Progress()))


def test_pinned_suggestions_that_serve_few_people_make_most_popular_completion_better(
    shop: Shop, pinned: LogReport
) -> None:
    assert read(shop.workspace).verdict["better"] == "wayword"
    assert pinned.verdict["better"] == "popular"
    assert pinned.verdict["found"]["high"] < 0
    assert pinned.pinned == len(PINNED)


def test_the_page_says_that_most_popular_completion_is_better_why_and_what_to_do(pinned: LogReport) -> None:
    assert pinned.problems == []
    page = render(pinned)
    text = Page(page).text
    assert text.index("Most popular completion is better") < text.index("With Wayword people find")
    hurt = len(pinned.hurt)
    count = sum(any(one.pinned for one in example.ours) for example in pinned.hurt)
    assert (
        "do not serve it like this; keep most popular completion until this is mended. Pinned suggestions "
        f"( overrides.json ) are in {count} of the {hurt} lists"
    ) in " ".join(text.split())
    assert "recommended settings below" not in text  # there are none
    assert text.count("(pinned)") > count
    assert "It is drawn without pinned suggestions." in text
    assert '<div class="box worse">' in page


def test_lists_that_a_limit_makes_short_are_said_to_be_so(shop: Shop, tmp_path: Path) -> None:
    copy = shutil.copytree(shop.workspace.path, tmp_path / "workspace")
    config = Config.parse({**CONFIG.saved(), "index": CONFIG.saved()["index"] | {"min_searches": 1500}})
    report = read(
        run(
            shop.data / "clicks.parquet",
            shop.data / "rankings.parquet",
            truth=shop.data / "truth.parquet",
            out=copy,
            config=config,
        )
    )
    assert report.verdict["keystrokes"]["ratio"] > 1
    assert report.facts.withheld["min_searches"] > report.facts.searches / 10
    text = Page(render(report)).text
    assert "[index] min_searches = 1500" in text
    assert "withholds the queries of" in text
    assert "keystroke_value moves" not in text
    assert [(one.key, one.value) for one in report.changes if one.table == "index"] == [("min_searches", 0)]
    without = replace(report, facts=replace(report.facts, withheld={}))
    assert "withholds the queries of" not in Page(render(without)).text


def test_an_example_knows_which_of_its_suggestions_are_pinned(pinned: LogReport) -> None:
    listed: list[Example] = [*pinned.helped, *pinned.hurt]
    for example in listed:
        assert [one.query for one in example.ours if one.pinned] == PINNED.get(example.text, [])
        assert not any(one.pinned for one in example.popular)
