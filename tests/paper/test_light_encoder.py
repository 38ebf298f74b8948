"""The light encoder: what it must give whatever the texts."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.config import FeaturesConfig
from wayword.errors import WorkspaceError
from wayword.paper.features import load_encoder, make_encoder
from wayword.paper.features.light import LightEncoder

TEXTS = [
    "video player",
    "video editor",
    "audio player",
    "audio editor",
    "mail client",
    "mail server",
    "写真 编辑",
    "写真",
    "動画プレーヤー",
    "a",
    "ß",
    "c++",
]


@pytest.fixture(scope="module")
def encoder() -> LightEncoder:
    return LightEncoder.fit(TEXTS, dimensions=5, seed=0)


@settings(deadline=None)
@given(st.lists(st.text(max_size=12) | st.sampled_from(TEXTS), min_size=1, max_size=8))
def test_a_text_has_the_same_bits_alone_and_among_others(encoder: LightEncoder, texts: list[str]) -> None:
    together = encoder.encode(texts)
    alone = [encoder.encode([text])[0] for text in texts]
    assert together.dtype == np.float32
    assert together.shape == (len(texts), 5)
    assert together.tobytes() == np.stack(alone).tobytes()


@settings(deadline=None)
@given(st.text(max_size=12))
def test_a_vector_has_length_one_or_is_zero(encoder: LightEncoder, text: str) -> None:
    length = np.linalg.norm(encoder.encode([text])[0])
    assert length == pytest.approx(1.0, abs=1e-5) or length == 0


@pytest.mark.parametrize("text", ["a", "ß", "写真", "動画プレーヤー"])
def test_one_letter_and_scripts_without_spaces_have_a_vector(text: str) -> None:
    encoder = LightEncoder.fit(TEXTS, dimensions=len(TEXTS), seed=0)
    assert np.linalg.norm(encoder.encode([text])) == pytest.approx(1.0)


def test_the_projection_is_the_exact_svd_of_the_weighted_counts() -> None:
    """As many dimensions as texts lose nothing: cosines equal those of the tf-idf vectors themselves."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    exact = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False).fit_transform(TEXTS)
    vectors = LightEncoder.fit(TEXTS, dimensions=len(TEXTS), seed=0).encode(TEXTS)
    np.testing.assert_allclose(vectors @ vectors.T, (exact @ exact.T).toarray(), atol=1e-4)


def test_texts_that_share_words_are_closer(encoder: LightEncoder) -> None:
    player, editor, mail = encoder.encode(["video player", "video editor", "mail server"])
    assert player @ editor > player @ mail


@pytest.mark.parametrize("texts", [[], [""], ["a"], ["a", "a", "b"]])
def test_fewer_distinct_texts_than_dimensions_are_padded_with_zeros(texts: list[str]) -> None:
    vectors = LightEncoder.fit(texts, dimensions=8, seed=0).encode(["a", "b", ""])
    assert vectors.shape == (3, 8)
    assert np.isfinite(vectors).all()
    assert (vectors[:, len(set(texts)) :] == 0).all()
    assert LightEncoder.fit(texts, dimensions=8, seed=0).encode([]).shape == (0, 8)


def test_the_seed_decides_and_the_order_of_the_texts_does_not() -> None:
    first = LightEncoder.fit(TEXTS, dimensions=5, seed=1)
    again = LightEncoder.fit([*reversed(TEXTS), *TEXTS], dimensions=5, seed=1)
    assert first.projection.tobytes() == again.projection.tobytes()


def test_saved_files_are_the_same_for_the_same_texts_and_hold_no_pickle(tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "two"):
        make_encoder(TEXTS, FeaturesConfig(dimensions=5)).save(tmp_path / name)
        files = sorted((tmp_path / name).iterdir())
        assert [file.name for file in files] == ["encoder.json", "projection.npy"]
        hashes.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert hashes[0] == hashes[1]


def test_loaded_is_what_was_saved(encoder: LightEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    loaded = load_encoder(tmp_path)
    assert isinstance(loaded, LightEncoder)
    assert loaded.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()


def test_a_broken_folder_is_named(encoder: LightEncoder, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    (tmp_path / "projection.npy").write_bytes(b"garbage")
    with pytest.raises(WorkspaceError, match=r"projection\.npy"):
        load_encoder(tmp_path)
    (tmp_path / "encoder.json").write_text('{"kind": "dark"}')
    with pytest.raises(WorkspaceError, match="Found encoder 'dark'"):
        load_encoder(tmp_path)
    (tmp_path / "encoder.json").write_text('{"kind": "light", "ngrams": [1, 9], "buckets": 7}')
    np.save(tmp_path / "projection.npy", encoder.projection)
    with pytest.raises(WorkspaceError, match="another version"):
        load_encoder(tmp_path)
