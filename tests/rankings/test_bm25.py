import math
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from progress_steps import Steps
from wayword.errors import LogError
from wayword.rankings.bm25 import RANKINGS_SCHEMA, Bm25Index, rank_with_bm25
from wayword.rankings.terms import document_terms, query_terms

WORDS = ["mail", "reader", "player", "video", "music", "for", "the", "console"]


def slow_scores(columns: list[list[str]], query: str) -> dict[int, float]:
    """BM25 as the textbook writes it, one document at a time."""
    scores: dict[int, float] = {}
    for column in columns:
        fields = [Counter(document_terms(text)) for text in column]
        mean_length = sum(field.total() for field in fields) / len(fields)
        for term in query_terms(query):
            having = sum(term in field for field in fields)
            idf = math.log(1 + (len(fields) - having + 0.5) / (having + 0.5))
            for number, field in enumerate(fields):
                if n := field[term]:
                    norm = 1.2 * (1 - 0.75 + 0.75 * field.total() / mean_length)
                    scores[number] = scores.get(number, 0.0) + idf * (1 + 1.2) * n / (n + norm)
    return scores


def found(titles: list[str], query: str, depth: int = 100) -> list[str]:
    documents = pa.table({"document": [f"d{n}" for n in range(len(titles))], "title": titles})
    table = rank_with_bm25(documents, [query], depth=depth)
    names: list[str] = table["document"].to_pylist()
    return names


phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(names=st.lists(phrases, min_size=1, max_size=12), titles=st.lists(phrases, min_size=12), query=phrases)
def test_orders_documents_as_the_textbook_does(names: list[str], titles: list[str], query: str) -> None:
    columns = [names, titles[: len(names)]]
    scores = slow_scores(columns, query)
    best = Bm25Index(columns).best(query, depth=100)
    assert sorted(best) == sorted(scores)
    for earlier, later in pairwise(best):
        assert scores[earlier] >= scores[later] * (1 - 1e-5)


def test_equal_documents_keep_the_order_of_the_table() -> None:
    assert found(["video player"] * 300, "player", depth=5) == ["d0", "d1", "d2", "d3", "d4"]
    assert found(["x", "player", "player player", "player"], "player") == ["d2", "d1", "d3"]


def test_a_shallower_depth_is_the_beginning_of_a_deeper_one() -> None:
    titles = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]
    deep = found(titles, "video player for the console", depth=len(titles))
    assert found(titles, "video player for the console", depth=20) == deep[:20]


def test_rows_are_by_query_in_the_given_order_then_by_rank() -> None:
    documents = pa.table({"document": ["mutt", "vlc"], "title": ["mail reader", "media player"]})
    table = rank_with_bm25(documents, ["player", "nothing", "mail", "player"])
    assert table.schema == RANKINGS_SCHEMA
    assert table.to_pylist() == [
        {"query": "player", "document": "vlc", "rank": 1},
        {"query": "mail", "document": "mutt", "rank": 1},
    ]


def test_the_id_is_the_name_unless_there_is_a_name() -> None:
    titles = ["a chart", "a chart"]
    by_id = pa.table({"document": ["gnuplot", "qtiplot"], "title": titles})
    by_name = by_id.append_column("name", pa.array(["one", None], pa.string()))
    assert rank_with_bm25(by_id, ["qtiplot"])["document"].to_pylist() == ["qtiplot"]
    assert rank_with_bm25(by_name, ["qtiplot"]).num_rows == 0
    assert rank_with_bm25(by_name, ["one"])["document"].to_pylist() == ["gnuplot"]


@pytest.mark.parametrize("query", ["", " ", "\x00"])
def test_a_query_without_terms_finds_nothing(query: str) -> None:
    assert found(["video player"], query) == []


def test_no_document_is_found_among_none() -> None:
    documents = pa.table({"document": pa.array([], pa.string()), "title": pa.array([], pa.string())})
    assert rank_with_bm25(documents, ["player"]).num_rows == 0


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_finds_itself_and_no_character_is_special(text: str) -> None:
    assert found(["other", text], text)[:1] == (["d1"] if query_terms(text) else [])


@pytest.mark.parametrize(
    "query", ['title:player AND "', "(player) ~ ^2", "NOT player -video", "c++ player", "* : * player"]
)
def test_operators_are_only_words(query: str) -> None:
    assert "d0" in found(["player", "other"], query)


@pytest.mark.parametrize(
    ("titles", "query"),
    [
        (["図書館の本", "東京タワー"], "タワー"),
        (["你好世界", "北京大学图书馆"], "图书"),
        (["สวัสดีครับ", "ภาษาไทย"], "ไทย"),
        (["สวัสดี", "犬と猫"], "猫"),
        (["почта", "Просмотр видео"], "ВИДЕО"),
        (["음악", "동영상 재생기"], "재생기"),
    ],
)
def test_finds_words_in_every_script(titles: list[str], query: str) -> None:
    assert found(titles, query)[:1] == ["d1"]


def test_progress_adds_up_to_the_distinct_queries() -> None:
    documents = pa.table({"document": ["mutt"], "title": ["mail reader"]})
    progress = Steps()
    rank_with_bm25(documents, [f"q{n}" for n in range(5000)] + ["q1"], progress=progress)
    assert progress.steps == sorted(progress.steps)
    assert progress.steps[-1] == (5000, 5000)
    assert len(progress.steps) > 1


def test_bad_documents_are_named() -> None:
    with pytest.raises(LogError, match=r"no column 'title'; found: document, label"):
        rank_with_bm25(pa.table({"document": ["a"], "label": ["b"]}), [])
    with pytest.raises(LogError, match="'a'"):
        rank_with_bm25(pa.table({"document": ["a", "a"], "title": ["b", "c"]}), [])


def test_long_words_do_not_break() -> None:
    assert found(["w" * 70_000, "player"], "player " + "w" * 70_000)[0] == "d1"
