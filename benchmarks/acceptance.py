"""How often the 95 % intervals of the acceptance parameters cover the truth, where the model is right.

    python benchmarks/acceptance.py --repeats 400 --lists 100000            # a truth for each repeat: half an hour
    python benchmarks/acceptance.py --repeats 400 --lists 100000 --fixed    # one truth

Draws lists shown and taken from the model itself with known parameters, with P(q̄ | x) given, fits, and counts. By
default the parameters of each repeat are drawn from the prior of the fit, each from its normal distribution: intervals
that use a prior promise to cover on average over truths from it. For one truth (`--fixed`) they cover more often if it
is at the centre of the prior, and less often if it is far away, the more so the less the lists say.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "completion"))

from made_lists import TEXTS, TRUTH, Drawing, made_searches, made_universe, values_of

from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_data import assemble
from wayword.completion.acceptance_fit import Estimate, fit, model_of, precision, starting_point

PILOT = 3000
"""Lists drawn to find out how many a typing session has."""


def drawn_truth(rng: np.random.Generator) -> Acceptance:
    """Draw a model from the prior."""
    start, weight = starting_point(), precision()
    return model_of(start + rng.normal(size=len(start)) / np.sqrt(weight))


def coverage(repeats: int, lists: int, seed: int, *, fixed: bool) -> None:
    """Print for each parameter the truth, the error, the half-width and how often the interval covers."""
    universe, searches = made_universe(), made_searches(len(TEXTS))
    everybody = Drawing(universe, searches, TRUTH)
    true: list[list[float]] = []
    found: list[list[Estimate]] = []
    shown, seconds, failed = 0, 0.0, 0
    for repeat in range(repeats):
        truth = TRUTH if fixed else drawn_truth(np.random.default_rng([seed, repeat]))
        people = everybody.by(truth)
        pilot = people.draw(PILOT, seed + repeat)
        per_session = len(pilot) / pilot.sessions
        drawn = people.draw(lists, seed + repeat, per_session=per_session)
        data = assemble(drawn, universe, searches)
        started = time.monotonic()
        fitted = fit(data)
        seconds += time.monotonic() - started
        failed += not fitted.converged
        true.append(values_of(truth))
        found.append(fitted.estimates())
        shown += len(data)
        if sys.stderr.isatty():
            print(f"\r{repeat + 1} of {repeats}", end="", file=sys.stderr)
    print_table(np.array(true), found)
    print(f"\n{repeats} repeats, {shown / repeats:,.0f} lists each, {seconds / repeats:.2f} s per fit")
    if failed:
        print(f"{failed} fits did not converge")


def print_table(true: np.ndarray, found: list[list[Estimate]]) -> None:
    """Print a row for each parameter, from repeats × parameters."""
    low, high, value = (
        np.array([[getattr(e, name) for e in one] for one in found]) for name in ("low", "high", "value")
    )
    covers = ((low <= true) & (true <= high)).mean(axis=0)
    heads = ("parameter", "mean truth", "mean error", "root mean square", "mean half-width", "covered")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for i, estimate in enumerate(found[0]):
        error, width = (value - true)[:, i], (high - low)[:, i].mean() / 2
        cells = f"{true[:, i].mean():.3f} | {error.mean():+.4f} | {np.sqrt((error**2).mean()):.4f}"
        print(f"| {estimate.name} | {cells} | {width:.4f} | {covers[i]:.1%} |")
    chance = 1.96 * np.sqrt(0.95 * 0.05 / len(true))
    print(f"\nmean coverage {covers.mean():.1%}; a single one varies by ±{chance:.1%} by chance")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fixed", action="store_true", help="one truth instead of draws from the prior")
    options = parser.parse_args()
    coverage(options.repeats, options.lists, options.seed, fixed=options.fixed)
