"""What the experiments share: stages by name, each made when it is first needed and kept in the workspace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wayword.store.stage import Stage
from wayword.store.workspace import Build


@dataclass
class Laboratory:
    """A build, and all the stages that could be made in it."""

    build: Build
    planned: dict[str, Stage] = field(default_factory=dict)

    def plan(self, stages: Mapping[str, Stage]) -> None:
        """Know how to make more stages."""
        self.planned.update(stages)

    def need(self, *names: str) -> None:
        """Make the named stages and whatever they come after, unless they are there."""
        for name in names:
            if name in self.build.stages:
                continue
            stage = self.planned[name]
            self.need(*stage.after)
            self.build.stage(name, stage.inputs, stage.make, after=stage.after)

    def path(self, name: str) -> Path:
        """Where the files of a stage are, made now if need be."""
        self.need(name)
        return self.build.folders[name]

    def missing(self, *names: str) -> list[str]:
        """The stages that `need` would have to look at, in the order in which it would."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            for earlier in self.planned[name].after if name in self.planned else ():
                visit(earlier)
            if name not in self.build.stages:
                found[name] = None

        for name in names:
            visit(name)
        return list(found)
