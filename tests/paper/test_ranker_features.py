"""The features of pairs: against arithmetic, against a slow reference, and alone against in a batch."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.errors import WorkspaceError
from wayword.logs.contexts import ContextColumns, from_prefixes
from wayword.paper.features import ranker_features as pairs
from wayword.paper.features.light import LightEncoder
from wayword.paper.features.ranker_features import PAIR_FEATURES, Featuriser

QUERIES = [
    "video player",
    "video",
    "player of video",
    "mail",
    "写真 编辑",
    "写真",
    "a",
    "video video editor",
    "vid",
]
POPULARITY = np.array([10.0, 3, 0, 7, 1, 0, 2, 5, 1])
CONTEXTS = pa.table(
    {
        "prefix": ["vid", "vid", "video player p", "写", "zzz", "mail"],
        "country": ["de", "fr", "de", None, "de", "it"],
        "hour": [1.0, 2.0, 3.0, None, 5.0, 9.0],
    }
)
DIMENSIONS = 6


@pytest.fixture(scope="module")
def featuriser() -> Featuriser:
    columns = ContextColumns({"country": ["de", "fr"]}, {"hour": (4.0, 2.0)})
    return Featuriser.build(QUERIES, POPULARITY, LightEncoder.fit(QUERIES, DIMENSIONS, seed=0), columns)


def every_query(contexts: int) -> Candidates:
    queries = len(QUERIES)
    return Candidates(
        np.repeat(np.arange(contexts, dtype=np.int32), queries),
        np.tile(np.arange(queries, dtype=np.int32)[::-1], contexts),
        np.tile(np.linspace(1, 0.1, queries, dtype=np.float32), contexts),
    )


def column(featuriser: Featuriser, matrix: NDArray[np.float32], name: str) -> list[float]:
    found: list[float] = matrix[:, featuriser.names.index(name)].tolist()
    return found


def trigrams(text: str) -> set[str]:
    return {("  " + text)[i : i + 3] for i in range(len(text))}


def reference(prefix: str, query: int, position: int, score: float, encoder: LightEncoder) -> list[float]:
    """The features of one pair, as their names say."""
    text = QUERIES[query]
    typed, words = set(prefix.split()), set(text.split())
    both = trigrams(prefix) & trigrams(text)
    starts = text.startswith(prefix)
    cosine = encoder.encode([prefix])[0] @ encoder.encode([text])[0]
    return [
        len(prefix),
        len(prefix.split()),
        len(text),
        len(text.split()),
        len(text) - len(prefix) if starts else len(text),
        float(starts),
        len(typed & words) / max(len(typed), 1),
        len(both) / max(len(trigrams(prefix)), 1),
        len(both) / max(len(trigrams(prefix) | trigrams(text)), 1),
        math.log(1 + POPULARITY[query]),
        score,
        1 / (1 + position),
        float(cosine),
    ]


def test_one_pair_by_hand(featuriser: Featuriser) -> None:
    one = Candidates(np.array([0], np.int32), np.array([0], np.int32), np.array([0.25], np.float32))
    row = featuriser.features(from_prefixes(["vid"]), one)
    named = dict(zip(featuriser.names, row[0].tolist(), strict=True))
    assert named["characters_to_type"] == len("video player") - len("vid")
    assert named["starts_with"] == 1
    assert named["shared_words"] == 0 / 1
    assert named["trigram_containment"] == 3 / 3
    assert named["trigram_jaccard"] == pytest.approx(3 / 12)
    assert named["log_popularity"] == pytest.approx(math.log(1 + 10))
    assert named["retriever_score"] == 0.25
    assert named["country=de"] == named["hour"] == 0  # the caller left the columns out


def test_every_pair_equals_the_slow_reference(featuriser: Featuriser) -> None:
    candidates = every_query(CONTEXTS.num_rows)
    found = featuriser.features(CONTEXTS, candidates)
    prefixes = CONTEXTS["prefix"].to_pylist()
    encoder = featuriser.encoder
    assert isinstance(encoder, LightEncoder)
    expected = [
        reference(prefixes[c], int(q), i % len(QUERIES), float(s), encoder)
        for i, (c, q, s) in enumerate(
            zip(candidates.context, candidates.query, candidates.score, strict=True)
        )
    ]
    np.testing.assert_allclose(found[:, : len(PAIR_FEATURES)], expected, rtol=1e-5, atol=1e-6)


def test_vectors_and_context_columns_follow(featuriser: Featuriser) -> None:
    candidates = every_query(CONTEXTS.num_rows)
    found = featuriser.features(CONTEXTS, candidates)
    prefix = featuriser.encoder.encode(CONTEXTS["prefix"].to_pylist())[candidates.context]
    query = featuriser.encoder.encode(QUERIES)[candidates.query]
    extra = featuriser.columns.matrix(CONTEXTS)[candidates.context]
    np.testing.assert_array_equal(found[:, len(PAIR_FEATURES) :], np.hstack([prefix, query, extra]))
    assert found.shape[1] == len(featuriser.names) == len(set(featuriser.names))
    assert column(featuriser, found, "hour")[: len(QUERIES)] == [(1.0 - 4.0) / 2.0] * len(QUERIES)
    assert column(featuriser, found, "country=fr")[len(QUERIES)] == 1


queries_of_a_context = st.lists(st.integers(0, len(QUERIES) - 1), unique=True, max_size=5)
typed_texts = st.sampled_from(["", "v", "video", "写真", "a b c"]) | st.text(max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(typed_texts, queries_of_a_context), min_size=1, max_size=5))
def test_a_context_has_the_same_bits_alone_and_among_others(
    featuriser: Featuriser, proposed: list[tuple[str, list[int]]]
) -> None:
    contexts = from_prefixes([prefix for prefix, _ in proposed])
    rows = [(i, query) for i, (_, chosen) in enumerate(proposed) for query in chosen]
    context, query = (np.array([row[side] for row in rows], dtype=np.int32) for side in (0, 1))
    score = (1 / (1 + np.arange(len(rows)))).astype(np.float32)
    together = featuriser.features(contexts, Candidates(context, query, score))
    assert np.isfinite(together).all()
    for i in range(len(proposed)):
        mine = context == i
        candidates = Candidates(np.zeros(mine.sum(), np.int32), query[mine], score[mine])
        alone = featuriser.features(contexts.slice(i, 1), candidates)
        assert alone.tobytes() == together[mine].tobytes()


def test_the_size_of_a_chunk_changes_nothing(featuriser: Featuriser, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = featuriser.features(CONTEXTS, every_query(CONTEXTS.num_rows))
    monkeypatch.setattr(pairs, "CHUNK", 7)
    assert featuriser.features(CONTEXTS, every_query(CONTEXTS.num_rows)).tobytes() == whole.tobytes()


def test_a_number_that_is_not_a_number_counts_as_missing(featuriser: Featuriser) -> None:
    contexts = pa.table({"prefix": ["v"], "hour": [float("nan")]})
    found = featuriser.features(contexts, every_query(1))
    assert column(featuriser, found, "hour") == [0.0] * len(QUERIES)


def test_loaded_gives_the_same_bits_and_nothing_is_pickled(featuriser: Featuriser, tmp_path: Path) -> None:
    featuriser.save(tmp_path)
    loaded = Featuriser.load(tmp_path)
    candidates = every_query(CONTEXTS.num_rows)
    assert loaded.names == featuriser.names
    expected = featuriser.features(CONTEXTS, candidates).tobytes()
    assert loaded.features(CONTEXTS, candidates).tobytes() == expected
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} == {".npy", ".json"}
    for file in files:
        if file.suffix == ".npy":
            np.load(file, allow_pickle=False)


def test_a_broken_folder_is_named(featuriser: Featuriser, tmp_path: Path) -> None:
    featuriser.save(tmp_path)
    np.save(tmp_path / "queries" / "vectors.npy", np.zeros((2, DIMENSIONS), np.float32))
    with pytest.raises(WorkspaceError, match="do not belong together"):
        Featuriser.load(tmp_path)
    featuriser.save(tmp_path)
    (tmp_path / "featuriser.json").write_text('{"names": ["other"]}')
    with pytest.raises(WorkspaceError, match="written with other features"):
        Featuriser.load(tmp_path)
    (tmp_path / "featuriser.json").unlink()
    with pytest.raises(WorkspaceError, match=r"featuriser\.json"):
        Featuriser.load(tmp_path)


def test_no_candidates_no_rows(featuriser: Featuriser) -> None:
    none = Candidates(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    assert featuriser.features(CONTEXTS, none).shape == (0, len(featuriser.names))


def test_popularity_must_be_given_for_every_query(featuriser: Featuriser) -> None:
    with pytest.raises(ValueError, match="2 popularities for 9 queries"):
        Featuriser.build(QUERIES, np.ones(2), featuriser.encoder, featuriser.columns)
