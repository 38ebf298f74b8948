"""What an explanation says adds up, and agrees with what is served."""

import numpy as np
import pytest

from runs import Made
from wayword.completion import expected_utility as graph
from wayword.config import IndexConfig
from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.index.build import build
from wayword.serving.completer import Completer, Served
from wayword.serving.explanation import Unknown, explain
from wayword.store.workspace import Workspace


@pytest.fixture(scope="module")
def served(undisturbed: Made) -> Served:
    return Completer.open(undisturbed.path).served


@pytest.fixture(scope="module")
def expected(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The index of the policy `expected`, whose score is the utility."""
    workspace = Workspace.open(undisturbed.copy(tmp_path_factory.mktemp("expected") / "workspace"))
    build(workspace, IndexConfig(policy="expected"))
    return Completer.open(workspace).served


@pytest.mark.parametrize("typed", ["v", "vid", "mail c", "vidoe pla", "games for"])
@pytest.mark.parametrize("mode", ["any", "prefix"])
def test_the_utility_of_each_served_query_is_its_score(typed: str, mode: str, expected: Served) -> None:
    for place, one in enumerate(expected.complete(typed, 10, mode=mode), start=1):
        found = explain(expected, typed, one.query, mode=mode)
        assert (found.policy, found.score_is, found.people) == ("expected", "expected_utility", None)
        assert found.utility == pytest.approx(one.score, rel=1e-4)
        assert (found.place, found.score, found.source) == (place, one.score, one.source)
        assert sum(line.utility for line in found.results) <= found.utility * (1 + 1e-4)
        assert [line.rank for line in found.results] == sorted(line.rank for line in found.results)


@pytest.mark.parametrize("typed", ["v", "vid", "mail c", "vidoe pla", "games for"])
@pytest.mark.parametrize("mode", ["any", "prefix"])
def test_the_people_who_take_a_suggestion_add_up_to_its_score(typed: str, mode: str, served: Served) -> None:
    listed = served.complete(typed, 10, mode=mode)
    people = []
    for place, one in enumerate(listed, start=1):
        found = explain(served, typed, one.query, mode=mode)
        assert (found.policy, found.score_is) == ("wayword", "list_value")
        assert (found.place, found.score, found.source) == (place, one.score, one.source)
        assert sum(line.utility for line in found.results) <= found.utility * (1 + 1e-4)
        assert found.people
        people.append(found.people)
        assert found.people.value == pytest.approx(one.score, rel=1e-4)
        of_takers = sum(taker.value for taker in found.people.takers)
        assert of_takers + found.people.others + found.people.careless == pytest.approx(
            found.people.value, rel=1e-6
        )
        net = found.people.finds - found.people.instead_of + found.people.saves
        assert net == pytest.approx(found.people.value, rel=1e-4, abs=1e-7)
        for taker in found.people.takers:
            assert taker.value == pytest.approx(
                taker.finds - taker.instead_of + taker.saves, rel=1e-4, abs=1e-7
            )
    assert sum(one.taken for one in people) <= 1 + 1e-6  # nobody takes two
    parts = [(taker.share, taker.takes) for one in people for taker in one.takers]
    assert all(0 <= number <= 1 + 1e-6 for part in parts for number in part)


def _swapped(served: Served) -> list[str]:
    """Texts that no query starts with, but whose words one has: two words in the wrong order."""
    pairs = (text.split() for text in served.index.texts if text.count(" ") == 1)
    swapped = (f"{second} {first}" for first, second in pairs)
    return [text for text in swapped if _source(served, text) == "words"][:20]


def _source(served: Served, text: str) -> str:
    """How a text was matched."""
    return served.complete(text, 1)[0].source


@pytest.mark.parametrize("matched", ["graph", "typo", "words"])
def test_the_lines_of_a_short_page_add_up_to_the_score(matched: str, expected: Served) -> None:
    """The explanation follows the documents that the score follows, however the text was matched."""
    mistakes = [
        text for text in ("vidoe", "vdieo", "gmae", "palyer", "muisc") if _source(expected, text) == "typo"
    ]
    texts = {"graph": ["v", "vid", "game"], "typo": mistakes, "words": _swapped(expected)}
    compared = 0
    for typed in texts[matched]:
        for one in expected.complete(typed, 10):
            found = explain(expected, typed, one.query)
            assert (found.source, found.score) == (matched, one.score)
            if len(found.results) < 10:  # all results are listed
                assert sum(line.utility for line in found.results) == pytest.approx(one.score, rel=1e-5)
                compared += 1
    assert compared > 0


def test_the_lines_add_up_where_only_some_documents_are_followed(
    expected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "GUESSED_DOCUMENTS", 5)
    for typed in ("vidoe", "player video"):
        for one in expected.complete(typed, 10):
            found = explain(expected, typed, one.query)
            assert len([line for line in found.results if line.wanted]) <= 5
            if len(found.results) < 10:
                assert sum(line.utility for line in found.results) == pytest.approx(one.score, rel=1e-5)


def test_each_line_is_what_is_wanted_times_what_is_seen(served: Served) -> None:
    query = served.complete("vid", 1)[0].query
    found = explain(served, "vid", query)
    ratio = [line.utility / (line.wanted * line.exposure) for line in found.results if line.wanted]
    assert np.ptp(ratio) == pytest.approx(0, abs=1e-3)
    wanted = {one.document: one.share for one in found.wanted}
    assert all(
        line.wanted == pytest.approx(wanted[line.document])
        for line in found.results
        if line.document in wanted
    )
    assert [one.share for one in found.wanted] == sorted((one.share for one in found.wanted), reverse=True)
    assert sum(one.share for one in found.wanted) <= 1 + 1e-6


def test_the_results_are_those_of_the_search_engine(served: Served, undisturbed: Made) -> None:
    folder = Workspace.open(undisturbed.path).folder("rankings")
    ids = tables.read(folder, "documents")["document_id"].to_pylist()
    shown = tables.read(folder, "queries")["shown"].to_pylist()
    rows = tables.read(folder, "rankings").to_pylist()
    for query in served.complete("v", 5):
        number = shown.index(query.query)
        page = sorted((row["rank"], ids[row["document"]]) for row in rows if row["query"] == number)[:10]
        found = explain(served, "v", query.query)
        assert [(line.rank, line.document) for line in found.results] == page


def test_a_query_that_is_not_listed_is_explained_too(served: Served) -> None:
    listed = {one.query for one in served.complete("vid", 10)}
    other = next(one.query for one in served.complete("mail", 10) if one.query not in listed)
    found = explain(served, "vid", other)
    assert (found.place, found.score) == (None, None)
    assert found.utility >= 0


@pytest.mark.parametrize("typed", ["", "\0", "zzzz qqqq", "x" * 5000, "\ud800"])
def test_any_text_may_be_asked_about(typed: str, served: Served) -> None:
    assert explain(served, typed, served.complete("v", 1)[0].query).utility >= 0
    with pytest.raises(Unknown):
        explain(served, "v", typed)


def takers_of(served: Served, typed: str, query: str) -> set[str]:
    found = explain(served, typed, query).people
    assert found
    return {one.query for one in found.takers}


def taken_by_others(served: Served) -> tuple[str, str, str]:
    """A text, a query that people intend there, and another one that they take."""
    for typed in ("v", "m", "g", "a", "t", "s", "p", "w"):
        listed = [one.query for one in served.complete(typed, 10)]
        for query in listed:
            for other in listed:
                if query != other and query in takers_of(served, typed, other):
                    return typed, query, other
    raise AssertionError("nobody takes what they did not intend")


def test_what_is_denied_is_not_explained(undisturbed: Made) -> None:
    served = Completer.open(undisturbed.path).served
    typed, query, other = taken_by_others(served)
    denied = Served(served.index, served.overrides, served.index.numbers([query]))
    with pytest.raises(Unknown):
        explain(denied, typed, query)
    assert query not in {one.query for one in explain(denied, typed, other).becomes}
    assert query not in takers_of(denied, typed, other)
    with pytest.raises(WaywordError, match="mode"):
        explain(served, typed, query, mode="some")
