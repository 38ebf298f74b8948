"""The table of experiments, a row each: `measure` fills a folder, `section` reads it for the report."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wayword.paper.experiments import comparisons, context, encoders, guardrails, paper_numbers, statistics
from wayword.paper.experiments import theory as theory_checks
from wayword.paper.presets import Preset
from wayword.paper.report.exhibits import Section
from wayword.paper.stages import Step, Task
from wayword.paper.theory.theory import load
from wayword.store.stage import Report


@dataclass(frozen=True)
class Experiment:
    """A row: the stages that an experiment comes after, and its two functions. One that measures nothing itself
    `reads` the results of others."""

    after: tuple[str, ...]
    measure: Callable[[Task], Report] | None
    section: Callable[..., Section]
    reads: tuple[str, ...] = ()


def _comparison(name: str, section: Callable[..., Section]) -> Experiment:
    return Experiment(comparisons.after(name), partial(comparisons.measure, name=name), section)


EXPERIMENTS: dict[str, Experiment] = {
    "core": _comparison("core", comparisons.core),
    "paper": Experiment((), None, paper_numbers.section, (*paper_numbers.ORDERS, "statistics")),
    **{name: _comparison(name, partial(comparisons.ablation, name=name)) for name in comparisons.VARIANTS},
    "training-size": _comparison("training-size", comparisons.training_size),
    "context": Experiment(context.AFTER, context.measure, context.section),
    "encoders": Experiment(encoders.AFTER, encoders.measure, encoders.section),
    "guardrails": Experiment(comparisons.after("core"), guardrails.measure, guardrails.section),
    "theory": Experiment((), theory_checks.measure, lambda folder: theory_checks.section_of(load(folder))),
    "statistics": Experiment(statistics.AFTER, statistics.measure, statistics.section),
}
"""In the order of the report, by their names for `--only`."""


def stage_of(experiment: str) -> str:
    """The stage that holds the results of an experiment."""
    return experiment.replace("-", "_")


def steps(chosen: Preset) -> dict[str, Step]:
    """The stages of all experiments, and those that only one of them needs."""
    inputs = {"contexts": chosen.encoded, "effort": chosen.effort, "seed": chosen.seed}
    measured = {
        stage_of(name): Step(row.measure, row.after, ("evaluation", "ranker"), inputs)
        for name, row in EXPERIMENTS.items()
        if row.measure is not None
    }
    return {**context.STEPS, **measured}
