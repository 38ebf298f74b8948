"""Sessions as arrays: candidates, what is left out, and suggestions that no workspace knows."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from made_lists import TEXTS, TRUTH, Drawing, made_searches, made_universe

from wayword.completion.acceptance import PRIOR
from wayword.completion.acceptance_candidates import MASS, MOST, Candidates, likeliest
from wayword.completion.acceptance_data import assemble, usable
from wayword.completion.acceptance_learning import LEAST_SESSIONS, learn
from wayword.completion.acceptance_likelihood import LEAST_UNREAD, likelihood, log_unread
from wayword.completion.intended_queries import intended_queries, with_searches
from wayword.completion.shown_lists import ShownLists
from wayword.store.compressed_rows import CompressedRows

UNIVERSE = made_universe()
SEARCHES = made_searches(len(TEXTS))
NUMBER = {text: place for place, text in enumerate(TEXTS)}


def one_session(prefixes: list[str], shown: list[list[int]], taken: int, query: int) -> ShownLists:
    flat = [q for one in shown for q in one]
    return ShownLists(
        np.zeros(len(shown), np.int64),
        np.arange(len(shown)),
        prefixes,
        CompressedRows.from_lengths(np.array(flat, np.int32), np.array([len(one) for one in shown])),
        np.array([0] * (len(shown) - 1) + [taken]),
        np.array([query]),
        pa.array(["7"]),
        pa.nulls(1, pa.string()),
        np.array([0.5]),
    )


def test_candidates_of_a_taken_suggestion_are_what_the_last_text_may_become() -> None:
    lamp, led = NUMBER["lamp red"], NUMBER["lamp led"]
    data = assemble(one_session(["l", "lam"], [[led], [lamp, led]], 1, lamp), UNIVERSE, SEARCHES)
    lamps = [q for q, text in enumerate(TEXTS) if text.startswith("lam")]
    expected = {q: SEARCHES[q] / SEARCHES[lamps].sum() for q in lamps}
    found = dict(zip(data.candidates.values.tolist(), data.candidates.weights.tolist(), strict=True))
    assert {q: p for q, p in found.items() if q >= 0} == pytest.approx(
        {q: expected[q] for q in found if q >= 0}
    )
    assert sum(found.values()) == pytest.approx(1)
    assert data.columns.values.tolist() == sorted(
        [lamp, led]
    )  # the one below the taken position is not counted
    assert data.typed_words.all()


def test_where_nothing_was_taken_the_query_that_followed_was_intended() -> None:
    lamp = NUMBER["lamp red"]
    data = assemble(one_session(["lam"], [[3, 4]], 0, lamp), UNIVERSE, SEARCHES)
    assert data.candidates.values.tolist() == [lamp]
    assert data.candidates.weights.tolist() == [1]


def test_a_taken_query_that_nobody_searched_is_a_candidate_if_it_continues_the_text() -> None:
    lamp = NUMBER["lamp red"]
    searches = SEARCHES.copy()
    searches[lamp] = 0.0
    data = assemble(one_session(["lam"], [[lamp]], 1, lamp), UNIVERSE, searches)
    assert lamp in data.candidates.values
    elsewhere = assemble(one_session(["loc"], [[lamp]], 1, lamp), UNIVERSE, searches)
    assert lamp not in elsewhere.candidates.values


def test_what_cannot_be_used_is_counted() -> None:
    lamp = NUMBER["lamp red"]
    whole = one_session(["lam", "lamp red"], [[3], [3]], 0, lamp)
    assert len(usable(whole, UNIVERSE)) == 1
    assert usable(whole, UNIVERSE).left_out == {"lists at the whole text of the query that followed": 1}
    unknown = usable(one_session(["lam"], [[-1]], 1, -1), UNIVERSE)
    assert (unknown.sessions, *unknown.left_out.values()) == (0, 1)
    lost = assemble(one_session(["lam"], [[3]], 0, -1), UNIVERSE, SEARCHES)
    assert lost.counts["sessions whose following query is no query of the workspace"] == 1
    assert lost.sessions == 0


def test_few_probable_queries_hold_most_of_the_mass_and_the_rest_is_one_more() -> None:
    share = 1 / np.arange(1, 1001)
    share /= share.sum()
    rows = likeliest(np.zeros(1000, np.int64), np.arange(1000, dtype=np.int32), share, 1)
    assert len(rows.values) == MOST + 1
    assert rows.values[-1] == -1
    assert rows.weights.sum() == pytest.approx(1)
    steep = 0.5 ** np.arange(1, 30, dtype=np.float64)
    rows = likeliest(np.zeros(29, np.int64), np.arange(29, dtype=np.int32), steep, 1)
    assert rows.weights[:-1].sum() >= MASS
    assert len(rows.values) == 14 + 1


def test_of_many_queries_those_that_may_have_led_to_the_pick_are_kept() -> None:
    texts = sorted([*(f"a{n:04}" for n in range(2000)), "axe", "axe handle", "axe steel"])
    made = made_universe(texts=texts)
    taken = texts.index("axe")
    picks = np.array([0, 0]), np.array([-1, taken])
    found = Candidates.of(made, ["a"], np.where(np.arange(len(texts)) < 1000, 2.0, 1.0), picks).rows
    like = {texts.index(text) for text in ("axe", "axe handle", "axe steel")}
    unknown, known = (set(found.values[found.span(row)].tolist()) for row in (0, 1))
    assert not like & unknown
    assert like <= known
    assert [found.weights[found.span(row)].sum() for row in (0, 1)] == pytest.approx([1, 1])


def test_a_misspelt_text_is_corrected_and_an_impossible_one_has_only_others() -> None:
    found = Candidates.of(UNIVERSE, ["lam", "laqmp r"], SEARCHES)
    assert found.corrected.tolist() == [False, True]
    nothing = Candidates.of(UNIVERSE, ["lam"], np.zeros(len(TEXTS)))
    assert nothing.rows.values.tolist() == [-1]
    assert Candidates.of(UNIVERSE, [], SEARCHES).rows.values.tolist() == []


def test_other_numbers_of_searches_give_the_data_of_a_new_assembly() -> None:
    drawn = Drawing(UNIVERSE, SEARCHES, TRUTH).draw(60, 1)
    other = SEARCHES * np.random.default_rng(0).uniform(0.9, 1.1, len(SEARCHES))
    again = with_searches(assemble(drawn, UNIVERSE, SEARCHES), SEARCHES, other)
    for session in range(again.sessions):
        at = again.candidates.span(session)
        if not again.took[session]:
            continue
        kept = again.candidates.values[at] >= 0
        query, weight = again.candidates.values[at][kept], again.candidates.weights[at][kept]
        assert weight / weight.sum() == pytest.approx(other[query] / other[query].sum(), rel=1e-5)


def test_the_posterior_of_the_intended_query_by_arithmetic() -> None:
    lamp, led = NUMBER["lamp red"], NUMBER["lamp led"]
    drawn = Drawing(UNIVERSE, SEARCHES, TRUTH).draw(3000, 3)
    learned = learn(drawn, UNIVERSE, SEARCHES)
    data = assemble(one_session(["lam"], [[led, lamp]], 2, lamp), UNIVERSE, SEARCHES)
    table = intended_queries(data, learned.fit)
    assert set(table["search_id"].to_pylist()) == {"7"}
    found = dict(zip(table["query"].to_pylist(), table["probability"].to_pylist(), strict=True))
    assert sum(found.values()) == pytest.approx(1)
    model = learned.fit.model
    known = data.candidates.values >= 0
    likelihoods = {}
    for m, q in enumerate(data.candidates.values[known].tolist()):
        a = []
        for suggestion in (lamp, led):
            c = data.columns.values.tolist().index(suggestion)
            f = np.r_[1, 1, data.compared[m * 2 + c], 0]
            a.append(1.0 if q == suggestion else float(model.probability(f[None])[0]))
        careful = model.reading[1] * a[0] * (1 - model.reading[0] * a[1])
        strict = model.reading[1] * (q == lamp) * (1 - model.reading[0] * (q == led))
        careful = (1 - model.strict) * careful + model.strict * strict
        careless = model.reading[1] * (
            1 - model.reading[0]
        )  # what they take says nothing about what they intended
        likelihoods[q] = SEARCHES[q] * ((1 - model.careless) * careful + model.careless * careless)
    total = sum(likelihoods.values())
    for q, p in found.items():
        assert p == pytest.approx(likelihoods[q] / total, rel=0.02, abs=0.002)
    assert found[lamp] > SEARCHES[lamp] / SEARCHES[list(likelihoods)].sum()


def test_careless_people_intended_what_people_of_their_text_intend() -> None:
    lamp, led = NUMBER["lamp red"], NUMBER["lamp led"]
    data = assemble(one_session(["lam"], [[led, lamp]], 2, lamp), UNIVERSE, SEARCHES)
    posterior = likelihood(data, replace(PRIOR, careless=1 - 1e-12)).posterior
    assert posterior == pytest.approx(data.candidates.weights / data.candidates.weights.sum(), rel=1e-5)
    assert likelihood(data, PRIOR).posterior.sum() == pytest.approx(1)


def test_a_suggestion_is_unread_if_it_was_at_none_of_its_positions() -> None:
    lamp, led = NUMBER["lamp red"], NUMBER["lamp led"]
    shown = [[lamp, led, -1], [led, lamp, -1], [led, -1, lamp]]
    data = assemble(one_session(["l", "la", "lamp l"], shown, 0, NUMBER["lamp led"]), UNIVERSE, SEARCHES)
    r = PRIOR.reading
    expected = [0, 0, 0, math.log(1 - r[1]), math.log(1 - r[0]), 0]
    expected += [math.log((1 - r[1]) * (1 - r[0])), 0, math.log((1 - r[0]) * (1 - r[1]))]
    assert log_unread(data, r) == pytest.approx(expected)
    assert log_unread(data, np.full(10, 0.99)).min() == LEAST_UNREAD


def test_an_edited_suggestion_is_no_taken_query() -> None:
    lamp, led = NUMBER["lamp red"], NUMBER["lamp led"]
    drawn = Drawing(UNIVERSE, SEARCHES, TRUTH).draw(500, 3)
    learned = learn(drawn, UNIVERSE, SEARCHES)
    edited = assemble(one_session(["lam"], [[led, lamp]], 2, led), UNIVERSE, SEARCHES)
    assert intended_queries(edited, learned.fit).num_rows == 0


def test_searches_that_took_a_suggestion_count_for_what_was_intended() -> None:
    people = Drawing(UNIVERSE, SEARCHES, TRUTH)
    drawn = people.draw(20_000, 4)
    intended = np.bincount(people.intended, minlength=len(TEXTS)).astype(float)
    issued = np.bincount(drawn.query, minlength=len(TEXTS)).astype(float)
    learned = learn(drawn, UNIVERSE, issued, drawn.search_id)

    def distance(counts: np.ndarray) -> float:
        return float(0.5 * np.abs(counts / counts.sum() - intended / intended.sum()).sum())

    assert distance(learned.searches) < 0.5 * distance(issued)
    other = replace(drawn, search_id=pa.nulls(drawn.sessions, pa.string()))
    unjoined = learn(other, UNIVERSE, issued, drawn.search_id)
    assert unjoined.searches == pytest.approx(issued + 0.5)


def test_with_few_sessions_the_prior_stays() -> None:
    drawn = Drawing(UNIVERSE, SEARCHES, TRUTH).draw(2000, 5)
    few = drawn.of_sessions(np.arange(drawn.sessions) < LEAST_SESSIONS - 1)
    assert not learn(few, UNIVERSE, SEARCHES).enough
    none = learn(drawn.of_sessions(np.zeros(drawn.sessions, np.bool_)), UNIVERSE, SEARCHES)
    assert not none.enough
    assert none.details()["counts"]["lists"] == 0
