"""The spread over seeds: the same experiments on other logs of the same world."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from wayword.reproduction.experiments.paper import ORDERS
from wayword.reproduction.report.exhibits import Cell, Column, Section, Table, Text
from wayword.reproduction.telling import Results, named
from wayword.utility import CUTOFFS

NAME = "seeds"
REPEATED = tuple(ORDERS)
"""The experiments that are run for every seed."""


def section(folders: Sequence[dict[str, Path]], seeds: Sequence[int]) -> Section:
    """From the results of every seed, by experiment."""
    found = [{name: Results.load(folder) for name, folder in of_seed.items()} for of_seed in folders]
    listed = f"seeds {seeds[0]} to {seeds[-1]}"
    return Section(
        NAME,
        f"The spread over {len(seeds)} seeds",
        (
            Text(
                f"Each seed draws its own log from the world and trains everything anew ({listed}). The intervals "
                "elsewhere say how far another test set of the same log would move a number; this says how far "
                "another log would."
            ),
            _utilities(found),
            _orders(found),
        ),
    )


def _utilities(found: Sequence[dict[str, Results]]) -> Table:
    columns = (
        Column("Policy"),
        *(
            c
            for k in CUTOFFS
            for c in (Column(f"Mean @{k}"), Column(f"Deviation @{k}"), Column(f"Range @{k}"))
        ),
    )
    policies = {policy: name for name, of in found[0].items() for policy, _ in of.estimates}
    rows: list[tuple[Cell, ...]] = []
    for policy, name in policies.items():
        cells: list[Cell] = [named(policy)]
        for k in CUTOFFS:
            values = [
                of[name].estimates[policy, k].value for of in found if (policy, k) in of[name].estimates
            ]
            cells += _spread(values) if values else [None, None, None]
        rows.append(tuple(cells))
    return Table("seeds", "Utility over seeds", columns, tuple(rows))


def _spread(values: Sequence[float]) -> list[Cell]:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return [float(np.mean(values)), deviation, f"{min(values):.3f} to {max(values):.3f}"]


def _orders(found: Sequence[dict[str, Results]]) -> Table:
    columns = (
        Column("The paper found"),
        *(c for k in CUTOFFS for c in (Column(f"Mean @{k}", sign=True), Column(f"Seeds above 0 @{k}"))),
    )
    rows: list[tuple[Cell, ...]] = []
    for name in found[0]:
        for better, worse in ORDERS[name]:
            cells: list[Cell] = [f"{named(better)} > {named(worse)}"]
            for k in CUTOFFS:
                gaps = [of[name].differences.get((better, worse, k)) for of in found]
                values = [gap.value for gap in gaps if gap]
                cells += (
                    [float(np.mean(values)), f"{sum(v > 0 for v in values)} of {len(values)}"]
                    if values
                    else [None, None]
                )
            rows.append(tuple(cells))
    return Table("seeds_orders", "The paper's orders over seeds", columns, tuple(rows))
