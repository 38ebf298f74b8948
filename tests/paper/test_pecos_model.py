"""PECOS behind its door: the shim, the text features, the saved model."""

import hashlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wayword.errors import MissingExtra, WorkspaceError
from wayword.paper import pecos_model

needs_pecos = pytest.mark.skipif(not pecos_model.available(), reason="needs the extra pecos")


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def problem(instances: int = 400, labels: int = 300, seed: int = 0) -> tuple[list[str], sparse.csr_matrix]:
    """Label i is named by two letters of the text; the first letter also names its relatives."""
    rng = np.random.default_rng(seed)
    label = rng.integers(labels, size=instances)
    texts = [f"w{n // 10} x{n}" for n in label]
    rows, columns = np.r_[np.arange(instances), np.arange(instances)], np.r_[label, label // 10 * 10]
    matrix = sparse.csr_matrix(
        (np.ones(2 * instances, np.float32), (rows, columns)), shape=(instances, labels)
    )
    return texts, matrix


def trained(
    folder: Path, *, threads: int = 1, seed: int = 0
) -> tuple[pecos_model.TextFeatures, sparse.csr_matrix]:
    texts, labels = problem()
    text = pecos_model.TextFeatures.fit(texts, folder / "text")
    features = text.transform(texts)
    pecos_model.train(features, labels, folder / "tree", max_leaf=20, seed=seed, threads=threads)
    return text, features


def test_import_is_light_and_use_without_pecos_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import sys, wayword.paper.pecos_model; sys.exit('pecos' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    monkeypatch.setattr(pecos_model, "available", lambda: False)
    with pytest.raises(MissingExtra, match=r"\.\[pecos\]"):
        pecos_model.TextFeatures.fit(["a"], tmp_path / "text")


@needs_pecos
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix])
def test_shim_gives_scipys_matrix(kind: Any) -> None:
    smat_util = pecos_model._pecos().utils.smat_util
    expected = kind(sparse.random(7, 5, density=0.4, dtype=np.float32, random_state=1))
    parts = (expected.data, expected.indices.astype(np.uint32), expected.indptr.astype(np.uint64))
    make = getattr(smat_util, kind.__name__)
    found = make(parts, shape=expected.shape, dtype=np.float32)
    assert type(found) is kind
    assert found.indices.dtype == found.indptr.dtype
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@needs_pecos
def test_text_rows_are_unit_vectors_or_zero(tmp_path: Path) -> None:
    text = pecos_model.TextFeatures.fit(["fire", "firefox br", "東京 ホ", "c++"], tmp_path / "text")
    rows = text.transform(["f", "firefox", "東", "", "ßßß"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows[:3].toarray(), axis=1), 1, atol=1e-6)
    assert rows[4].nnz <= 1  # at most the space that begins a text


@needs_pecos
def test_start_of_a_text_is_a_feature(tmp_path: Path) -> None:
    """PECOS does not pad the first word when it predicts; "ox" must differ from the end of "fox"."""
    text = pecos_model.TextFeatures.fit(["ox", "fox", "fox ox"], tmp_path / "text")
    start, inside = text.transform(["ox"]), text.transform(["fox"])
    assert start.nnz > len(["ox", "o", "x", "ox", " "])
    assert set(start.indices) - set(inside.indices)


@needs_pecos
def test_vocabulary_may_be_empty(tmp_path: Path) -> None:
    text = pecos_model.TextFeatures.fit([], tmp_path / "text")
    assert text.transform(["a", "b"]).shape[0] == 2
    assert text.transform([]).shape[0] == 0


@needs_pecos
def test_same_input_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    for name, threads in {"one": 1, "again": 1, "two": 2}.items():
        trained(tmp_path / name, threads=threads)
    assert digest(tmp_path / "one") == digest(tmp_path / "again") == digest(tmp_path / "two")


@needs_pecos
def test_loaded_model_finds_the_labels_and_rows_are_independent(tmp_path: Path) -> None:
    text, features = trained(tmp_path)
    model = pecos_model.XLinear.load(tmp_path / "tree")
    batch = model.predict(features, 5)
    for threads in (1, 2):
        singles = [model.predict(features[i], 5, threads=threads) for i in range(100)]
        np.testing.assert_array_equal(
            batch.data[: batch.indptr[100]], np.concatenate([s.data for s in singles])
        )
        np.testing.assert_array_equal(
            batch.indices[: batch.indptr[100]], np.concatenate([s.indices for s in singles])
        )
    truth = problem()[1]
    hits = batch.multiply(truth).astype(bool).sum()
    assert hits > 0.9 * truth.nnz
    assert model.predict(features[:0], 5).shape == (0, 300)
    assert model.predict(text.transform(["", "nothing known"]), 1000).shape == (2, 300)


@needs_pecos
def test_nothing_loaded_is_a_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a pickle was loaded")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    text, model = (
        pecos_model.TextFeatures.load(tmp_path / "text"),
        pecos_model.XLinear.load(tmp_path / "tree"),
    )
    assert model.predict(text.transform(["w1 x12"]), 3).nnz == 3
    for path in (p for p in tmp_path.rglob("*") if p.is_file()):
        assert path.suffix in (".json", ".txt", ".mmap_store")
        assert not (path.read_bytes()[:1] == b"\x80" and path.read_bytes()[-1:] == b".")


@needs_pecos
def test_features_of_another_model_are_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    other = pecos_model.TextFeatures.fit(["a"], tmp_path / "other")
    with pytest.raises(WorkspaceError, match="not trained together"):
        pecos_model.XLinear.load(tmp_path / "tree").predict(other.transform(["a"]), 3)


def test_file_of_another_layout_keeps_its_bytes(tmp_path: Path) -> None:
    for content in (b"", bytes(range(200))):
        (tmp_path / "W").write_bytes(content)
        pecos_model._blank_pointers(tmp_path / "W")
        assert (tmp_path / "W").read_bytes() == content
