"""Text vectors from any `transformers` model (extra `bert`): mean of the last layer over tokens, length 1.

The paper uses `bert-base-uncased`. The rounding of a matrix product depends on the shape of the batch and the number
of threads. So prefixes (`encode`), which are encoded again at serving, go through the model one at a time on one
thread; only queries (`encode_stored`), which are encoded once and stored, are batched.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.errors import MissingExtra, WaywordError, WorkspaceError
from wayword.paper.features.encoder import SETTINGS, read_settings, unit

BATCH = 64
"""Texts in one batch of `encode_stored`."""
MAX_TOKENS = 128
"""Longer texts are truncated."""
_THREADS = threading.Lock()


@dataclass(frozen=True)
class TransformerEncoder:
    """A pre-trained model, named as in `transformers` or by its folder. It is not fine-tuned."""

    name: str
    tokenizer: Any
    model: Any

    @classmethod
    def from_pretrained(cls, name: str) -> "TransformerEncoder":
        """Open a model from its folder, the local cache or the model hub; safetensors weights only."""
        try:
            import torch  # noqa: F401
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging
        except ImportError as problem:
            raise MissingExtra("bert", f"The text encoder {name!r}") from problem
        logging.disable_progress_bar()  # it would overlap our progress bar
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModel.from_pretrained(name, use_safetensors=True)
        except Exception as problem:  # whatever transformers, tokenizers and safetensors raise
            reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
            raise WaywordError(
                f"Cannot open the text encoder {name!r}: {reason} Set [features] encoder to 'light', to the "
                "folder of a model saved with save_pretrained() (config.json, model.safetensors, "
                "tokenizer.json), or to a name that this machine can download."
            ) from problem
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        return cls(name, tokenizer, model.float().eval())

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.model.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, computed one by one, so that a row has the same bits in any batch."""
        with _one_thread():
            return self._in_batches(texts, 1)

    def encode_stored(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, computed in batches of texts of similar length."""
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i]), texts[i]))
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        vectors[order] = self._in_batches([texts[i] for i in order], BATCH)
        return vectors

    def _in_batches(self, texts: Sequence[str], size: int) -> NDArray[np.float32]:
        batches = [self._mean(list(texts[start : start + size])) for start in range(0, len(texts), size)]
        return unit(np.concatenate([np.zeros((0, self.dimensions), dtype=np.float32), *batches]))

    def _mean(self, texts: list[str]) -> NDArray[np.float32]:
        import torch

        tokens = self.tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            last = self.model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(-1).to(last.dtype)
            mean = (last * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        vectors: NDArray[np.float32] = mean.numpy()
        return vectors

    @property
    def _max_tokens(self) -> int:
        return min(MAX_TOKENS, int(getattr(self.model.config, "max_position_embeddings", MAX_TOKENS)))

    def save(self, folder: Path) -> None:
        """Write the name of the model, not its weights: the model must stay available under that name."""
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"kind": "transformer", "name": self.name, "dimensions": self.dimensions}
        (folder / SETTINGS).write_text(json.dumps(settings, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TransformerEncoder":
        """Open the model that `save` named."""
        settings = read_settings(folder / SETTINGS)
        encoder = cls.from_pretrained(str(settings["name"]))
        if encoder.dimensions != settings["dimensions"]:
            raise WorkspaceError(
                f"The model {encoder.name!r} gives {encoder.dimensions} dimensions now and gave "
                f"{settings['dimensions']} when the ranker was trained. Train the ranker again."
            )
        return encoder


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute on one thread. The setting is global to the process, hence the lock."""
    import torch

    with _THREADS:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
