"""The paper's retriever."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from wayword.config import RetrieverConfig
from wayword.errors import LogError, WorkspaceError
from wayword.logs.contexts import from_prefixes
from wayword.paper import pecos_model
from wayword.paper.pecos_retriever import PecosRetriever, train
from wayword.text import cuts

pytestmark = pytest.mark.skipif(not pecos_model.available(), reason="needs the extra pecos")

WORDS = ["video", "audio", "photo", "mail", "web", "game", "東京", "chess", "music", "disk"]
ENDS = ["player", "editor", "viewer", "server", "client", "ホテル"]
QUERIES = [f"{word} {end}" for word in WORDS for end in ENDS] + ["never anyone's label"]
CONFIG = RetrieverConfig(max_leaf=10)


def searches(n: int, seed: int) -> tuple[pa.Table, sparse.csr_matrix]:
    """Cuts of queries; the labels are the query and its neighbour, like alternatives of high utility."""
    rng = np.random.default_rng(seed)
    query = np.minimum(rng.geometric(0.05, size=n) - 1, len(QUERIES) - 3)
    prefixes = [rng.choice(cuts(QUERIES[q])) for q in query]
    shape = (n, len(QUERIES))
    one = sparse.csr_matrix((np.ones(n, np.float32), (np.arange(n), query)), shape=shape)
    two = sparse.csr_matrix((np.ones(n, np.float32), (np.arange(n), query + 1)), shape=shape)
    return from_prefixes([str(p) for p in prefixes]), sparse.csr_matrix(one + two)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("retriever") / "pecos"
    train(*searches(1500, seed=0), path, CONFIG)
    return path


def recall(found: list[set[int]], labels: sparse.csr_matrix) -> float:
    truth = [set(labels.indices[labels.indptr[i] : labels.indptr[i + 1]]) for i in range(labels.shape[0])]
    return float(np.mean([len(f & t) / len(t) for f, t in zip(found, truth, strict=True)]))


def test_held_out_recall_beats_popularity(folder: Path) -> None:
    contexts, labels = searches(300, seed=1)
    candidates = PecosRetriever.load(folder, CONFIG).retrieve(contexts, 5)
    found = [set(candidates.query[candidates.context == i]) for i in range(300)]
    popular = np.argsort(-np.bincount(searches(1500, seed=0)[1].indices))[:5]
    assert recall(found, labels) > 2 * recall([set(popular)] * 300, labels)


def test_candidates_are_numbers_of_the_universe_in_order(folder: Path) -> None:
    candidates = PecosRetriever.load(folder, CONFIG).retrieve(from_prefixes(["vi", "mail s"]), 4)
    assert candidates.query.dtype == np.int32
    assert candidates.score.dtype == np.float32
    assert candidates.context.tolist() == [0] * 4 + [1] * 4
    assert QUERIES[candidates.query[0]].startswith("video")
    assert (np.diff(candidates.score[:4]) <= 0).all()


def test_batch_equals_rows_one_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = PecosRetriever.load(folder, CONFIG)
    contexts = searches(60, seed=2)[0]
    batch = retriever.retrieve(contexts, 7)
    singles = [retriever.retrieve(contexts.slice(i, 1), 7) for i in range(60)]
    np.testing.assert_array_equal(batch.query, np.concatenate([s.query for s in singles]))
    np.testing.assert_array_equal(batch.score, np.concatenate([s.score for s in singles]))
    monkeypatch.setattr(pecos_model, "CHUNK", 13)
    chunked = retriever.retrieve(contexts, 7)
    for name in ("context", "query", "score"):
        np.testing.assert_array_equal(getattr(chunked, name), getattr(batch, name))


def test_odd_prefixes_and_large_k(folder: Path) -> None:
    candidates = PecosRetriever.load(folder, CONFIG).retrieve(from_prefixes(["", "ωωω", "東"]), 10_000)
    assert set(candidates.context) == {0, 1, 2}
    assert len(QUERIES) - 1 not in candidates.query
    assert len(PecosRetriever.load(folder, CONFIG).retrieve(from_prefixes([]), 5).query) == 0


@pytest.mark.parametrize("labels", [[[0, 1]], [[1, 0], [0, 1]], [[1, 1], [1, 0]]])
@pytest.mark.parametrize("prefix", ["a", ""])
def test_tiny_label_spaces(tmp_path: Path, labels: list[list[int]], prefix: str) -> None:
    contexts = from_prefixes([prefix, "b"][: len(labels)])
    train(contexts, sparse.csr_matrix(np.array(labels, np.float32)), tmp_path / "p", RetrieverConfig())
    candidates = PecosRetriever.load(tmp_path / "p", RetrieverConfig()).retrieve(contexts, 50)
    assert set(candidates.query) == set(np.flatnonzero(np.any(labels, axis=0)))


def test_context_columns_change_the_answer(tmp_path: Path) -> None:
    shop, size = ["books", "games"] * 50, [1.0, 9.0] * 50
    contexts = pa.table({"prefix": ["a"] * 100, "shop": shop, "size": size})
    labels = sparse.csr_matrix(np.tile(np.eye(2, dtype=np.float32), (50, 1)))
    train(contexts, labels, tmp_path / "p", RetrieverConfig())
    retriever = PecosRetriever.load(tmp_path / "p", RetrieverConfig())
    best = retriever.retrieve(contexts.slice(0, 2), 1).query
    assert best.tolist() == [0, 1]
    assert len(retriever.retrieve(from_prefixes(["a"]), 2).query) == 2


def test_same_input_same_bytes(folder: Path, tmp_path: Path) -> None:
    train(*searches(1500, seed=0), tmp_path / "again", CONFIG, threads=1)
    for path in (p for p in folder.rglob("*") if p.is_file()):
        other = tmp_path / "again" / path.relative_to(folder)
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest(), path


def test_damaged_folder_is_named_before_native_code_reads_it(tmp_path: Path) -> None:
    train(*searches(20, seed=0), tmp_path / "p", CONFIG)
    weights = next((tmp_path / "p").rglob("W.mmap_store"))
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    with pytest.raises(WorkspaceError, match=r"W\.mmap_store has"):
        PecosRetriever.load(tmp_path / "p", CONFIG)
    weights.write_bytes(whole)
    (tmp_path / "p" / "queries.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(WorkspaceError, match=r"queries\.npy has 6 bytes"):
        PecosRetriever.load(tmp_path / "p", CONFIG)


def test_nothing_to_learn_from_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="1 contexts with 0 different queries"):
        train(from_prefixes(["a"]), sparse.csr_matrix(np.zeros((1, 3), np.float32)), tmp_path / "p", CONFIG)
