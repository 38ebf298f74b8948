"""The stages of one seed's experiments, on the product's pipeline: the log, the same log with the column of the context
experiment (`part_…`), the rankers, and the results. Each is made when it is first needed and kept in a workspace."""

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from wayword.errors import LogError
from wayword.paper.experiments import ALL_STEPS, stage_of
from wayword.paper.experiments.context import PART, part_of
from wayword.paper.pecos_documents import pecos
from wayword.paper.plan import paper_stages
from wayword.paper.presets import Preset
from wayword.plan import Inputs, learning_stages
from wayword.progress import Progress
from wayword.rankings.document_ranker import RANKERS
from wayword.simulation.simulate import CLICKS, RANKINGS, write_world
from wayword.simulation.visibility import with_invisible_share
from wayword.simulation.world import World
from wayword.simulation.worlds import XMC, open_world
from wayword.store.input_file import InputFile
from wayword.store.stage import Folders, Report, Stage
from wayword.store.workspace import Build, building

DOCUMENT_RANKERS = {**RANKERS, "pecos": pecos}
Make = Callable[[Path, Folders], Report]


def run_experiments(
    place: Path, chosen: Preset, names: Sequence[str], reporter: Progress, *, prune: bool
) -> dict[str, Path]:
    """Make the results of the named experiments unless they are there; returns the folders of their stages.

    `prune` removes the stages that none of them used."""
    with building(place / f"{chosen.name}-seed-{chosen.seed}", reporter) as build:
        planned = _worlds(chosen, reporter)
        planned |= {name: step.stage(chosen, reporter) for name, step in ALL_STEPS.items()}
        if set(names) != {"theory"}:
            planned |= _log_stages(build, planned, "", chosen, reporter)
        if "context" in names:
            planned |= _log_stages(build, planned, PART, chosen, reporter)
        for name in names:
            try:
                _make(build, planned, stage_of(name))
            except LogError as problem:
                raise LogError(f"The experiment {name!r}: {problem}") from problem
        build.finish(chosen.settings.saved(), prune=prune)
    return build.folders


def _make(build: Build, planned: Mapping[str, Stage], name: str) -> Path:
    """Make a stage and those it comes after, unless they are there."""
    if name not in build.stages:
        stage = planned[name]
        for earlier in stage.after:
            _make(build, planned, earlier)
        build.stage(name, replace(stage, make=partial(_timed, stage.make)))
    return build.folders[name]


def _timed(make: Make, new: Path, at: Folders) -> Report:
    """Make an artefact, with the seconds it took and the peak memory of the process in its report."""
    started = time.monotonic()
    report = make(new, at)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {**report, "seconds": time.monotonic() - started, "peak_bytes": peak}


def _worlds(chosen: Preset, reporter: Progress) -> dict[str, Stage]:
    """The log without and with the column; the world is opened once for both, because its document ranker takes longer
    than the searches."""
    drawn = {"clicks": chosen.clicks, "seed": chosen.seed}
    ranked: dict[str, Any] = {"ranker": chosen.document_ranker, "labels": chosen.labels}
    sizes = {"titles": chosen.titles, "depth": chosen.depth}
    ranked |= {name: size for name, size in sizes.items() if size is not None}
    share = {} if chosen.invisible is None else {"invisible": chosen.invisible}
    files = _files_of(chosen.world)

    @cache
    def opened() -> World:
        world = open_world(chosen.world, **ranked, rankers=DOCUMENT_RANKERS)
        if chosen.invisible is None:
            return world
        return with_invisible_share(world, chosen.invisible, np.random.default_rng(0))

    def make(new: Path, _: Folders, part: float | None) -> Report:
        write_world(opened(), out=new, clicks_only=True, part=part, progress=reporter, **drawn)
        return {}

    hashes = {file.path.name: file.digest for file in files}
    inputs = {"world": chosen.world, **drawn, **ranked, **share, "files": hashes}
    parts = {"world": None, f"{PART}world": chosen.part_right}
    return {
        name: Stage({**inputs, "part": part}, partial(make, part=part), files=files)
        for name, part in parts.items()
    }


def _files_of(world: str) -> tuple[InputFile, ...]:
    """The files that a world is read from, if it is read from files."""
    files = sorted(Path(world.removeprefix(XMC)).glob("*.json*")) if world.startswith(XMC) else []
    return tuple(InputFile(path) for path in files)


def _log_stages(
    build: Build, planned: Mapping[str, Stage], prefix: str, chosen: Preset, reporter: Progress
) -> dict[str, Stage]:
    """From the log to the retriever; the world is made for it."""
    world = _make(build, planned, f"{prefix}world")
    stages = learning_stages(chosen.settings, Inputs.at(world / CLICKS, world / RANKINGS), reporter)
    stages |= paper_stages(chosen.settings, False, reporter)
    if not prefix:
        return stages

    def of_part(make: Make, new: Path, at: Folders) -> Report:
        return make(new, part_of(at))

    def renamed(stage: Stage) -> Stage:
        after = tuple(prefix + earlier for earlier in stage.after)
        return replace(stage, make=partial(of_part, stage.make), after=after)

    return {prefix + name: renamed(stage) for name, stage in stages.items()}
