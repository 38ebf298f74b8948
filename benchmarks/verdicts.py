"""A wrong propensity never changes a verdict unseen: verdicts under an assumed α against those under the true one.

In the world of packages p ∝ 1/rank. Logs are evaluated as a team would that assumes α = 0.5, 1 or 2: training and
evaluation use it. The same lists are then evaluated once more with the true p, as a stage of its own. Where the verdict
is another one, a line of the first must have said so.

    python benchmarks/verdicts.py --seeds 10 --clicks 5000
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.config import Config
from wayword.engines import tables
from wayword.evaluation import stage, verdict
from wayword.index.versions import ROOT, current
from wayword.pipeline import load_policies, run
from wayword.plan import evaluation_measure, texts_of
from wayword.progress import SILENT
from wayword.propensity.power_law import power_law
from wayword.report.verdict import verdict_of
from wayword.request import MODES
from wayword.serving.served_policy import ServedPolicy
from wayword.simulation.simulate import simulate
from wayword.store.workspace import Workspace

TRUE = 1.0
ASSUMED = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Compared:
    """The verdict that is printed, and `truth`, the one with the true propensities."""

    alpha: float
    mode: str
    printed: Mapping[str, Any]
    truth: Mapping[str, Any]

    @property
    def changed(self) -> bool:
        """Whether the wrong propensity gives another verdict."""
        return bool(self.printed["better"] != self.truth["better"])

    @property
    def announced(self) -> bool:
        """Whether a line says that it is another one under the true propensity."""
        lines = {flip["assumption"]: flip["better"] for flip in self.printed["flips"]}
        return lines.get(f"α = {TRUE:g}") == self.truth["better"]


def compare(data: Path, folder: Path, alpha: float, settings: Mapping[str, Any]) -> Iterator[Compared]:
    """Run on a log with an assumed α, and evaluate the lists that are served with the true propensities."""
    config = Config.parse({**settings, "propensity": {"alpha": alpha}})
    workspace = run(
        data / "clicks.parquet", data / "rankings.parquet", out=folder / "workspace", config=config
    )
    truth = verdicts_with(workspace, config, folder)
    for mode in MODES:
        yield Compared(alpha, mode, verdict_of(workspace, mode=mode), truth[mode])


def verdicts_with(workspace: Workspace, config: Config, folder: Path) -> Mapping[str, Any]:
    """The verdicts by mode on what a workspace serves, with the true propensities."""
    at = {name: workspace.folder(name) for name in workspace.manifest["stages"]}
    ranks = tables.read(at["propensity"], "propensity")["rank"]
    p = pa.array(power_law(ranks.to_numpy(), alpha=TRUE))
    out = folder / "evaluated"
    for path in (out, folder / "propensity"):
        path.mkdir()
    true = pa.table({"rank": ranks, "p": p, "low": p, "high": p})
    pq.write_table(true, folder / "propensity" / "propensity.parquet")
    stage.write(
        out,
        {**at, "propensity": folder / "propensity"},
        config,
        evaluation_measure(config, judged=False),
        truth=None,
        load=load_policies,
        served=lambda: ServedPolicy.open(current(workspace.path / ROOT), texts_of(at)),
        progress=SILENT,
    )
    return verdict.read(out)


def main() -> None:
    """Print a row for each assumed α."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="number of logs")
    parser.add_argument("--clicks", type=int, nargs="+", default=[2000, 5000], help="clicks of a log")
    given = parser.parse_args()
    settings = {"evaluation": {"compare": ["popular"], "bootstrap": 500}}
    found: list[Compared] = []
    for clicks in given.clicks:
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as temporary:
                data = simulate("packages", clicks=clicks, depth=10, seed=seed, out=Path(temporary) / "data")
                for alpha in ASSUMED:
                    folder = Path(temporary) / f"{alpha:g}"
                    folder.mkdir()
                    found += compare(data, folder, alpha, settings)
            print(f"{clicks:,} clicks, seed {seed}", flush=True)
    print("\n| assumed α (true: 1) | verdicts | another under the true p | of these announced |")
    print("|---|---|---|---|")
    for alpha in ASSUMED:
        rows = [one for one in found if one.alpha == alpha]
        changed = [one for one in rows if one.changed]
        print(f"| {alpha:g} | {len(rows)} | {len(changed)} | {sum(one.announced for one in changed)} |")


if __name__ == "__main__":
    main()
