"""How often the 95 % intervals of the acceptance parameters cover the truth, where the model is right.

    python benchmarks/acceptance.py --repeats 400 --lists 100000

Draws lists shown and taken from the model itself with known parameters, with P(q̄ | x) given, fits, and counts.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "completion"))

from made_lists import TEXTS, TRUTH, Drawing, made_searches, made_universe

from wayword.completion.acceptance_data import assemble
from wayword.completion.acceptance_fit import Estimate, fit


def coverage(repeats: int, lists: int, seed: int) -> None:
    """Print for each parameter the truth, the mean estimate, its mean half-width and how often the interval covers."""
    universe, searches = made_universe(), made_searches(len(TEXTS))
    people = Drawing(universe, searches, TRUTH)
    true = np.array([*TRUTH.coefficients, *TRUTH.reading])
    found: list[list[Estimate]] = []
    shown, seconds = 0, 0.0
    for repeat in range(repeats):
        data = assemble(people.draw(lists, seed + repeat), universe, searches)
        started = time.monotonic()
        found.append(fit(data).estimates())
        seconds += time.monotonic() - started
        shown += len(data)
        if sys.stderr.isatty():
            print(f"\r{repeat + 1} of {repeats}", end="", file=sys.stderr)
    low, high, value = (
        np.array([[getattr(e, name) for e in one] for one in found]) for name in ("low", "high", "value")
    )
    covers = ((low <= true) & (true <= high)).mean(axis=0)
    print(f"{repeats} repeats, {shown / repeats:,.0f} lists each, {seconds / repeats:.2f} s per fit\n")
    print("| parameter | truth | mean estimate | mean half-width | covered |\n|---|---|---|---|---|")
    for i, estimate in enumerate(found[0]):
        width = (high - low)[:, i].mean() / 2
        print(
            f"| {estimate.name} | {true[i]:.3f} | {value[:, i].mean():.3f} | {width:.3f} | {covers[i]:.1%} |"
        )
    error = 1.96 * np.sqrt(0.95 * 0.05 / repeats)
    print(f"\nmean coverage {covers.mean():.1%}; a single one varies by ±{error:.1%} by chance")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    coverage(options.repeats, options.lists, options.seed)
