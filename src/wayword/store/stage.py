"""A stage: one step of a run, which reads the artefacts of earlier stages and writes one."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.store.input_file import InputFile

# XGBoost's threads spin while they wait for each other, and on shared cores take the time that the others need:
# to sleep instead halved the ranker's stage. OpenMP reads this when its first library is loaded, which is later.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

Report = dict[str, Any]
Folders = Mapping[str, Path]
"""Earlier stages by name, with the folders that hold their artefacts."""


@dataclass(frozen=True)
class Stage:
    """One artefact: what it depends on beside the artefacts of the stages it comes `after`, and how it is made from
    their folders. It gets no others."""

    inputs: dict[str, Any]
    make: Callable[[Path, Folders], Report]
    after: tuple[str, ...] = ()
    files: tuple[InputFile, ...] = ()
    """The input files that `make` reads; their hashes are among `inputs`."""

    def fill(self, new: Path, at: Folders) -> Report:
        """Make the artefact; raise `LogError` if a file is not what was hashed."""
        try:
            return self.make(new, at)
        finally:
            for file in self.files:
                file.check()


def threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
