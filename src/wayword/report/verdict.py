"""Report of the verdict: is the served policy better for people than most popular completion, and how sure is that?"""

from pathlib import Path
from typing import Any

from rich.console import Console

from wayword.evaluation import verdict
from wayword.request import ANY
from wayword.store.workspace import Workspace


def verdict_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> dict[str, Any]:
    """The verdict of a workspace in a mode; see `evaluation.verdict.Verdict`."""
    workspace = Workspace.of(workspace)
    with workspace.reading():
        return dict(verdict.read(workspace.folder("estimates"))[mode])


def print_verdict(found: dict[str, Any], console: Console) -> None:
    """Print the sentence, then a line for each assumption under which it would be another."""
    console.print(found["sentence"], style="bold", highlight=False)
    for flip in found["flips"]:
        console.print(f"  {flip['sentence']}", highlight=False)
