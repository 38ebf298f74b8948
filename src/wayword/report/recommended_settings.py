"""Settings that follow from what was found, as a settings file: those of the workspace, and changes with reasons."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wayword.check.finding import share
from wayword.config import Config
from wayword.evaluation.verdict import MIXED, UNKNOWN
from wayword.report.log_facts import LogFacts
from wayword.report.next_step import withholding

MOST_SESSIONS = 10_000
USERS = 5
"""The least number of users of a shown query, where the log knows them."""
HIDDEN_SHARE = 0.2
"""Largest share of the searches that a limit on searches per query may concern."""


@dataclass(frozen=True)
class Recommended:
    """A value for a setting, and the reason to change it."""

    table: str
    key: str
    value: Any
    reason: str


def recommended(
    config: Config, facts: LogFacts, verdict: Mapping[str, Any], *, impressions: bool
) -> list[Recommended]:
    """The changes that log and verdict suggest; `impressions` tells whether the run had a table of them."""
    made = []
    if impressions and getattr(config.propensity, "source", "power") == "power":
        made.append(
            Recommended("propensity", "source", "log", "the log says how often each rank is looked at")
        )
    if facts.times is not None and config.log.split == "hash":
        made.append(Recommended("log", "split", "time", "the log has times: test on its newest searches"))
    sessions = min(facts.test_searches, MOST_SESSIONS)
    if verdict["better"] == UNKNOWN and config.evaluation.sessions < sessions:
        made.append(
            Recommended(
                "evaluation", "sessions", sessions, "type more test searches again: narrower intervals"
            )
        )
    if verdict["better"] == verdict["other"] and config.index.policy == "expected":
        made.append(
            Recommended("index", "policy", "wayword", "lists for people who take what they recognise")
        )
    worse, limit = verdict["better"] in (verdict["other"], MIXED), withholding(verdict, facts)
    if limit == "min_searches":
        made.append(
            Recommended("index", limit, 0, "show what people search: lists are short with this limit")
        )
    if worse and limit is None and config.completion.keystroke_value != "auto":
        made.append(
            Recommended(
                "completion", "keystroke_value", "auto", "people type as with most popular completion"
            )
        )
    if facts.users and config.index.min_users < USERS:
        made.append(
            Recommended(
                "index", "min_users", USERS, "the log knows users: do not show what few of them searched"
            )
        )
    if config.index.min_searches == 1 and share(facts.seldom, facts.searches) < HIDDEN_SHARE:
        made.append(
            Recommended("index", "min_searches", 2, "a query that was searched once is often a mistake")
        )
    if share(facts.mismatched, facts.clicks) > config.check.wrong and config.rankings.on_mismatch == "logged":
        made.append(
            Recommended(
                "rankings",
                "on_mismatch",
                "error",
                "stop while the logged ranks are not those of the rankings",
            )
        )
    return made


def settings_file(config: Config, changes: list[Recommended]) -> str:
    """A settings file (TOML): what the workspace has beyond the defaults, and the changes with their reasons.

    >>> print(settings_file(Config(), [Recommended("index", "min_users", 5, "few users")]))
    [index]
    min_users = 5  # few users
    """
    lines: dict[str, dict[str, str]] = {}
    defaults = Config().saved()
    for table, values in config.saved().items():
        for key, value in values.items():
            if value != defaults[table].get(key):
                lines.setdefault(table, {})[key] = (
                    f"{key} = {json.dumps(value, ensure_ascii=False)}  # as now"
                )
    for one in changes:
        lines.setdefault(one.table, {})[one.key] = f"{one.key} = {json.dumps(one.value)}  # {one.reason}"
    order = {name: place for place, name in enumerate(Config.__struct_fields__)}
    tables = sorted(lines.items(), key=lambda item: order[item[0]])
    return "\n\n".join("\n".join([f"[{table}]", *values.values()]) for table, values in tables)
