"""Prints every policy on every world: Utility@1/5/10 and its share of the ceiling, with intervals over seeds.

python benchmarks/quality.py                             # all worlds, 5 seeds: hours, mostly the paper's retriever
python benchmarks/quality.py --worlds packages           # one world
python benchmarks/quality.py --without-paper             # leave out PECOS and its ranker: minutes per run
python benchmarks/quality.py --keep results              # what is done is kept, and not done again

A world is a name and a number of clicks; titles of documents are not given. The interval is a t-interval over logs
drawn with different seeds. Typing mistakes: one per prefix, uniform over insert, delete, replace and swap and over
positions.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import t as student

import wayword
from wayword.completion.policies import DEFAULT
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation.estimates import at_cutoffs
from wayword.evaluation.outcomes import outcomes
from wayword.evaluation.stage import contexts_tested, load_policies
from wayword.logs import contexts_stage as contexts
from wayword.text import normalise
from wayword.utility import CUTOFFS, DEEPEST, Measure

WORLDS = {
    "debian": ("debian", 300_000),
    "debian-tenth": ("debian", 30_000),
    "packages": ("packages", 60_000),
    "packages-small": ("packages", 5_000),
    "debian-pecos": ("debian-pecos", 300_000),
}
ORDER = ("random", "popular", "retriever", "unbiased", "wayword", "expected", "ceiling")
PAPER = ("random", "retriever", "unbiased")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--without-paper", action="store_true")
    parser.add_argument("--keep", type=Path, default=None, help="Folder for the results of finished runs.")
    arguments = parser.parse_args()
    for world in arguments.worlds:
        found = [
            _kept(world, seed, arguments.without_paper, arguments.keep) for seed in range(arguments.seeds)
        ]
        print(f"\n`{world}`: {WORLDS[world][1]:,} clicks, {len(found)} seeds", flush=True)
        for mode in ("any", "prefix"):
            print(f"\nmode `{mode}`\n\n{_table(found, mode, arguments.without_paper)}", flush=True)
        kept = [run["typo"]["kept"] for run in found]
        print(f"\nwith one typing mistake, `{DEFAULT}` keeps of its utility: ", end="")
        print(", ".join(f"@{k} {_interval([run[str(k)] for run in kept])}" for k in CUTOFFS), flush=True)


def _kept(world: str, seed: int, without_paper: bool, keep: Path | None) -> dict[str, Any]:
    place = keep / f"{world}-{seed}{'-without-paper' * without_paper}.json" if keep else None
    if place and place.exists():
        return dict(json.loads(place.read_text(encoding="utf-8")))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(world, seed, without_paper, Path(folder))
    found["seconds"] = time.monotonic() - started
    if place:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def measure(world: str, seed: int, without_paper: bool, folder: Path) -> dict[str, Any]:
    """Simulate, run, and read the estimates of both modes."""
    name, clicks = WORLDS[world]
    data = wayword.simulate(
        name, clicks=clicks, seed=seed, out=folder / "data", clicks_only=name != "packages"
    )
    settings: dict[str, Any] = {} if name == "packages" else {"prefixes": {"start": "first-word"}}
    workspace = wayword.run(
        data / "clicks.parquet",
        data / "rankings.parquet",
        truth=data / "truth.parquet",
        out=folder / "workspace",
        config=wayword.Config.parse(settings),
        paper=not without_paper,
    )
    estimates = {
        mode: [
            [row["policy"], row["metric"], row["k"], row["value"]]
            for row in wayword.estimates(workspace, None, mode=mode)
        ]
        for mode in ("any", "prefix")
    }
    return {"estimates": estimates, "typo": typos(workspace, seed)}


def typos(workspace: wayword.Workspace, seed: int) -> dict[str, Any]:
    """Utility of the default policy on the test prefixes as they are and with one mistake each."""
    at = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
    policy = load_policies(at, workspace.config, threads=2)[DEFAULT]
    with tempfile.TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
        fetch_numbered(engine, at)
        numbers = contexts_tested(engine)
        typed = contexts.load(at["contexts"]).take(pa.array(numbers))
        rng = np.random.default_rng(seed)
        alphabet = sorted({c for text in typed["prefix"].to_pylist() for c in text})
        wrong = [normalise(mistyped(text, rng, alphabet)) for text in typed["prefix"].to_pylist()]
        lists = {
            "right": policy.complete(typed, DEEPEST),
            "wrong": policy.complete(
                typed.set_column(typed.column_names.index("prefix"), "prefix", pa.array(wrong)), DEEPEST
            ),
        }
        outcome = outcomes(engine, lists, None, numbers, Measure("unbiased"))
    value = at_cutoffs(outcome)
    share = {str(k): float(value["wrong", k].sum() / value["right", k].sum()) for k in CUTOFFS}
    return {"kept": share}


def mistyped(text: str, rng: np.random.Generator, alphabet: list[str]) -> str:
    """One mistake: insert, delete, replace or swap, at any position."""
    kind, at = int(rng.integers(4)), int(rng.integers(len(text)))
    letter = alphabet[int(rng.integers(len(alphabet)))]
    if kind == 0:
        return text[:at] + letter + text[at:]
    if kind == 1:
        return text[:at] + text[at + 1 :]
    if kind == 2:
        return text[:at] + letter + text[at + 1 :]
    at = min(at, max(len(text) - 2, 0))
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def _table(found: list[dict[str, Any]], mode: str, without_paper: bool) -> str:
    runs = [{(p, m, k): v for p, m, k, v in run["estimates"][mode]} for run in found]
    lines = [
        "| policy | " + " | ".join(f"Utility@{k}" for k in CUTOFFS) + " | of the ceiling | list utility@10 |"
    ]
    lines.append("|---" * (len(CUTOFFS) + 3) + "|")
    for policy in ORDER:
        if (policy, "utility", 1) not in runs[0] or (without_paper and policy in PAPER):
            continue
        values = [_interval([run[policy, "utility", k] for run in runs]) for k in CUTOFFS]
        shares = [
            statistics.mean(run[policy, "utility", k] / run["ceiling", "utility", k] for run in runs)
            for k in CUTOFFS
        ]
        together = _interval([run[policy, "list_utility", 10] for run in runs])
        lines.append(
            f"| {policy} | {' | '.join(values)} | {' / '.join(f'{s:.3f}' for s in shares)} | {together} |"
        )
    return "\n".join(lines)


def _interval(values: list[float]) -> str:
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    half = float(student.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
