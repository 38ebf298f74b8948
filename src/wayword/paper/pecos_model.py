"""PECOS models: tf-idf features of text, a tree over the labels, linear classifiers, beam search.

The paper's retriever (section "Practical Instantiation") and its document ranker are PECOS models: Yu et al.,
"PECOS: Prediction for Enormous and Correlated Output Spaces" (2020). Only this module imports PECOS, and only when
a model is trained or loaded. A saved model is text, JSON and memory-mapped arrays: no pickle.
"""

import importlib.util
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wayword.errors import MissingExtra, WorkspaceError

WORDS = (1, 2)
"""Word n-grams. The unfinished last word of a prefix counts as a word: training prefixes have one too."""
CHARACTERS = (1, 4)
"""Character n-grams inside padded words: they mark word starts and cover scripts without spaces (CJK)."""
CHUNK = 8192


def available() -> bool:
    """Return whether the extra `pecos` is installed."""
    return importlib.util.find_spec("pecos") is not None


def _compressed(  # PECOS passes these names
    arg1: Any, mat_type: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **_: object
) -> Any:
    """Replace `pecos.utils.smat_util.cs_matrix` with a plain call of scipy.

    The original uses `scipy.sparse.sputils` and `np.array(copy=False)`, which newer scipy and numpy removed. It is
    replaced with older versions too, so that there is one code path.
    """
    return mat_type(arg1, shape=shape, dtype=dtype, copy=copy)


def _pecos() -> Any:
    """Import the modules of PECOS that are used and install `_compressed`."""
    if not available():
        raise MissingExtra("pecos", "The PECOS model")
    from pecos.utils import smat_util

    smat_util.cs_matrix = _compressed
    import pecos.utils.featurization.text.vectorizers
    import pecos.xmc.xlinear.model

    return pecos


@contextmanager
def _plain_path(folder: Path) -> Iterator[str]:
    """Yield a path of a folder that holds only letters, digits and slashes, whatever the folder is called.

    PECOS hands a path to a shell (`mkdir -p`), unquoted, and encodes it as UTF-8. The path names the folder by its open
    descriptor, which the shell inherits.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.set_inheritable(descriptor, True)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextmanager
def _without_resource_warnings() -> Iterator[None]:
    """Silence ResourceWarning: PECOS leaves its JSON files open for the garbage collector to close."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def _padded(texts: Sequence[str]) -> list[str]:
    """Put a space before each text: PECOS pads words in training, but not the ends of a text in prediction."""
    return [f" {text}" for text in texts] or [""]


