"""The summary of an import for people, and the next command."""

from rich.console import Console
from rich.table import Table

from wayword.logs.importers.columns import quoted
from wayword.logs.importers.companions import DOCUMENTS
from wayword.logs.importers.job import CLICKS, IMPRESSIONS, RANKINGS
from wayword.logs.importers.read import ImportedLog

PARTS = ("read", "kept", "dropped")


def print_log(log: ImportedLog, console: Console) -> None:
    """Print how the files were understood, and what was read, kept and dropped, with reasons."""
    found = "recognised" if log.recognised else "given"
    console.print(f"Format: {log.format} ({found})", highlight=False, markup=False)
    for line in log.outcome.taken_as:
        console.print(line[0].upper() + line[1:], highlight=False, markup=False, soft_wrap=True)
    table = Table()
    table.add_column("")
    table.add_column("")
    table.add_column("number", justify="right")
    for part in PARTS:
        counts = [(name, n) for name, n in getattr(log.outcome, part).items() if n]
        for place, (name, number) in enumerate(counts):
            table.add_row("" if place else part, name, f"{number:,}", end_section=place == len(counts) - 1)
    console.print(table)


def next_command(log: ImportedLog) -> str:
    """The command that trains on the log."""

    def path(name: str) -> str:
        return quoted_path(str(log.folder / name))

    known = {file.name for file in log.files}
    rankings = (
        path(RANKINGS) if RANKINGS in known else "RANKINGS (what your engine answers; these files do not say)"
    )
    shown = f" --impressions {path(IMPRESSIONS)}" if IMPRESSIONS in known else ""
    titles = f" --documents {path(DOCUMENTS)}" if DOCUMENTS in known else ""
    asked = "" if titles and RANKINGS not in known else f" --rankings {rankings}"
    return f"wayword run --log {path(CLICKS)}{asked}{titles}{shown} --out workspace"


def quoted_path(path: str) -> str:
    """A path as an argument of a command."""
    return path if all(character.isalnum() or character in "/._-" for character in path) else quoted(path)
