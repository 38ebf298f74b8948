"""A control variate for test searches whose prefix was cut from the query.

The cut x of a test search is drawn at random from the admissible cuts of its query, whatever is clicked. So for any
function g of the cut, the query and the clicks, the difference

    f_s = g(x_s, s) − Σ_x π_s(x) g(x, s)

has mean 0 exactly: the policy's value at x_s − f_s has the same mean, and less variance where g predicts it. Here

    g(x, s) = û(s, q̄_s) · β · z(x, q̄_s),    z: how well x tells q̄ (`FEATURES`)

with β by least squares on the linearised residuals e_s = Σ_j v_j û(s, q_j) − Utility · û(s, q̄_s), cross-fitted: the β
of a search does not depend on it. There is a feature per `SEARCHES` searches at most, so that where nothing is
predicted the noise of β adds about 1 % to the variance; c in [0, 1] shrinks f to 0 where nothing is predicted at all. c
and the features are the same for all policies, so f of a difference is the difference of theirs:

    Utility@k = Σ_s (Σ_j v_j û(s, q_j) − c f_s) / Σ_s û(s, q̄_s)

Without clicks û is 0, and so is f: searches without a click change neither sum. A recorded prefix has f = 0, too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.popular import LAST
from wayword.config import PrefixConfig
from wayword.engines import Engine
from wayword.logs.prefixes import table_of_cuts
from wayword.utility import Floats

FEATURES = ("share of searches", "log queries", "its root", "share typed")
"""Of the training searches that begin with x, the share that issues q̄; how many queries begin with x; the root of the
first; how much of q̄ is typed."""
SEARCHES = 100
FOLDS = 5
ROUNDING = 1e-20
"""Sums of squared residuals that are smaller relative to the largest are rounding errors."""


def deviations(engine: Engine, config: PrefixConfig) -> Floats:
    """The features of each test search's prefix, minus their mean over the cuts: searches × features.

    Rows are those of `test_searches` (see `outcomes`); needs `numbered_searches`, `queries` and `contexts`, too. A
    search with a recorded prefix has zeros.
    """
    found = engine.arrow(
        """SELECT s.text, x.prefix, s.prefix IS NOT NULL AS recorded FROM test_searches AS t
           JOIN numbered_searches AS s ON s.search = t.search JOIN contexts AS x ON x.context = t.context
           ORDER BY t.place"""
    )
    texts, prefixes = found["text"].to_pylist(), found["prefix"].to_pylist()
    recorded = found["recorded"].to_numpy(zero_copy_only=False)
    distinct = sorted({text for text, fixed in zip(texts, recorded.tolist(), strict=True) if not fixed})
    cuts = table_of_cuts(distinct, config)
    if not cuts.num_rows:
        return np.zeros((len(texts), len(FEATURES)))
    pairs = zip(cuts["text"].to_pylist(), cuts["prefix"].to_pylist(), strict=True)
    row = {pair: n for n, pair in enumerate(pairs)}
    of_search = np.array([row.get(pair, -1) for pair in zip(texts, prefixes, strict=True)])
    known = (of_search >= 0) & ~recorded
    return np.where(known[:, None], of_cuts(engine, cuts)[of_search], 0.0)


def of_cuts(engine: Engine, cuts: pa.Table) -> Floats:
    """The features of each cut (`table_of_cuts`), minus their mean over the cuts of its text."""
    features = _features(engine, cuts)
    starts = np.flatnonzero(cuts["cut"].to_numpy() == 0)
    counts = np.diff(np.r_[starts, len(features)])
    return features - np.repeat(np.add.reduceat(features, starts) / counts[:, None], counts, axis=0)


def _features(engine: Engine, cuts: pa.Table) -> Floats:
    """`FEATURES` of each cut of each text."""
    rows = engine.arrow(
        """SELECT q.text, coalesce(s.n, 0) AS n FROM queries AS q LEFT JOIN (
             SELECT query, count(*) AS n FROM numbered_searches WHERE split <> 'test' GROUP BY query
           ) AS s ON s.query = q.query ORDER BY q.query"""
    )
    known = rows["text"].to_pylist()
    searches = rows["n"].to_numpy() + 0.5
    text, prefix = cuts["text"].to_pylist(), cuts["prefix"].to_pylist()
    low, high = _begins(known, prefix)
    total = np.r_[0.0, np.cumsum(searches)]
    number = {name: n for n, name in enumerate(known)}
    own = searches[[number[name] for name in text]]
    share = own / np.maximum(total[high] - total[low], own)
    typed = np.array([len(x) / len(q) for x, q in zip(prefix, text, strict=True)])
    return np.column_stack([share, np.log1p(high - low), np.sqrt(share), typed])


def _begins(texts: Sequence[str], prefixes: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The span of sorted texts that begin with each prefix."""
    of = {x: (bisect_left(texts, x), bisect_right(texts, x + LAST)) for x in set(prefixes)}
    spans = np.array([of[x] for x in prefixes], np.int64)
    return spans[:, 0], spans[:, 1]


def adjusted(values: Floats, own: Floats, centred: Floats) -> Floats:
    """The values (searches × columns) minus the control variate, whose mean is 0.

    `centred` has the deviations of features (searches × features). Ratios Σ values / Σ own keep their expectation.
    """
    total, most = own.sum(), np.count_nonzero(own) // SEARCHES
    predictors = centred[:, :most] * own[:, None]
    predictors = predictors[:, predictors.any(axis=0)]
    if not total > 0 or not predictors.size:
        return values
    predictors = predictors / np.sqrt((predictors**2).mean(axis=0))
    residual = values - values.sum(axis=0) / total * own[:, None]
    variate = _cross_fitted(residual, predictors)
    return values - variate * _coefficient(residual, variate)


def _cross_fitted(residual: Floats, predictors: Floats) -> Floats:
    """Least squares, the coefficients of a search from the other folds; a ridge of one search per feature."""
    fold = np.arange(len(residual)) % FOLDS
    ridge = np.eye(predictors.shape[1])
    variate = np.zeros_like(residual)
    for held_out in range(FOLDS):
        fitted, rest = fold == held_out, fold != held_out
        gram = predictors[rest].T @ predictors[rest] + ridge
        variate[fitted] = predictors[fitted] @ np.linalg.solve(gram, predictors[rest].T @ residual[rest])
    return variate


def _coefficient(residual: Floats, variate: Floats) -> float:
    """The least-squares coefficient, in [0, 1], of all columns together, each in units of its residuals, times 1 − 1/t²
    where t is its ratio to its error: 0 where it is not larger than its error."""
    units = (residual**2).sum(axis=0)
    used = units > ROUNDING * units.max(initial=0.0)  # those of logged queries are 0, but for rounding
    product = (residual * variate)[:, used] / units[used]
    square = float(((variate**2)[:, used] / units[used]).sum())
    covariance, noise = float(product.sum()), float((product.sum(axis=1) ** 2).sum())
    if not covariance > 0 or covariance**2 <= noise:
        return 0.0
    return min(covariance / square, 1.0) * (1 - noise / covariance**2)
