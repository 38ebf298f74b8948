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

from wayword.errors import LogError
from wayword.paper.experiments import stage_of, steps
from wayword.paper.experiments.context import PART, part_of
from wayword.paper.pecos_documents import pecos
from wayword.paper.plan import paper_stages
from wayword.paper.presets import Preset
from wayword.paper.stages import STEPS
from wayword.plan import Inputs, learning_stages
from wayword.progress import Progress
from wayword.rankings.document_ranker import RANKERS
from wayword.simulation.simulate import CLICKS, RANKINGS, write_world
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
        for name, step in {**STEPS, **steps(chosen)}.items():
            planned[name] = step.stage(chosen, reporter)
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
        build.stage(name, replace(stage, make=_timed(stage.make)))
    return build.folders[name]


def _timed(make: Make) -> Make:
    """The same, with its seconds and the peak memory of the process in the report."""

    def timed(new: Path, at: Folders) -> Report:
        started = time.monotonic()
        report = make(new, at)
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return {**report, "seconds": time.monotonic() - started, "peak_bytes": peak}

    return timed


def _worlds(chosen: Preset, reporter: Progress) -> dict[str, Stage]:
    """The log without and with the column; the world is opened once for both, because its document ranker takes longer
    than the searches."""

    @cache
    def opened() -> Any:
        return open_world(
            chosen.world, ranker=chosen.document_ranker, labels=chosen.labels, rankers=DOCUMENT_RANKERS
        )

    def make(new: Path, _: Folders, right: float | None) -> Report:
        size: dict[str, Any] = {"clicks": chosen.clicks, "seed": chosen.seed}
        write_world(opened(), out=new, clicks_only=True, part=right, progress=reporter, **size)
        return {}

    inputs = {"world": chosen.world, "clicks": chosen.clicks, "seed": chosen.seed, "labels": chosen.labels}
    files = _files_of(chosen.world)
    hashes = {file.path.name: file.digest for file in files}
    inputs |= {"ranker": chosen.document_ranker, "files": hashes}
    rights = {"world": None, f"{PART}world": chosen.part_right}
    return {
        n: Stage({**inputs, "part": of}, partial(make, right=of), files=files) for n, of in rights.items()
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
    inputs = Inputs.at(world / CLICKS, world / RANKINGS)
    stages = {
        **learning_stages(chosen.settings, inputs, reporter),
        **paper_stages(chosen.settings, False, reporter),
    }

    def of_part(make: Make) -> Make:
        return lambda new, at: make(new, part_of(at))

    return {
        prefix + name: replace(
            stage,
            make=of_part(stage.make) if prefix else stage.make,
            after=tuple(prefix + earlier for earlier in stage.after),
        )
        for name, stage in stages.items()
    }
