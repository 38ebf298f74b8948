"""How well propensities are estimated where they are known, how often the intervals cover, and at which cost.

    python benchmarks/propensity.py errors                  # every method, by rank: about 25 minutes
    python benchmarks/propensity.py coverage                # 1,000 repeats in each position-based world
    python benchmarks/propensity.py scale --rows 10000000   # time and memory, from a file

The pages are those of `wayword.simulation.result_pages`: 1,000 queries with 15 documents, ten of them shown, ten weeks;
the order is the engine's score with noise, anew in each week and each search.

The Cramér–Rao bound is that of independent clicks with probability p_k γ, where γ of every stratum is unknown: the
inverse of

    I_pp − I_pγ I_γγ⁻¹ I_γp,    with the entries Σ n p γ / (1 − p γ) for log p and log γ.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from wayword.errors import LogError
from wayword.propensity import impressions_file
from wayword.propensity.estimate import METHODS, Options, estimate
from wayword.propensity.strata import Impressions
from wayword.simulation.result_pages import Clicks, Pages, draw

Floats = NDArray[np.float64]
RANKS = np.arange(1.0, 11.0)
LAWS = {
    "alpha 0.5": RANKS**-0.5,
    "alpha 1": RANKS**-1.0,
    "alpha 2": RANKS**-2.0,
    "step at 5": np.where(RANKS < 5, RANKS**-0.5, 0.3 * RANKS**-0.5),
}
OTHERS: dict[str, Clicks] = {"cascade": "cascade", "trust bias": "trust"}


def true_p(pages: Pages, p: Floats, clicks: Clicks) -> Floats:
    """What is estimated: how often each rank is looked at, or how much relevance adds there, relative to rank 1."""
    if clicks == "cascade":
        passed = np.cumprod(1 - pages.relevance, axis=1) / (1 - pages.relevance)
        p = p * passed.mean(axis=0)
    if clicks == "trust":
        p = p * (0.95 - 0.3 / RANKS)
    return np.asarray(p / p[0])


def bound(data: Impressions, pages: Pages, p: Floats) -> Floats:
    """The Cramér–Rao bound of the standard error of log p at each rank."""
    strata = data.strata
    gamma = np.empty(len(strata.shown))
    gamma[data.rows.cell] = pages.relevance.ravel()
    rate = p[strata.rank] * gamma
    weight = strata.shown * rate / (1 - rate)
    matrix = csr_array((weight, strata.rank, strata.cells.offsets), shape=(len(strata.cells), len(p)))
    of_gamma = diags_array(1 / strata.by_stratum(weight))
    information = np.diag(strata.by_rank(weight)) - (matrix.T @ of_gamma @ matrix).toarray()
    return np.r_[0.0, np.sqrt(np.diag(np.linalg.inv(information[1:, 1:])))]


def errors(searches: int, repeats: int) -> None:
    """Print the relative root mean square error of p by method and rank."""
    worlds: list[tuple[str, Floats, Clicks]] = [(name, p, "positions") for name, p in LAWS.items()]
    worlds += [(name, LAWS["alpha 1"], clicks) for name, clicks in OTHERS.items()]
    print("| world | method | " + " | ".join(f"{k:.0f}" for k in RANKS[1:]) + " | all |")
    print("|---" * (len(RANKS) + 2) + "|")
    for world, p, clicks in worlds:
        options: dict[str, Options] = {method: Options(method) for method in METHODS}
        if clicks == "trust":
            options["em, trust bias"] = Options("em", trust_bias=True)
        missed: dict[str, list[Floats]] = {}
        for repeat in range(repeats):
            pages = draw(np.random.default_rng([repeat, 1]), p, searches=searches, clicks=clicks)
            data, truth = pages.impressions(), true_p(pages, p, clicks)
            for name, option in options.items():
                missed.setdefault(name, []).append(estimate(data, option, intervals=False).p / truth - 1)
            if clicks == "positions":
                missed.setdefault("Cramér–Rao bound", []).append(bound(data, pages, p))
        for name, each in missed.items():
            by_rank = np.sqrt(np.mean(np.square(each), axis=0))
            row = [*by_rank[1:], np.sqrt(np.mean(by_rank[1:] ** 2))]
            print(f"| {world} | {name} | " + " | ".join(f"{value:.1%}" for value in row) + " |", flush=True)


def coverage(searches: int, repeats: int, clicks: Clicks) -> None:
    """Print how often the 95 % intervals of p[2], …, p[10] cover, and the error relative to the Cramér–Rao bound."""
    print("| world | " + " | ".join(f"{k:.0f}" for k in RANKS[1:]) + " | all | RMSE / bound | RMSE |")
    print("|---" * (len(RANKS) + 3) + "|")
    for world, p in LAWS.items():
        covered, missed, least = [], [], []
        for repeat in range(repeats):
            pages = draw(np.random.default_rng([repeat, 2]), p, searches=searches, clicks=clicks)
            data = pages.impressions()
            found = estimate(data, Options())
            covered.append((found.low <= p) & (p <= found.high))
            missed.append(np.log(found.p / p))
            if repeat < 5:
                least.append(bound(data, pages, p))
        share = np.mean(covered, axis=0)[1:]
        error = np.sqrt(np.mean(np.square(missed), axis=0))[1:]
        ratio = error / np.mean(least, axis=0)[1:]
        row = " | ".join(f"{value:.1%}" for value in (*share, share.mean()))
        print(
            f"| {world} | {row} | {ratio.min():.2f} to {ratio.max():.2f} | {error.max():.1%} at most |",
            flush=True,
        )


def scale(rows: int) -> None:
    """Print time and memory of every step from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "impressions.parquet"
        pages = draw(np.random.default_rng(0), LAWS["alpha 1"], searches=rows // len(RANKS))
        pq.write_table(pages.table(), path)
        del pages
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"| {rows:,} rows | seconds | of the processors |\n|---|---|---|")

        def timed(name: str, step: Callable[[], object]) -> object:
            started, used = time.monotonic(), time.process_time()
            result = step()
            print(
                f"| {name} | {time.monotonic() - started:.1f} | {time.process_time() - used:.1f} |",
                flush=True,
            )
            return result

        data = timed("read and count", lambda: impressions_file.read(path)[0])
        assert isinstance(data, Impressions)
        for method in METHODS:
            timed(f"{method}, without intervals", partial(estimate, data, Options(method), intervals=False))
        timed("likelihood, with intervals", lambda: estimate(data, Options()))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"\nPeak memory {after / 2**20:.1f} GiB; {before / 2**20:.1f} GiB when the file was written.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("errors", "coverage", "scale"))
    parser.add_argument("--searches", type=int, default=200_000)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--clicks", choices=("positions", "one look"), default="positions")
    options = parser.parse_args()
    if options.what == "errors":
        errors(options.searches, options.repeats or 5)
    elif options.what == "coverage":
        coverage(options.searches, options.repeats or 1000, options.clicks)
    else:
        scale(options.rows)


if __name__ == "__main__":
    try:
        main()
    except LogError as problem:
        sys.exit(str(problem))
