"""What the paper's 38 orders depend on: one factor at a time, each level on five logs, with intervals over the logs.

    python benchmarks/orders.py                         # every factor
    python benchmarks/orders.py clicks --out orders     # one

Every level differs in one thing from the same start: 450 titles of `debian`, BM25, 300,000 clicks, and half of what
people want missing from the page of their own query. The result of a log is kept as a file of `--out`; a second call
does only what is missing. There are 30 candidates, 50 trees and 30,000 samples for the retriever (instead of 50, 200
and 400,000), so that all of it takes about an hour on one core.
"""

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from scipy.stats import t as student

from wayword.paper.experiments import stage_of, statistics
from wayword.paper.experiments.paper_numbers import ORDERS, gaps
from wayword.paper.presets import Preset, preset
from wayword.paper.results import NAMES, Results, verdict
from wayword.paper.run import run_experiments
from wayword.progress import Progress
from wayword.report.exhibits import Interval, shown
from wayword.store.artefact import read_object

WORDS = {"as in the paper": "holds", "not told apart": "not told", "the other way round": "reversed"}
FACTS = {"density": "searches per context", "invisible": "invisible share", "random": "Utility@1 of Random"}
Measured = Mapping[str, float]


@dataclass(frozen=True)
class Level:
    """The setting of one column."""

    clicks: int = 300_000
    titles: int = 450
    ranker: str = "bm25"
    invisible: float = 0.5
    depth: int = 100

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.ranker}-{self.titles}-{self.clicks}-{self.invisible}" + f"-{self.depth}" * (
            self.depth < 100
        )

    def preset(self, seed: int) -> Preset:
        """The reproduction that measures it on one log."""
        chosen = preset({"bm25": "debian", "pecos": "debian-pecos"}[self.ranker], clicks=self.clicks)
        of = chosen.settings
        settings = structs.replace(
            of,
            ranker=structs.replace(of.ranker, rounds=50),
            retriever=structs.replace(of.retriever, max_instances=30_000, candidates=30),
            evaluation=structs.replace(of.evaluation, bootstrap=100),
        )
        world: dict[str, Any] = {"titles": self.titles, "invisible": self.invisible, "depth": self.depth}
        return replace(chosen, **world, settings=settings).seeded(seed)


FACTORS: dict[str, dict[str, Level]] = {
    "clicks": {f"{n:,} clicks": Level(clicks=n) for n in (10_000, 60_000, 300_000)},
    "invisible": {f"{s:.0%} invisible": Level(invisible=s) for s in (0.0, 0.5, 0.75)},
    "ranker": {
        f"{name}, {share:.0%} invisible": Level(ranker=name.lower(), invisible=share)
        for share in (0.5, 0.0)
        for name in ("BM25", "PECOS")
    },
    "depth": {f"{n} results": Level(depth=n) for n in (100, 10)},
    "titles": {f"{n:,} titles": Level(titles=n) for n in (450, 1_500)},
}


def measured(level: Level, seed: int, out: Path) -> Measured:
    """The difference of each order on one log, and what the log is like; from its file, if there is one."""
    file = out / f"{level.name}-{seed}.json"
    if not file.exists():
        workspace = out / "workspace" / f"{level.name}-{seed}"
        found = measure(level.preset(seed), workspace)
        file.with_suffix(".part").write_text(json.dumps(found, indent=1), encoding="utf-8")
        file.with_suffix(".part").replace(file)
        shutil.rmtree(workspace)
    return {key: float(value) for key, value in read_object(file).items()}


def measure(chosen: Preset, workspace: Path) -> Measured:
    """Run the experiments with an order."""
    names = [*ORDERS, "statistics"]
    folders = run_experiments(workspace, chosen, names, Progress(), prune=False)
    results = {name: Results.load(folders[stage_of(name)]) for name in ORDERS}
    facts = read_object(folders["statistics"] / statistics.FILE)
    ranker = next(row for row in facts["splits"] if row["split"] == "ranker")
    orders = {
        f"{NAMES[better]} > {NAMES[worse]} @{k}": gap.value
        for (better, worse), at in gaps(results).items()
        for k, gap in at.items()
        if gap
    }
    return {
        "density": ranker["samples"] / ranker["contexts"],
        "invisible": facts["world"]["invisible_share"],
        "random": results["core"].estimates["random", 1].value,
        **orders,
    }


def over_logs(values: Sequence[float]) -> Interval:
    """The mean with its 95% interval by Student's t.

    >>> over_logs([1.0, 2.0, 3.0])  # 2 ± 4.303 · 1 / √3
    Interval(value=2.0, low=-0.4841377118, high=4.4841377118)
    """
    half = student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    mean = float(np.mean(values))
    return Interval(mean, round(mean - float(half), 10), round(mean + float(half), 10))


def table(levels: Mapping[str, Sequence[Measured]]) -> str:
    """Markdown: a row for each order and a column for each level, which has the measurements of its logs."""
    found = {
        name: {key: over_logs([log[key] for log in logs]) for key in logs[0]} for name, logs in levels.items()
    }
    keys = [key for key in next(iter(found.values())) if key not in FACTS]
    lines = [f"| the paper found | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    lines += [
        f"| {title} | {' | '.join(f'{of[key].value:.2f}' for of in found.values())} |"
        for key, title in FACTS.items()
    ]
    counts = [[WORDS[verdict(of[key])] for key in keys] for of in found.values()]
    lines += [f"| {word} | {' | '.join(str(at.count(word)) for at in counts)} |" for word in WORDS.values()]
    for key in keys:
        cells = (f"{WORDS[verdict(of[key])]} {shown(of[key], sign=True)}" for of in found.values())
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("factors", nargs="*", help=f"of {', '.join(FACTORS)} (all)")
    parser.add_argument("--out", type=Path, default=Path("orders"))
    parser.add_argument("--logs", type=int, default=5)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for factor in options.factors or FACTORS:
        levels = FACTORS[factor].items()
        logs = {
            name: [measured(of, seed, options.out) for seed in range(options.logs)] for name, of in levels
        }
        print(f"### {factor}\n\n{table(logs)}\n", flush=True)


if __name__ == "__main__":
    main()
