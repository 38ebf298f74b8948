"""The table of experiments, a row each: `measure` fills a folder, `section` reads it for the report."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wayword.paper.experiments import (
    comparisons,
    context,
    encoders,
    guardrails,
    paper_numbers,
    statistics,
    theory,
)
from wayword.paper.stages import STEPS, Step
from wayword.report.exhibits import Section


@dataclass(frozen=True)
class Experiment:
    """A row: the step that measures, and what shows its results. One that measures nothing itself `reads` the results
    of others."""

    step: Step | None
    section: Callable[..., Section]
    reads: tuple[str, ...] = ()


def _comparison(name: str, section: Callable[..., Section]) -> Experiment:
    return Experiment(Step(partial(comparisons.measure, name=name), comparisons.after(name)), section)


EXPERIMENTS: dict[str, Experiment] = {
    "core": _comparison("core", comparisons.core),
    "paper": Experiment(None, paper_numbers.section, (*paper_numbers.ORDERS, "statistics")),
    **{name: _comparison(name, partial(comparisons.ablation, name=name)) for name in comparisons.VARIANTS},
    "training-size": _comparison("training-size", comparisons.training_size),
    "context": Experiment(Step(context.measure, context.AFTER), context.section),
    "encoders": Experiment(Step(encoders.measure, encoders.AFTER), encoders.section),
    "guardrails": Experiment(Step(guardrails.measure, comparisons.after("core")), guardrails.section),
    "theory": Experiment(Step(theory.measure), theory.section),
    "statistics": Experiment(Step(statistics.measure, statistics.AFTER), statistics.section),
}
"""In the order of the report, by their names for `--only`."""


def stage_of(experiment: str) -> str:
    """The stage that holds the results of an experiment."""
    return experiment.replace("-", "_")


_MEASURED = {stage_of(name): row.step for name, row in EXPERIMENTS.items() if row.step is not None}
ALL_STEPS = {**STEPS, **context.STEPS, **_MEASURED}
"""The stages of all experiments, and those that they need."""
