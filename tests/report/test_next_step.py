"""What the report advises: by the verdict, and by what makes lists worse."""

from dataclasses import replace
from typing import Any

import pytest
from made_report import FACTS, KEYSTROKES, VERDICT, example

from wayword.report.next_step import next_step, withholding
from wayword.report.text_examples import Example, Suggestion

MORE = VERDICT | {"keystrokes": KEYSTROKES | {"ratio": 1.3}}
HALF = replace(FACTS, withheld={"min_searches": FACTS.searches // 2, "min_users": 10})
LIMITS = {"min_searches": 9, "min_users": 5}


def said(
    verdict: dict[str, Any], *, hurt: tuple[Example, ...] = (), changes: bool = False, **facts: Any
) -> str:
    return next_step(verdict, replace(FACTS, **facts), LIMITS, hurt, problems=False, changes=changes)


@pytest.mark.parametrize("better", ["popular", "mixed", "unknown"])
def test_a_limit_that_makes_lists_short_is_named_instead_of_the_keystroke_value(better: str) -> None:
    verdict = MORE | {"better": better, "clicks_needed": 3.0}
    text = said(verdict, withheld=HALF.withheld)
    assert "`[index] min_searches = 9` withholds the queries of 50 % of the searches" in text
    assert "keystroke_value" not in text
    assert "longer log" not in text
    users = said(verdict, withheld={"min_users": FACTS.searches // 4})
    assert "`[index] min_users = 5` withholds the queries of 25 % of the searches" in users


@pytest.mark.parametrize(
    ("verdict", "withheld"),
    [
        (MORE | {"better": "mixed"}, {"min_searches": FACTS.searches // 20}),
        (MORE | {"better": "wayword"}, HALF.withheld),
        (MORE | {"better": "equal"}, HALF.withheld),
        (VERDICT | {"better": "mixed"}, HALF.withheld),
        (VERDICT | {"better": "unknown", "keystrokes": None}, HALF.withheld),
    ],
    ids=["few", "better", "equal", "less is typed", "nothing measured"],
)
def test_a_limit_that_is_not_the_cause_is_not_named(
    verdict: dict[str, Any], withheld: dict[str, int]
) -> None:
    assert withholding(verdict, replace(FACTS, withheld=withheld)) is None


def test_advice_points_only_to_what_the_page_has() -> None:
    worse = MORE | {"better": "popular"}
    assert said(worse).endswith("until this is mended. A longer log teaches more.")
    assert "recommended settings below" in said(worse, changes=True)
    looked = said(worse, hurt=(example("tv"),))
    assert "“Where it hurts”: deny what is plainly wrong" in looked
    assert "recommended settings" not in looked


def test_pinned_suggestions_are_named_where_most_of_the_lists_that_hurt_have_one() -> None:
    plain = example("tv")
    pinned = replace(plain, ours=[Suggestion("sale", [], None, pinned=True), *plain.ours])
    worse = MORE | {"better": "popular"}
    assert "Pinned suggestions (`overrides.json`) are in 2 of the 3 lists" in said(
        worse, hurt=(pinned, plain, pinned)
    )
    assert "Pinned" not in said(worse, hurt=(pinned, plain))
