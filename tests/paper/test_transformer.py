"""Encoders from `transformers`, on a tiny BERT that the test makes itself."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from wayword.config import FeaturesConfig
from wayword.errors import MissingExtra, WaywordError, WorkspaceError
from wayword.paper.features import load_encoder, make_encoder
from wayword.paper.features.transformer import TransformerEncoder

TEXTS = ["video player", "video", "a mail client for video and mail", "v", "", "unknown words", "mail client"]


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[bert\]'"):
        TransformerEncoder.from_pretrained("bert-base-uncased")


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder.from_pretrained(str(tiny_bert))


def test_a_text_has_the_same_bits_alone_among_others_and_on_any_number_of_threads(
    encoder: TransformerEncoder,
) -> None:
    import torch

    together = encoder.encode(TEXTS)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
            assert alone.tobytes() == together.tobytes()
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_batches_give_the_same_vectors_up_to_rounding_in_the_order_of_the_texts(
    encoder: TransformerEncoder,
) -> None:
    np.testing.assert_allclose(encoder.encode_stored(TEXTS), encoder.encode(TEXTS), atol=1e-5)


def test_the_vector_is_the_mean_over_tokens_and_padding_counts_nothing(encoder: TransformerEncoder) -> None:
    import torch

    with torch.inference_mode():
        last = encoder.model(**encoder.tokenizer(["video player"], return_tensors="pt")).last_hidden_state
    mean = last[0].mean(dim=0).numpy()
    assert last.shape[1] == len(["[CLS]", "video", "player", "[SEP]"])
    np.testing.assert_allclose(encoder.encode_stored(TEXTS)[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_no_text_and_long_texts(encoder: TransformerEncoder) -> None:
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.encode_stored([]).shape == (0, 32)
    assert np.linalg.norm(encoder.encode(["video " * 500])) == pytest.approx(1.0)


def test_saved_is_the_name_and_loaded_gives_the_same_bits(
    encoder: TransformerEncoder, tiny_bert: Path, tmp_path: Path
) -> None:
    make_encoder([], FeaturesConfig(encoder=str(tiny_bert))).save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["encoder.json"]
    assert load_encoder(tmp_path).encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    settings = tmp_path / "encoder.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"dimensions": 768}))
    with pytest.raises(WorkspaceError, match="gives 32 dimensions now and gave 768"):
        load_encoder(tmp_path)


def test_a_model_that_cannot_be_opened_says_what_to_do(tiny_bert: Path, tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="encoder to 'light'"):
        TransformerEncoder.from_pretrained(str(tmp_path / "nowhere"))
    for file in tiny_bert.iterdir():
        broken = b"garbage" if file.suffix == ".safetensors" else file.read_bytes()
        (tmp_path / file.name).write_bytes(broken)
    with pytest.raises(WaywordError, match="encoder to 'light'"):
        TransformerEncoder.from_pretrained(str(tmp_path))
