"""What is served is what was evaluated."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from odd_texts import ODD

from runs import Made
from wayword import pipeline
from wayword.config import Config
from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.logs.contexts import from_prefixes
from wayword.pipeline import load_policies
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.workspace import Workspace
from wayword.text import normalise

POLICIES = ("random", "popular", "retriever", "unbiased", "expected", "wayword")


@pytest.fixture(scope="module")
def completer(undisturbed: Made) -> PolicyCompleter:
    return PolicyCompleter.open(undisturbed.path, load_policies)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_served_list_is_the_offline_policys_list(
    policy: str, undisturbed: Made, completer: PolicyCompleter
) -> None:
    workspace = Workspace.open(undisturbed.path)
    at = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
    texts = tables.read(at["rankings"], "queries")["shown"].to_pylist()
    typed = tables.read(at["contexts"], "contexts")["prefix"].to_pylist()[::5]
    offline = load_policies(at, workspace.config)[policy].complete(from_prefixes(typed), 10)
    expected: list[list[tuple[str, float]]] = [[] for _ in typed]
    for context, query, score in zip(offline.context, offline.query, offline.score, strict=True):
        expected[context].append((texts[query], float(score)))
    served = completer.complete_many(typed, 10, policy=policy)
    assert [[(c.query, c.score) for c in found] for found in served] == expected
    assert sum(map(len, expected)) > 500


@pytest.mark.parametrize("policy", POLICIES)
def test_a_list_is_the_same_alone_as_among_others(policy: str, completer: PolicyCompleter) -> None:
    prefixes = [*ODD, "v", "vi", "mail", "video pl"]
    together = completer.complete_many(prefixes, 7, policy=policy)
    assert together == [completer.complete(prefix, 7, policy=policy) for prefix in prefixes]
    assert completer.complete_many(prefixes[::-1], 7, policy=policy) == together[::-1]
    assert [found[:3] for found in together] == completer.complete_many(prefixes, 3, policy=policy)


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "wayword"])
def test_scores_never_rise_along_a_list(policy: str, completer: PolicyCompleter) -> None:
    for found in completer.complete_many([*ODD, *"abcdefghijklmnopqrstuvwxyz"], 1000, policy=policy):
        scores = [c.score for c in found]
        assert scores == sorted(scores, reverse=True)
        assert len({c.query for c in found}) == len(found)


def test_each_suggestion_of_a_list_adds_to_its_value(completer: PolicyCompleter) -> None:
    """A list is chosen as a whole, so its shares need not fall; none is negative, and it ends when nothing adds."""
    typed = [*ODD, *"abcdefghijklmnopqrstuvwxyz"]
    listed = completer.complete_many(typed, 1000, policy="wayword")
    assert all(c.score > 0 for found in listed for c in found)
    alone = completer.complete_many(typed, 10, policy="wayword")
    assert alone == [found[:10] for found in listed]
    lengths = list(map(len, completer.complete_many(typed, 1000, policy="expected")))
    assert sum(map(len, listed)) < sum(lengths)
    assert all(len({c.query for c in found}) == len(found) for found in listed)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"  {text.upper()} ",
        lambda text: text.replace(" ", "-"),
        lambda text: text.replace(" ", "\t \0"),
        lambda text: f"{text[0]}'{text[1:]}",
        lambda text: "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in text),
    ],
    ids=["capitals", "hyphens", "controls", "apostrophe", "full width"],
)
def test_a_typed_text_is_normalised(change: Callable[[str], str], completer: PolicyCompleter) -> None:
    assert normalise("  VIDEO-pl ") == "video pl"
    two_words = [c.query for c in completer.complete("", 1000, policy="popular") if " " in c.query][:5]
    assert two_words
    for query in two_words:
        expected = completer.complete(query[:-1])
        assert expected
        assert completer.complete(change(query[:-1])) == expected


def test_nothing_asked_nothing_answered(completer: PolicyCompleter) -> None:
    assert completer.complete_many([]) == []


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda c: c.complete("v", policy="best"),
            "Found policy 'best'; expected one of popular, expected, wayword, random",
        ),
        (lambda c: c.complete("v", 0), "Found k = 0; expected a whole number from 1"),
        (lambda c: c.complete("v", 1001), "Found k = 1001"),
        (
            lambda c: c.complete("v", context={"shop": "x"}),
            "Found context shop; the log's context columns are: none",
        ),
    ],
)
def test_a_wrong_question_is_said_clearly(
    ask: Callable[[PolicyCompleter], object], message: str, completer: PolicyCompleter
) -> None:
    with pytest.raises(WaywordError, match=message):
        ask(completer)


@pytest.fixture(scope="module")
def with_columns(world: Path, tmp_path_factory: pytest.TempPathFactory) -> PolicyCompleter:
    """A log that also knows the shop and the hour."""
    folder = tmp_path_factory.mktemp("columns")
    log = pq.read_table(world / "clicks.parquet")
    places = range(log.num_rows)
    log = log.append_column("shop", pa.array(["north" if i % 2 else "south" for i in places]))
    log = log.append_column("hour", pa.array([float(i % 24) for i in places]))
    pq.write_table(log, folder / "clicks.parquet")
    config = Config.parse(
        {"retriever": {"model": "popular"}, "ranker": {"rounds": 5}, "features": {"dimensions": 2}}
    )
    return PolicyCompleter.open(
        pipeline.run(
            folder / "clicks.parquet", world / "rankings.parquet", out=folder / "workspace", config=config
        )
    )


def test_context_columns_are_taken_as_the_log_has_them(with_columns: PolicyCompleter) -> None:
    assert with_columns.complete("v", context={"shop": "north", "hour": 3})
    assert with_columns.complete("v", context={"hour": "3"}) == with_columns.complete(
        "v", context={"hour": 3.0}
    )
    assert with_columns.complete("v", context={"shop": "\ud800"})
    assert with_columns.complete("v", context={"shop": None}) == with_columns.complete("v")


def test_a_context_column_that_does_not_fit_is_said_clearly(with_columns: PolicyCompleter) -> None:
    with pytest.raises(WaywordError, match="Found context shpo; the log's context columns are: shop, hour"):
        with_columns.complete("v", context={"shpo": "north"})
    with pytest.raises(WaywordError, match="Found 'noon' for the context column hour; expected a number"):
        with_columns.complete("v", context={"hour": "noon"})


def test_a_policy_of_the_paper_that_was_not_trained_says_how_to_train_it(undisturbed: Made) -> None:
    served = PolicyCompleter.open(undisturbed.path)  # reads Wayword's own policies alone
    with pytest.raises(WaywordError, match=r"Found policy 'unbiased'.*`wayword run --paper` trains it"):
        served.complete("v", policy="unbiased")
