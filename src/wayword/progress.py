"""What a long run tells while it works. The library is silent; the command line draws bars."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text


class Reporter:
    """Says nothing. Subclasses say it to people."""

    def begin(self, stage: str, *, expected: float | None = None) -> None:
        """A stage starts; it is expected to take so many seconds, if anything is known of it."""

    def advance(self, done: int, total: int) -> None:
        """The stage under way is `done` of `total` through."""

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:
        """A stage is done, or its earlier artefact still holds."""

    def record(self, artefact: str, seconds: float) -> None:
        """An artefact of this name was made in so many seconds."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def overall(self, done: float, total: float, seconds_left: float) -> None:
        """Of all that was asked for, so much is done, and so long it will still take."""

    def finish(self, made: list[str]) -> None:
        """The run is over; these stages did any work."""


class _State(ProgressColumn):
    """The time left, as far as anything is known of it."""

    def render(self, task: Task) -> Text:
        """See `ProgressColumn.render`."""
        left = task.fields.get("left") or task.time_remaining
        if left is None and task.fields.get("expected"):
            left = max(task.fields["expected"] - (task.elapsed or 0.0), 0.0)
        return Text("" if left is None else f"{timedelta(seconds=int(left))} left")


class Bars(Reporter):
    """One bar per stage with the time left; where nobody watches (a file, a pipe), one plain line per stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            _State(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._all: TaskID | None = None

    @contextmanager
    def shown(self) -> Iterator["Bars"]:
        """Draw while the block runs."""
        with self._bars:
            yield self

    def begin(self, stage: str, *, expected: float | None = None) -> None:
        """See `Reporter.begin`."""
        self._task = self._bars.add_task(stage, total=None, expected=expected)

    def advance(self, done: int, total: int) -> None:
        """See `Reporter.advance`."""
        self._update(total=total, completed=done)

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:
        """See `Reporter.end`."""
        state = "unchanged" if reused else f"{seconds:.1f} s"
        if self._task is not None:
            self._bars.remove_task(self._task)  # what is done scrolls away above what is under way
            self._task = None
        self._say(f"{'✓ ' if self._console.is_terminal else ''}{stage}: {state}")

    def note(self, text: str) -> None:
        """See `Reporter.note`."""
        self._say(f"note: {text}")

    def overall(self, done: float, total: float, seconds_left: float) -> None:
        """See `Reporter.overall`."""
        if self._all is None:
            self._all = self._bars.add_task("all", total=None, left=None)
        self._bars.update(self._all, total=max(total, done + 1e-6), completed=done, left=seconds_left)

    def finish(self, made: list[str]) -> None:
        """See `Reporter.finish`."""
        if not made:
            self._say("Nothing has changed since the last run: no work was done.")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _update(self, **fields: Any) -> None:
        if self._task is not None:
            self._bars.update(self._task, **fields)


def counted(reporter: Reporter, clicks: int) -> Callable[[str, int], None]:
    """What a simulation tells (what is counted, how many more) as the progress of the stage under way."""
    done = 0

    def tell(what: str, more: int) -> None:
        nonlocal done
        if what == "clicks":
            done += more
            reporter.advance(done, clicks)

    return tell


@contextmanager
def drawn(reporter: Reporter, clicks: int) -> Iterator[Callable[[str, int], None]]:
    """What a simulation tells as a stage that ends with its last click."""
    reporter.begin("simulate")
    started = time.monotonic()
    yield counted(reporter, clicks)
    reporter.end("simulate", reused=False, seconds=time.monotonic() - started)
