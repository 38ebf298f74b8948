"""A report made by hand, with texts that a page has to survive."""

from dataclasses import replace
from typing import Any

from wayword.config import Config
from wayword.evaluation.log_worth import LogWorth
from wayword.report.findings import findings
from wayword.report.log_facts import LogFacts
from wayword.report.log_report import LogReport, Propensities
from wayword.report.recommended_settings import recommended, settings_file
from wayword.report.text_examples import Example, Suggestion, shortened
from wayword.report.text_gains import TextGain, TextGains

EVIL = "<script>alert(1)</script>\"'&|"
ARABIC = "مصباح مكتب"
TEXTS = (EVIL, ARABIC, "👩‍👩‍👧 torch 🔦", "a" * 1000, "{{ 7 * 7 }}")
FACTS = LogFacts(
    searches=50_000,
    searches_with_click=20_000,
    test_searches=5_000,
    tested=2_000,
    clicks=24_000,
    queries=4_000,
    documents=3_000,
    unexplained=0,
    mismatched=0,
    shift=None,
    confirmed=0,
    not_returned=0,
    merged=0,
    at_first_rank=12_000,
    deepest=40,
    worth=LogWorth(50_000, 24_000, 4_000, elsewhere=0.8, better_elsewhere=0.25, bound=1.6, often=0.7),
    seldom=5_000,
    withheld={},
    prefixes=True,
    users=0,
    times=None,
    judged=False,
)
FOUND = {"value": 0.031, "low": 0.024, "high": 0.039, "policy_value": 0.931, "other_value": 0.9}
KEYSTROKES = {"ratio": 0.98, "low": 0.97, "high": 0.99}
VERDICT: dict[str, Any] = {
    "policy": "wayword",
    "other": "popular",
    "better": "wayword",
    "sentence": "Better than most popular completion for people: +0.031 found (0.024 to 0.039).",
    "found": FOUND,
    "keystrokes": KEYSTROKES,
    "holds": ["α from 0.5 to 1.5"],
    "flips": [
        {"assumption": "hasty people", "better": "equal", "sentence": "For hasty people: no difference."}
    ],
    "checks": [
        {"assumption": "α = 0.5", "better": "wayword", "found": FOUND, "keystrokes": KEYSTROKES},
        {
            "assumption": "hasty people",
            "better": "equal",
            "found": FOUND | {"value": 0.002},
            "keystrokes": KEYSTROKES,
        },
    ],
    "clicks_needed": None,
    "worth": {},
}
NOTHING = VERDICT | {
    "better": "unknown",
    "sentence": "Cannot tell.",
    "found": None,
    "keystrokes": None,
    "holds": [],
    "flips": [],
    "checks": [],
}


def sessions(popular: tuple[float, float, float] = (0.9, 0.33, 0.7)) -> list[dict[str, Any]]:
    values = {"wayword": (0.931, 0.32, 0.8), "popular": popular, "expected": (0.91, 0.36, 0.8)}
    return [
        {
            "policy": policy,
            "metric": metric,
            "k": 10,
            "value": value,
            "low": value - 0.01,
            "high": value + 0.01,
            "n": 1000,
            "people": "model",
        }
        for policy, of in values.items()
        for metric, value in zip(("found", "keystrokes", "taken"), of, strict=True)
    ]


def estimates() -> list[dict[str, Any]]:
    return [
        {"policy": policy, "metric": "utility", "k": k, "value": 0.6, "low": 0.5, "high": 0.7, "n": 2000}
        for policy in ("wayword", "popular")
        for k in (1, 5, 10)
    ]


def example(text: str) -> Example:
    listed = [Suggestion(shortened(one), [shortened(one)], 0.123) for one in (text, *TEXTS)]
    return Example(TextGain(text, 123, 0.5, -2.0, 0.4), shortened(text), listed, listed[1:])


def made(**changes: Any) -> LogReport:
    """The report, with some parts replaced; `facts` and `verdict` change what follows from them too."""
    facts, verdict = changes.pop("facts", FACTS), changes.pop("verdict", VERDICT)
    config = changes.pop("config", Config())
    advised = recommended(config, facts, verdict, impressions=False)
    report = LogReport(
        facts=facts,
        findings=findings(facts),
        verdicts={"any": verdict, "prefix": verdict},
        sessions=sessions(),
        curve=[
            {"keystroke_value": value, "found": found, "keystrokes": typed}
            for value, found, typed in ((0.1, 0.98, 0.4), (0.8, 0.93, 0.32), (3.2, 0.9, 0.3))
        ],
        keystroke_value=0.8,
        estimates={"any": estimates(), "prefix": estimates()},
        gains=TextGains([], 5_000, 300),
        helped=[example(text) for text in TEXTS],
        hurt=[example("tv")],
        withheld={"personal data": 3, "few users": 1_234},
        merged=[{"query": "tvs", "shown_as": "tv", "reason": "word form", "searches": 12}],
        queries=4_000,
        index={"version": "0123456789abcdef", "policy": "wayword"},
        propensities=Propensities(
            [{"rank": rank, "p": 1 / rank, "low": 0.9 / rank, "high": 1.1 / rank} for rank in range(1, 41)],
            "estimated from the impressions (method likelihood)",
            ["Ranks are compared within weeks."],
            20,
        ),
        changes=advised,
        settings=settings_file(config, advised),
        used=config.saved(),
        arms=[],
        pinned=0,
    )
    return replace(report, **changes)
