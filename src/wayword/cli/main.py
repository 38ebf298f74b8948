"""The command line. Results go to stdout, messages to stderr; the exit code is 2 for bad input."""

from typing import Annotated

import typer

from wayword import __version__
from wayword.cli import shell
from wayword.cli.acceptance import acceptance
from wayword.cli.check import check
from wayword.cli.complete import complete
from wayword.cli.evaluate import evaluate
from wayword.cli.import_log import import_log
from wayword.cli.learn import demo, reproduce, run, simulate
from wayword.cli.propensity import propensity
from wayword.cli.rankings import rankings
from wayword.cli.refresh import refresh
from wayword.cli.report import report
from wayword.cli.serve import export, index, serve
from wayword.cli.settings import config
from wayword.cli.ubi import ubi

COMMANDS = (
    simulate,
    check,
    run,
    refresh,
    rankings,
    ubi,
    acceptance,
    evaluate,
    report,
    index,
    export,
    serve,
    complete,
    reproduce,
    demo,
    config,
)
"""In the order of the help."""

app = typer.Typer(
    help="Query autocompletion that knows where each query leads.",
    no_args_is_help=True,
    add_completion=False,  # Typer's completion of shell commands, unrelated to query completion
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)
app.command("import")(import_log)
app.add_typer(propensity, name="propensity")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wayword {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Query autocompletion that knows where each query leads."""


def main() -> None:
    """Run the command line."""
    shell.run(lambda: app(prog_name="wayword"))
