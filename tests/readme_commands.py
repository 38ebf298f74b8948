"""The commands of a README, run as a person would: one shell, in the order of the page, beside what it says they print.

A block ```console has commands after `$ ` (with `\\` at the end they go on in the next line) and what they print. `…`
stands for anything, also several lines. The port 8080 is made a free one.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from servers import free_port

LONGEST = 500


@dataclass(frozen=True)
class Step:
    """A command and what the page says that it prints."""

    command: str
    said: str


@dataclass(frozen=True)
class Done:
    """A command, what it should print, what it printed, and its exit code."""

    step: Step
    printed: str
    code: int

    @property
    def as_said(self) -> bool:
        """Whether it printed what the page says."""
        pattern = ".*?".join(map(re.escape, _lines(self.step.said).split("…")))
        return bool(re.fullmatch(pattern, _lines(self.printed), flags=re.DOTALL))


def steps(page: str) -> list[Step]:
    """The commands of a page."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            match = re.match(r"((?:.*\\\n)*.*)\n?", part)
            assert match
            found.append(Step(match[1], part[match.end() :]))
    return found


def run(page: Path, folder: Path, **environment: str) -> list[Done]:
    """Run the commands of a page in a folder, until one fails."""
    programs = folder / ".bin"
    programs.mkdir()
    for name, arguments in (("wayword", "-m wayword "), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        (programs / name).chmod(0o755)
    text = page.read_text(encoding="utf-8").replace("8080", str(free_port()))
    planned = steps(text)
    script = "".join(
        f"{{ {step.command}\n}} >{programs}/{n}.out 2>&1; code=$?; echo $code >{programs}/{n}.code\n"
        f"[ $code = 0 ] || exit $code\n"
        for n, step in enumerate(planned)
    )
    _bash(script, folder, {**environment, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100"})
    return [
        Done(step, (programs / f"{n}.out").read_text(encoding="utf-8"), int(code.read_text()))
        for n, step in enumerate(planned)
        if (code := programs / f"{n}.code").exists()
    ]


def _bash(script: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Run a script, and end all that it has started."""
    with subprocess.Popen(
        ["bash", "-u"],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as shell:
        try:
            shell.communicate(script.encode(), timeout=LONGEST)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)


def _lines(text: str) -> str:
    """A text without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