class TextFeatures:
    """Sparse rows of unit length: tf-idf of word and character n-grams, computed by PECOS."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @classmethod
    def fit(cls, texts: Sequence[str], folder: Path) -> "TextFeatures":
        """Learn the vocabulary, write it, and return it as read back from disk.

        The file holds idf with six decimals, so the unsaved model would give other bits than serving does.
        """
        pecos = _pecos()
        analysers = [("word", WORDS), ("char_wb", CHARACTERS)]
        vectorizers = [
            {"analyzer": name, "ngram_range": span, "add_one_idf": True} for name, span in analysers
        ]
        config = {"base_vect_configs": vectorizers, "threads": 1}
        model = pecos.utils.featurization.text.vectorizers.Tfidf.train(_padded(texts), config)
        folder.mkdir(parents=True)
        with _plain_path(folder) as plain:
            model.save(plain)
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> "TextFeatures":
        """Read the files that `fit` wrote; check a folder that may be damaged first (`artefact.check`)."""
        vectorizer = _pecos().utils.featurization.text.vectorizers.Tfidf
        with _plain_path(folder) as plain:
            return cls(vectorizer.load(plain))

    def transform(self, texts: Sequence[str], *, threads: int = 1) -> sparse.csr_matrix:
        """Return one float32 row per text; a text without a known n-gram is a row of zeros."""
        matrix: sparse.csr_matrix = self._model.predict(_padded(texts), threads=threads)
        matrix.sort_indices()
        if not matrix.shape[1]:  # PECOS cannot train without columns
            return sparse.csr_matrix(np.zeros((len(texts), 1), dtype=np.float32))
        return matrix if texts else matrix[:0]


def train(
    features: sparse.csr_matrix,
    labels: sparse.csr_matrix,
    folder: Path,
    *,
    max_leaf: int,
    seed: int,
    threads: int = 1,
    max_iter: int = 10,
) -> None:
    """Cluster the labels by their positive instances (PIFA), train a classifier per node, and save the model.

    The same input and seed give the same bytes with any number of threads. `max_iter` bounds the passes of the
    solver over a node's instances.
    """
    pecos = _pecos()
    X, Y = features.astype(np.float32), labels.astype(np.float32)
    Y.data[:] = 1.0
    factory, indexer = pecos.xmc.LabelEmbeddingFactory, pecos.xmc.Indexer
    embedding = factory.create(Y, X, method="pifa", threads=1)
    tree = indexer.gen(embedding, max_leaf_size=max_leaf, seed=seed, threads=1)
    model = pecos.xmc.xlinear.model.XLinearModel.train(
        X, Y.tocsc(), C=tree, threads=threads, max_iter=max_iter
    )
    folder.mkdir(parents=True)
    with _without_resource_warnings(), _plain_path(folder) as plain:
        model.save(f"{plain}/draft")
        pecos.xmc.xlinear.model.XLinearModel.compile_mmap_model(f"{plain}/draft", plain)
    shutil.rmtree(folder / "draft")
    for weights in sorted(folder.rglob("W.mmap_store")):
        _blank_pointers(weights)


_HEADER = 64
_BLOCK = np.dtype(
    [("begin", "<u4"), ("end", "<u4"), ("rows", "<u4"), ("bias", "<u4"), ("pointers", "<u8", 2)]
)


def _blank_pointers(path: Path) -> None:
    """Zero the two heap addresses that PECOS writes for each block of columns and overwrites when it loads.

    They are the only bytes that differ between two runs. A file of another layout stays unchanged.
    """
    content = bytearray(path.read_bytes())
    count = int.from_bytes(content[:8], "little")
    if len(content) < _HEADER + count * _BLOCK.itemsize or content[:8] != content[48:56]:
        return
    blocks = np.frombuffer(content, dtype=_BLOCK, count=count, offset=_HEADER)
    columns = int.from_bytes(content[32:40], "little")
    if np.array_equal(np.r_[blocks["begin"], columns], np.r_[0, blocks["end"]]):
        blocks["pointers"] = 0
        path.write_bytes(content)


class XLinear:
    """A trained, memory-mapped model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @classmethod
    def load(cls, folder: Path) -> "XLinear":
        """Read the files that `train` wrote; check a folder that may be damaged first (`artefact.check`)."""
        model = _pecos().xmc.xlinear.model.XLinearModel
        with _without_resource_warnings(), _plain_path(folder) as plain:
            return cls(model.load(plain, is_predict_only=True))

    @property
    def labels(self) -> int:
        """Number of labels of the model."""
        return int(self._model.nr_labels)

    @property
    def width(self) -> int:
        """Number of features of a row."""
        return int(self._model.model.nr_features)

    def predict(
        self, features: sparse.csr_matrix, k: int, *, beam: int = 10, threads: int = 1
    ) -> sparse.csr_matrix:
        """Score at most k labels of each row, in (0, 1]. A row's result does not depend on the other rows."""
        if features.shape[1] != self.width:
            raise WorkspaceError(
                f"The model has {self.width} features, its input {features.shape[1]}: they were not trained together."
            )
        blocks = [
            self._model.predict(
                features[start : start + CHUNK],
                only_topk=min(k, self.labels),
                beam_size=beam,
                threads=threads,
            )
            for start in range(0, features.shape[0], CHUNK)
        ]
        if not blocks:
            return sparse.csr_matrix(np.zeros((0, self.labels), dtype=np.float32))
        return sparse.csr_matrix(sparse.vstack(blocks, format="csr"))
