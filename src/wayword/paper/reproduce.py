"""`wayword reproduce`: the experiments in order, each kept in the workspace, and the report of those asked for.

workspace/debian-300000-seed-0/         the log, the rankers and the results of each experiment, as artefacts
workspace/debian-300000-seed-1/ …       with `seeds`, the same experiments on other logs
"""

import difflib
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from wayword import __version__
from wayword.errors import WaywordError
from wayword.paper.experiments import EXPERIMENTS, stage_of, statistics
from wayword.paper.experiments.paper_numbers import ORDERS, gaps, spread_over_seeds
from wayword.paper.figures import require_drawing
from wayword.paper.plan import choose_retriever
from wayword.paper.presets import Preset, preset
from wayword.paper.results import Results, verdict
from wayword.paper.run import run_experiments
from wayword.progress import Progress
from wayword.report.exhibits import Column, Section, Table
from wayword.simulation.worlds import check_name
from wayword.store.artefact import read_object, report_of
from wayword.store.stage import threads

LIBRARIES = "duckdb libpecos matplotlib numpy pyarrow scikit-learn scipy tantivy xgboost"


def reproduce(
    world: str = "debian",
    *,
    out: Path | str,
    workspace: Path | str | None = None,
    only: Sequence[str] = (),
    clicks: int | None = None,
    seed: int = 0,
    seeds: int = 1,
    quick: bool = False,
    reporter: Progress | None = None,
) -> Path:
    """Run the paper's experiments on a world and write the report into the folder `out`; returns its HTML file.

    Results in the workspace (by default `out/workspace`) are used again. `only` names the experiments wanted,
    `seeds` repeats the core ones on other logs.
    """
    check_name(world)
    if Path(out).exists() and not Path(out).is_dir():
        raise WaywordError(f"{out} is a file; expected a folder for the report. Give another.")
    require_drawing()
    tell = reporter or Progress()
    chosen = preset(world, clicks=clicks, quick=quick)
    choose_retriever(chosen.settings, tell)
    wanted = _wanted(only, chosen)
    place = Path(workspace) if workspace is not None else Path(out) / "workspace"
    again = [name for name in ORDERS if name in wanted] or ["core"]
    numbers = range(seed, seed + seeds)
    others = [run_experiments(place, chosen.seeded(n), again, tell, prune=False) for n in numbers[1:]]
    read = {of for name in wanted for of in EXPERIMENTS[name].reads or (name,)} | set(again if others else ())
    measured = [name for name in EXPERIMENTS if name in read]
    folders = run_experiments(place, chosen.seeded(seed), measured, tell, prune=not only)
    results = {name: folders[stage_of(name)] for name in measured}
    sections = [_lead(results, chosen)]
    for name, row in ((name, EXPERIMENTS[name]) for name in wanted):
        found = row.section(*(results[of] for of in row.reads or (name,)))
        sections.append(replace(found, values={**found.values, "preset": chosen}))
    if others:
        spread = [{name: of[stage_of(name)] for name in again} for of in (folders, *others)]
        sections.append(spread_over_seeds(spread, numbers))
    sections += [_times(folders), _origin(chosen, seed, seeds, only)]
    from wayword.paper.report import page

    title = f"Utility-aware query autocompletion: the paper's experiments on {chosen.world}"
    page.write(Path(out), title, sections)
    return Path(out) / "report.html"


def _wanted(only: Sequence[str], chosen: Preset) -> list[str]:
    """The experiments to run, in the order of the report."""
    for name in only:
        if name not in EXPERIMENTS:
            close = difflib.get_close_matches(name.lower(), EXPERIMENTS, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            raise WaywordError(f"Unknown experiment {name!r}.{guess} Known: {', '.join(EXPERIMENTS)}.")
        if name == "context" and chosen.part_right is None:
            raise WaywordError(
                f"The world {chosen.world!r} has no parts, which the experiment {name!r} needs."
            )
    possible = [name for name in EXPERIMENTS if name != "context" or chosen.part_right is not None]
    return [name for name in possible if name in only or not only]


def _lead(folders: Mapping[str, Path], chosen: Preset) -> Section:
    """The summary: the numbers of the core experiment, and how many of the paper's orders are there."""
    results = {name: Results.load(folders[name]) for name in ORDERS if name in folders}
    values = {
        "preset": chosen,
        "core": results.get("core"),
        "labels": results.get("label-ablations"),
        "verdicts": [verdict(gap) for at in gaps(results).values() for gap in at.values() if gap],
        "searches": min((of.searches for of in results.values()), default=None),
        "invisible": None,
    }
    if "statistics" in folders:
        values["invisible"] = read_object(folders["statistics"] / statistics.FILE)["world"]["invisible_share"]
    return Section("lead", (), values)


def _times(folders: Mapping[str, Path]) -> Section:
    """The seconds and the peak memory of every stage when it was made."""
    times = [(name, report_of(folder)) for name, folder in folders.items()]
    times.sort(key=lambda item: -item[1]["seconds"])
    total = sum(time["seconds"] for _, time in times)
    rows = [(name, time["seconds"], time["seconds"] / max(total, 1e-9)) for name, time in times]
    values = {"minutes": total / 60, "gigabytes": max(time["peak_bytes"] for _, time in times) / 1e9}
    header = ("Step", Column("Seconds", 1), Column("Share", 2))
    return Section("time", (Table("time_steps", header, rows),), values)


def _origin(chosen: Preset, seed: int, seeds: int, only: Sequence[str]) -> Section:
    """The command, the settings that are not the defaults, and the versions."""
    versions = {"wayword": __version__, "Python": sys.version.split()[0], "cores": str(threads())}
    installed = {found.name: found.version for found in metadata.distributions()}
    versions |= {name: installed.get(name, "not installed") for name in LIBRARIES.split()}
    table = Table("origin", ("What", "Version"), tuple(versions.items()))
    return Section("origin", (table,), {"preset": chosen, "command": command(chosen, seed, seeds, only)})


def command(chosen: Preset, seed: int, seeds: int, only: Sequence[str]) -> str:
    """The command that makes the report again.

    >>> command(preset("packages", quick=True), 0, 3, ["core"])
    'wayword reproduce --world packages --clicks 6000 --quick --only core --seed 0 --seeds 3 --out DIR'
    """
    words = ["wayword", "reproduce", "--world", chosen.world, "--clicks", str(chosen.clicks)]
    words += ["--quick"] * chosen.quick
    words += [word for name in only for word in ("--only", name)]
    return shlex.join([*words, "--seed", str(seed), "--seeds", str(seeds), "--out", "DIR"])
