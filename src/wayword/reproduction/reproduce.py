"""`wayword reproduce`: the experiments in order, each kept in the workspace, and the report of all that was asked for.

workspace/debian-300000-seed-0/         the log, the rankers and the results of each experiment, as artefacts
workspace/debian-300000-seed-0-part/    the same log with the extra column of the context experiment
workspace/debian-300000-seed-1/ …       with `seeds`, the same experiments on other logs
workspace/times.json                    how long each artefact took
"""

import difflib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from wayword.errors import WaywordError
from wayword.pipeline import choose_retriever
from wayword.progress import SILENT, Progress
from wayword.reproduction.bench import THEORY, Bench
from wayword.reproduction.experiments import context, core, encoders, guardrails, origin, paper, sizes, times
from wayword.reproduction.experiments import seeds as spread
from wayword.reproduction.experiments import statistics as data
from wayword.reproduction.experiments.ablations import LABEL_ABLATIONS, PROPENSITY_ABLATIONS
from wayword.reproduction.experiments.lead import lead
from wayword.reproduction.experiments.theory import section as theory_section
from wayword.reproduction.figures.sheet import require_drawing
from wayword.reproduction.presets import Preset, preset
from wayword.reproduction.report import page
from wayword.reproduction.report.exhibits import Report, Section
from wayword.reproduction.schedule import TIMES, Schedule
from wayword.reproduction.theory import load as load_theory
from wayword.simulation.worlds import check_name

EXPERIMENTS = (
    core.NAME,
    paper.NAME,
    LABEL_ABLATIONS.name,
    PROPENSITY_ABLATIONS.name,
    sizes.NAME,
    context.NAME,
    encoders.NAME,
    guardrails.NAME,
    THEORY,
    data.NAME,
)
"""In the order of the report; what `--only` knows."""
SECTIONS: dict[str, Callable[[Path], Section]] = {
    core.NAME: core.section,
    LABEL_ABLATIONS.name: LABEL_ABLATIONS.section,
    PROPENSITY_ABLATIONS.name: PROPENSITY_ABLATIONS.section,
    sizes.NAME: sizes.section,
    encoders.NAME: encoders.section,
    guardrails.NAME: guardrails.section,
    THEORY: lambda folder: theory_section(load_theory(folder)),
    data.NAME: data.section,
}


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

    What is in the workspace (by default `out/workspace`) is not done again. `only` names the experiments wanted,
    `seeds` repeats the core ones on other logs.
    """
    check_name(world)
    if Path(out).exists() and not Path(out).is_dir():
        raise WaywordError(f"{out} is a file; expected a folder for the report. Give another.")
    require_drawing()
    chosen = preset(world, clicks=clicks, quick=quick)
    choose_retriever(chosen.settings, reporter or SILENT)
    wanted = _wanted(only, chosen)
    place = Path(workspace) if workspace is not None else Path(out) / "workspace"
    place.mkdir(parents=True, exist_ok=True)
    schedule = Schedule(reporter or SILENT, place / TIMES)
    again = [name for name in spread.REPEATED if name in wanted] or [core.NAME]
    repeated = [_repeat(place, chosen, number, again, schedule) for number in range(seed + 1, seed + seeds)]
    with ExitStack() as stack:
        bench = Bench.open(stack, place, chosen, seed, schedule)
        schedule.expect(bench.expected(_measured(wanted)))
        sections = [_section(name, bench) for name in wanted]
        if repeated:
            first = {name: bench.result(name) for name in again}
            sections.append(spread.section([first, *repeated], range(seed, seed + seeds)))
        sections.append(times.section(bench.artefacts(), schedule.artefacts))
        sections.append(origin.section(chosen, seed, seeds, only))
        bench.finish(prune=not only)
        report = Report(_title(chosen), lead(bench.results, chosen), tuple(sections))
    page.write(report, Path(out))
    return Path(out) / "report.html"


def _wanted(only: Sequence[str], chosen: Preset) -> list[str]:
    """The experiments to run, in the order of the report."""
    possible = [name for name in EXPERIMENTS if name != context.NAME or chosen.part_right is not None]
    for name in only:
        if name not in EXPERIMENTS:
            close = difflib.get_close_matches(name.lower(), EXPERIMENTS, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            raise WaywordError(f"Unknown experiment {name!r}.{guess} Known: {', '.join(EXPERIMENTS)}.")
        if name not in possible:
            raise WaywordError(
                f"The world {chosen.world!r} has no parts, which the experiment {name!r} needs."
            )
    return [name for name in possible if name in only or not only]


def _measured(wanted: Sequence[str]) -> set[str]:
    """The experiments that have results of their own: those beside the paper's numbers are of others."""
    others = {*paper.ORDERS, data.NAME} if paper.NAME in wanted else set()
    return {*wanted, *others} - {paper.NAME}


def _repeat(
    place: Path, chosen: Preset, seed: int, experiments: Sequence[str], schedule: Schedule
) -> dict[str, Path]:
    """The experiments that show the spread, on the log of another seed."""
    with ExitStack() as stack:
        bench = Bench.open(stack, place, chosen, seed, schedule)
        schedule.expect(bench.expected(experiments))
        found = {name: bench.result(name) for name in experiments}
        bench.finish(prune=False)
    return found


def _section(name: str, bench: Bench) -> Section:
    if name == paper.NAME:
        results = {of: bench.result(of) for of in paper.ORDERS}
        return paper.section(results, bench.result(data.NAME), bench.chosen.world)
    folder = bench.result(name)
    if name == context.NAME:
        return context.section(folder, bench.chosen.part_right or 0.0)
    return SECTIONS[name](folder)


def _title(chosen: Preset) -> str:
    return f"Utility-aware query autocompletion: the paper's experiments on {chosen.world}"
