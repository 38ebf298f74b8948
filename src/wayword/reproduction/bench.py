"""The bench on which one seed's experiments stand: its log, the same log with an extra column, and their stages."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wayword.config import Config
from wayword.errors import LogError, WaywordError
from wayword.logs import stage as log_stage
from wayword.pipeline import choose_retriever
from wayword.pipeline import stages as pipeline_stages
from wayword.progress import Progress
from wayword.reproduction import shared, theory
from wayword.reproduction.experiments import context, core, encoders, guardrails, sizes
from wayword.reproduction.experiments import statistics as data
from wayword.reproduction.experiments.ablations import LABEL_ABLATIONS, PROPENSITY_ABLATIONS, Ablation
from wayword.reproduction.laboratory import Laboratory
from wayword.reproduction.presets import Preset
from wayword.simulation.simulate import CLICKS, RANKINGS, TRUTH, write_world
from wayword.simulation.world import World
from wayword.simulation.worlds import XMC, open_world
from wayword.store.artefact import digest_of_file
from wayword.store.stage import Folders, Stage
from wayword.store.stage import Report as Told
from wayword.store.workspace import building, digest

THEORY = "theory"
FORMAT = 2
"""Of what experiments write. A new number makes them anew; what they share is kept."""


def stage_of(experiment: str) -> str:
    """The stage that holds the results of an experiment.

    >>> stage_of("label-ablations")
    'label_ablations'
    """
    return experiment.replace("-", "_")


@dataclass
class Bench:
    """Stages of the plain log and of the one with the column `part`; results are made when they are asked for."""

    chosen: Preset
    seed: int
    plain: Laboratory
    tell: Progress
    stack: ExitStack
    folder: Path
    """Of the log with the column; opened only if it is needed."""
    part: Laboratory | None = None
    world: World | None = None
    results: dict[str, Path] = field(default_factory=dict)
    """The experiments so far and where their results are."""

    @classmethod
    def open(cls, stack: ExitStack, place: Path, chosen: Preset, seed: int, tell: Progress) -> "Bench":
        """Open the folders of a seed for as long as `stack` lasts."""
        name = f"{chosen.name}-seed-{seed}"
        plain = Laboratory(stack.enter_context(building(place / name, tell)))
        bench = cls(chosen.seeded(seed), seed, plain, tell, stack, place / f"{name}-part")
        plain.plan({"world": bench._world(None), **bench._theory_stage()})
        return bench

    def result(self, experiment: str) -> Path:
        """Where the results of an experiment are, made now unless they are there."""
        if experiment not in self.results:
            try:
                self._prepare(experiment)
                self.results[experiment] = self.plain.path(stage_of(experiment))
            except LogError as problem:
                raise LogError(f"The experiment {experiment!r}: {problem}") from problem
        return self.results[experiment]

    def expected(self, experiments: Iterable[str]) -> list[str]:
        """The stages that the results of these experiments will need, each once; the log is made for it."""
        wanted = set(experiments)
        if wanted == {THEORY}:
            return [THEORY]
        self._plan()
        plain = [stage_of(name) for name in wanted - {context.NAME}]
        if context.NAME not in wanted:
            return self.plain.missing(*plain)
        return [*self.plain.missing(*plain, *context.AFTER), *context.needed(), context.NAME]

    def _prepare(self, experiment: str) -> None:
        if experiment != THEORY:
            self._plan()
        if experiment == context.NAME:
            self._plan_context()

    def _plan(self) -> None:
        """The stages of the plain log, once the log is there."""
        if "log" not in self.plain.planned:
            self.plain.plan(self._log_stages(self.plain))
            world = self.plain.path("world")
            at, config = self.plain.build.folders, self.chosen.settings
            name = self.plain.build.stages["world"]
            self.plain.plan(shared.stages(config, at, world / TRUTH, name, self.tell))
            self.plain.plan(self._encoder_stages())
            self.plain.plan(self._experiment_stages())

    def _plan_context(self) -> None:
        """The stages of the log with the column, and the experiment that compares both logs."""
        self.plain.need(*context.AFTER)
        if self.chosen.part_right is None:
            raise WaywordError(
                f"The world {self.chosen.world!r} has no parts for the experiment {context.NAME!r}."
            )
        part = self._open_part()
        config, at, plain = self.chosen.settings, part.build.folders, self.plain.build
        used = {name: plain.stages[name] for name in context.AFTER}
        part.plan(self._log_stages(part))
        part.plan(context.stages(config, at, plain.folders, digest(used), self.tell))
        part.need(*context.needed())
        inputs = {"format": FORMAT, "part": dict(part.build.stages), **config.of_stage("evaluation")}
        self.plain.plan(
            {
                context.NAME: Stage(
                    inputs,
                    lambda new: context.write(new, plain.folders, at, config, self.tell),
                    after=context.AFTER,
                )
            }
        )

    def _open_part(self) -> Laboratory:
        if self.part is None:
            self.part = Laboratory(self.stack.enter_context(building(self.folder, self.tell)))
            self.part.plan({"world": self._world(self.chosen.part_right)})
        return self.part

    def _theory_stage(self) -> dict[str, Stage]:
        """It has a world of its own."""
        inputs = {"seed": self.seed, "effort": self.chosen.effort, "format": FORMAT}
        return {THEORY: Stage(inputs, lambda new: _theory(new, self.seed, self.chosen.effort))}

    def _world(self, right: float | None) -> Stage:
        chosen, seed = self.chosen, self.seed
        inputs = {
            "world": chosen.world,
            "clicks": chosen.clicks,
            "seed": seed,
            "ranker": chosen.document_ranker,
            "labels": chosen.labels,
            "part": right,
            **_files_of(chosen.world),
        }

        def make(new: Path) -> Told:
            write_world(
                self._opened(),
                clicks=chosen.clicks,
                seed=seed,
                out=new,
                clicks_only=True,
                part=right,
                progress=self.tell,
            )
            return {}

        return Stage(inputs, make)

    def _opened(self) -> World:
        """The world, opened once for both logs: what its ranker answers takes longer than the searches."""
        if self.world is None:
            chosen = self.chosen
            self.world = open_world(chosen.world, ranker=chosen.document_ranker, labels=chosen.labels)
        return self.world

    def _log_stages(self, of: Laboratory) -> dict[str, Stage]:
        """From the log to the retriever; the world's artefact stands for the hashes of its files."""
        world = of.path("world")
        log, rankings = world / CLICKS, world / RANKINGS
        name = of.build.stages["world"]
        planned = pipeline_stages(
            self.chosen.settings,
            log_stage.Source(log, judged=False, lenient=False),
            at=of.build.folders,
            model=choose_retriever(self.chosen.settings, self.tell),
            exported=rankings,
            files={log: name, rankings: name, None: None},
            reporter=self.tell,
        )
        return {stage: planned[stage] for stage in ("log", "rankings", "contexts", "propensity", "retriever")}

    def _encoder_stages(self) -> dict[str, Stage]:
        config, at, most = self.chosen.settings, self.plain.build.folders, self.chosen.encoded

        def fitted(name: str, model: str) -> Stage:
            return Stage(
                {"encoder": name, "contexts": most, **config.of_stage("features", "ranker")},
                lambda new: encoders.write_encoder(new, at, config, name, model, most, self.tell),
                after=encoders.STAGE_AFTER,
            )

        return {f"encoder_{name}": fitted(name, model) for name, model in encoders.models().items()}

    def _experiment_stages(self) -> dict[str, Stage]:
        config, at, most = self.chosen.settings, self.plain.build.folders, self.chosen.encoded
        compared = config.of_stage("evaluation")
        names = tuple(encoders.models())
        found = {
            data.NAME: Stage({}, lambda new: data.write(new, at, config), data.AFTER),
            core.NAME: Stage(compared, lambda new: core.write(new, at, config), core.AFTER),
            sizes.NAME: Stage(compared, lambda new: sizes.write(new, at, config), sizes.AFTER),
            guardrails.NAME: Stage({}, lambda new: guardrails.write(new, at, self.tell), guardrails.AFTER),
            encoders.NAME: Stage(
                {"contexts": most, **compared},
                lambda new: encoders.write(new, at, config, most, names),
                after=(*encoders.AFTER, *(f"encoder_{name}" for name in names)),
            ),
        }
        for ablation in (LABEL_ABLATIONS, PROPENSITY_ABLATIONS):
            found[ablation.name] = Stage(compared, _writer(ablation, at, config), ablation.after)
        return {
            stage_of(name): replace(stage, inputs={**stage.inputs, "format": FORMAT})
            for name, stage in found.items()
        }

    def artefacts(self) -> Mapping[str, str]:
        """Every artefact that was used, by what it is."""
        of_part = self.part.build.stages if self.part else {}
        with_part = {f"{name} (with part)": artefact for name, artefact in of_part.items()}
        return {**self.plain.build.stages, **with_part}

    def finish(self, *, prune: bool) -> None:
        """Write the manifests; `prune` removes what no experiment of this preset used."""
        for of in (self.plain, self.part):
            if of is not None and of.build.stages:
                of.build.finish(self.chosen.settings.saved(), prune=prune)


def _files_of(world: str) -> dict[str, Any]:
    """The hashes of the files that a world is read from, if it is read from files."""
    folder = Path(world.removeprefix(XMC))
    found = sorted(folder.glob("*.json*")) if world.startswith(XMC) and folder.is_dir() else []
    return {"files": {path.name: digest_of_file(path) for path in found}} if found else {}


def _writer(ablation: Ablation, at: Folders, config: Config) -> Callable[[Path], Told]:
    return lambda new: ablation.write(new, at, config)


def _theory(out: Path, seed: int, effort: float) -> Told:
    theory.save(theory.theory(seed, effort=effort), out)
    return {"effort": effort}
