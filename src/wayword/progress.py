"""Progress of a long run. The library reports nothing; the command line draws bars."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich import progress as bars
from rich.console import Console
from rich.text import Text


class Progress:
    """Receives the progress of stages and ignores it. Subclasses show or record it."""

    def begin(self, stage: str) -> None:
        """Report that a stage starts."""

    def advance(self, done: int, total: int) -> None:
        """Report that the current stage is `done` of `total` through."""

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:
        """Report that a stage is done, or that its earlier artefact was `reused`."""

    def note(self, text: str) -> None:
        """Report something a person should know."""

    def finish(self, made: list[str]) -> None:
        """Report the end of the run, with the stages that were not reused."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Begin a stage and end it with the block."""
        self.begin(name)
        started = time.monotonic()
        yield
        self.end(name, reused=False, seconds=time.monotonic() - started)


SILENT = Progress()


class _State(bars.ProgressColumn):
    """The time left, if it is known."""

    def render(self, task: bars.Task) -> Text:
        """See `ProgressColumn.render`."""
        left = task.time_remaining
        return Text("" if left is None else f"{timedelta(seconds=int(left))} left")


class Bars(Progress):
    """One bar per stage with the time left on a terminal; elsewhere (a file, a pipe) one line per stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = bars.Progress(
            bars.SpinnerColumn(finished_text="✓"),
            bars.TextColumn("{task.description}"),
            bars.BarColumn(bar_width=24),
            bars.TimeElapsedColumn(),
            _State(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: bars.TaskID | None = None

    @contextmanager
    def shown(self) -> Iterator["Bars"]:
        """Draw the bars while the block runs."""
        with self._bars:
            yield self

    def begin(self, stage: str) -> None:
        """See `Progress.begin`."""
        self._task = self._bars.add_task(stage, total=None)

    def advance(self, done: int, total: int) -> None:
        """See `Progress.advance`."""
        if self._task is not None:
            self._bars.update(self._task, total=total, completed=done)

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:
        """See `Progress.end`."""
        state = "unchanged" if reused else f"{seconds:.1f} s"
        if self._task is not None:
            self._bars.remove_task(self._task)  # its line is printed above the current bars
            self._task = None
        self._say(f"{'✓ ' if self._console.is_terminal else ''}{stage}: {state}")

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        self._say(f"note: {text}")

    def finish(self, made: list[str]) -> None:
        """See `Progress.finish`."""
        if not made:
            self._say("Nothing has changed since the last run: no work was done.")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
