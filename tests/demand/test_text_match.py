"""Agreement of queries and documents by text. Every column is compared with a slow reference in `test_features`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from small_graphs import clicked

from wayword.demand.observations import Observations
from wayword.demand.text_match import NameMatch, TextMatch, TitleMatch, name_match, title_match


def columns(
    texts: list[str], names: list[str], titles: list[str], p: list[list[float]]
) -> dict[str, list[float]]:
    pairs = Observations.of(csr_array(np.array(p)), clicked())
    text = TextMatch.of(texts, names, titles, pairs)
    matches: dict[str, TitleMatch | NameMatch] = {
        "title": title_match(text, pairs),
        "name": name_match(text, pairs),
    }
    return {
        f"{kind}_{field}": column.astype(np.float64).round(4).tolist()
        for kind, match in matches.items()
        for field, column in match._asdict().items()
    }


def test_what_a_title_and_a_query_share() -> None:
    """Each word of the query is in all queries, so each counts 1; "sync", in none, counts 1 + log 1."""
    found = columns(["fox plugin"], ["fox", "bird"], ["Fox: Plugin Sync", "the Bird"], [[1.0, 0.5]])
    assert found["title_query_share"] == [1.0, 0.0]
    assert found["title_title_share"] == [pytest.approx(2 / 3, abs=1e-4), 0.0]
    assert found["title_query_rest"] == [0.0, 2.0]
    assert found["title_common_words"] == [2.0, 0.0]
    assert found["title_words"] == [3.0, 2.0]


def test_names_are_compared_with_the_query_and_with_the_first_result() -> None:
    found = columns(["the fox"], ["libfox-dev", "libfox2", "fox"], [""] * 3, [[1.0, 0.5, 0.2]])
    assert found["name_common_prefix"] == [10.0, 6.0, 0.0]
    assert found["name_common_prefix_of_first"] == [1.0, 0.6, 0.0]
    assert found["name_first_jaccard"] == [1.0, pytest.approx(1 / 3, abs=1e-4), 0.0]
    assert found["name_query_share"] == [0.0, 0.0, 1.0]
    assert found["name_is_first"] == [1.0, 0.0, 0.0]


def test_a_title_that_is_not_given_is_the_text_of_the_query_that_leads_there_and_that_others_share() -> None:
    """Three queries have the document first; what most of them say is "red shoe"."""
    texts = ["red shoe", "red shoe for winter", "shoe of the year", "coat"]
    found = columns(texts, ["a", "b"], ["", ""], [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.1, 1.0]])
    assert found["title_words"] == [2.0, 2.0, 2.0, 2.0, 1.0]
    assert found["title_query_share"][0] == 1.0


@pytest.mark.parametrize("name", ["7zip", "mp3-tag", "東京タワー", "2020", "Firefox"])
def test_who_asks_for_a_name_as_it_is_written_has_it(name: str) -> None:
    found = columns([name.replace("-", " ").lower()], [name, name.lower()], ["a", "b"], [[1.0, 0.5]])
    assert found["name_query_share"][0] >= 0.5
    assert found["name_common_prefix_of_first"] == [1.0, 1.0]


@pytest.mark.parametrize("title", ["", "  ", "\u200b"])
def test_a_title_without_words_is_none(title: str) -> None:
    assert columns(["red shoe"], ["a"], [title], [[1.0]])["title_words"] == [2.0]


def test_word_interactions_are_given_words_that_more_than_one_have() -> None:
    """ "sync" is in one title alone, and in no query; "fox" is in one title and in the query."""
    pairs = Observations.of(csr_array(np.array([[1.0, 0.5]])), clicked())
    text = TextMatch.of(["fox"], ["17", "18"], ["fox tool sync", "tool"], pairs)
    assert text.titles.lengths.tolist() == [3, 1]
    assert text.documents.lengths.tolist() == [2, 1]


def test_a_document_that_nobody_shows_has_no_title() -> None:
    pairs = Observations.of(csr_array(np.array([[1.0, 0.0]])), clicked())
    text = TextMatch.of(["red"], ["a", "b"], ["", ""], pairs)
    assert np.diff(text.titles.offsets).tolist() == [1, 0]


def test_scripts_without_spaces_share_pairs_of_characters() -> None:
    found = columns(["東京タワー"], ["東京"], ["東京タワーの本"], [[1.0]])
    assert found["title_query_share"] == [1.0]
    assert 0 < found["title_title_share"][0] < 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=200)), min_size=1, max_size=4))
def test_whatever_documents_are_called(documents: list[tuple[str, str]]) -> None:
    names, titles = [name for name, _ in documents], [title for _, title in documents]
    found = columns(["fox", "the fox"], names, titles, [[0.5] * len(names)] * 2)
    for name, column in found.items():
        assert np.isfinite(column).all(), name
        assert min(column) >= 0, name
