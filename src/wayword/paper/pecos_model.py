"""PECOS behind one door: text as tf-idf, a tree over the labels, linear classifiers, beam search.

Yu et al., "PECOS: Prediction for Enormous and Correlated Output Spaces" (2020), is what the paper's section
"Practical Instantiation" retrieves queries with, and what its document ranker is. Nothing else imports PECOS,
and nothing here needs it before it is used. A saved model is text, JSON and memory-mapped arrays: no pickle.
"""

import importlib.util
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
"""Word n-grams. The unfinished last word of a prefix is a word like any other: it was cut in training too."""
CHARACTERS = (1, 4)
"""Character n-grams inside padded words: they see where a word begins, and scripts without spaces (CJK)."""
CHUNK = 8192


def available() -> bool:
    """Whether the extra `pecos` is installed."""
    return importlib.util.find_spec("pecos") is not None


def _compressed(  # PECOS calls it by these names
    arg1: Any, mat_type: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **_: object
) -> Any:
    """`pecos.utils.smat_util.cs_matrix` as a plain call of scipy.

    The original uses `scipy.sparse.sputils` and `np.array(copy=False)`, which new scipy and numpy took away.
    On an older stack it runs, with a warning; it is replaced there too, so that there is one path.
    """
    return mat_type(arg1, shape=shape, dtype=dtype, copy=copy)


def _pecos() -> Any:
    """The modules that are used, with the shim in place."""
    if not available():
        raise MissingExtra("pecos", "The PECOS model")
    from pecos.utils import smat_util

    smat_util.cs_matrix = _compressed
    import pecos.utils.featurization.text.vectorizers
    import pecos.xmc.xlinear.model

    return pecos


@contextmanager
def _files_left_open() -> Iterator[None]:
    """PECOS opens its JSON files without closing them; the garbage collector does, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def _padded(texts: Sequence[str]) -> list[str]:
    """Each text after a space: PECOS pads words when it learns n-grams, not a text's ends when using them."""
    return [f" {text}" for text in texts] or [""]


class TextFeatures:
    """Texts as sparse rows of unit length: tf-idf of word and character n-grams, both by PECOS's own C++."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @classmethod
    def fit(cls, texts: Sequence[str], folder: Path) -> "TextFeatures":
        """Learn the vocabulary and write it. What is returned was read back: training sees what serving sees.

        The file holds idf with six decimals; the unsaved model would give other bits.
        """
        pecos = _pecos()
        analysers = [("word", WORDS), ("char_wb", CHARACTERS)]
        parts = [{"analyzer": name, "ngram_range": span, "add_one_idf": True} for name, span in analysers]
        config = {"base_vect_configs": parts, "threads": 1}
        model = pecos.utils.featurization.text.vectorizers.Tfidf.train(_padded(texts), config)
        folder.mkdir(parents=True)
        model.save(str(folder))
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> "TextFeatures":
        """Read what `fit` wrote; check the folder first where it may be damaged (`artefact.check`)."""
        return cls(_pecos().utils.featurization.text.vectorizers.Tfidf.load(str(folder)))

    def transform(self, texts: Sequence[str], *, threads: int = 1) -> sparse.csr_matrix:
        """One float32 row per text; a text without a known n-gram is a row of zeros."""
        matrix: sparse.csr_matrix = self._model.predict(_padded(texts), threads=threads)
        matrix.sort_indices()
        if not matrix.shape[1]:  # PECOS cannot train on no column at all
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
    """Cluster the labels by their positive instances (PIFA), train a classifier per node, save for use.

    Same input and seed give the same bytes, whatever `threads` is. `max_iter` bounds the passes of the solver
    over a node's instances.
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
    draft = folder / "draft"
    with _files_left_open():
        model.save(str(draft))
        pecos.xmc.xlinear.model.XLinearModel.compile_mmap_model(str(draft), str(folder))
    shutil.rmtree(draft)
    for weights in sorted(folder.rglob("W.mmap_store")):
        _blank_pointers(weights)


_HEADER = 64
_BLOCK = np.dtype(
    [("begin", "<u4"), ("end", "<u4"), ("rows", "<u4"), ("bias", "<u4"), ("pointers", "<u8", 2)]
)


def _blank_pointers(path: Path) -> None:
    """Zero the two heap addresses that PECOS writes for each block of columns, and sets anew when it loads.

    They are the only bytes that differ between two runs. A file of another layout is left alone.
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
    """A trained model, memory-mapped."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @classmethod
    def load(cls, folder: Path) -> "XLinear":
        """Read what `train` wrote; check the folder first where it may be damaged (`artefact.check`)."""
        model = _pecos().xmc.xlinear.model.XLinearModel
        with _files_left_open():
            return cls(model.load(str(folder), is_predict_only=True))

    @property
    def labels(self) -> int:
        """How many labels the model knows."""
        return int(self._model.nr_labels)

    @property
    def width(self) -> int:
        """How many features a row has."""
        return int(self._model.model.nr_features)

    def predict(
        self, features: sparse.csr_matrix, k: int, *, beam: int = 10, threads: int = 1
    ) -> sparse.csr_matrix:
        """At most k scored labels for each row, in (0, 1]. A row does not depend on the rows beside it."""
        if features.shape[1] != self.width:
            raise WorkspaceError(
                f"The model has {self.width} features, its input {features.shape[1]}: not trained together."
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
