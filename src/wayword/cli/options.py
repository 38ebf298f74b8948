"""Arguments, options and consoles that commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wayword.cli import shell
from wayword.errors import WaywordError
from wayword.request import MODES, check_choice

if TYPE_CHECKING:
    from rich.console import Console


def _check_mode(mode: str) -> str:
    check_choice("mode", mode, MODES)
    return mode


Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same result.")]
Mode = Annotated[
    str,
    typer.Option(
        callback=_check_mode,
        help="any: every useful query; prefix: only queries that continue what was typed.",
    ),
]
WorkspacePath = Annotated[
    Path, typer.Argument(metavar="WORKSPACE", help="The folder that `wayword run` wrote.")
]


def context_pair(text: str) -> tuple[str, str]:
    """Split NAME=VALUE, the value of the option `--context`.

    >>> context_pair("device=phone")
    ('device', 'phone')
    """
    name, equals, value = shell.decode_argument(text).partition("=")
    if not equals:
        raise WaywordError(f"Found --context {text}; expected NAME=VALUE.")
    return name, value


def stdout() -> "Console":
    """Return a console for results."""
    from rich.console import Console

    return Console()


def stderr() -> "Console":
    """Return a console for progress."""
    from rich.console import Console

    return Console(stderr=True)
