"""The command that completes prefixes."""

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from wayword.cli import shell
from wayword.cli.options import Mode, WorkspacePath, context_pair
from wayword.request import MAX_COMPLETIONS


def complete(
    workspace: WorkspacePath,
    prefix: Annotated[
        str,
        typer.Argument(metavar="PREFIX", help="The typed text; `-` reads one prefix per line from stdin."),
    ],
    k: Annotated[int, typer.Option("-k", min=1, max=MAX_COMPLETIONS, help="How many completions.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a list.")] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="wayword, expected, unbiased, retriever, popular or random. [default: what the index serves]"
        ),
    ] = None,
    mode: Mode = "any",
    context: Annotated[
        list[str] | None, typer.Option(help="A context column: NAME=VALUE. May be repeated.")
    ] = None,
) -> None:
    """Print ranked completions of a typed prefix.

    Example: `wayword complete workspace "video" -k 5`

    Many prefixes, one JSON object per line: `wayword complete workspace - < prefixes.txt`

    Only completions that continue what was typed: `wayword complete workspace "video" --mode prefix`

    A prefix that begins with a dash comes last, after two dashes: `wayword complete workspace -- -v`
    """
    from wayword.store.workspace import Workspace

    opened = Workspace.open(workspace)
    columns = dict(context_pair(text) for text in context or [])
    complete_many = _completer(opened, policy)
    batches = shell.read_lines() if prefix == "-" else [[shell.decode_argument(prefix)]]
    for prefixes in batches:
        with opened.reading():
            lists = complete_many(prefixes, k, columns, mode)
        if as_json or prefix == "-":
            shell.write("\n".join(map(_as_json, prefixes, lists)))
        elif lists[0]:
            shell.write("\n".join(f"{c.score:10.4f}  {c.query}" for c in lists[0]))
        else:
            typer.echo(f"No completion for {prefix!r}.", err=True)


def _completer(workspace: Any, policy: str | None) -> Callable[..., list[list[Any]]]:
    """Return a function that completes prefixes from the index, or by a policy if one is asked for."""
    if policy is None:
        from wayword.serving.completer import Completer

        completer = Completer.open(workspace)
        return lambda prefixes, k, columns, mode: [
            completer.complete(prefix, k, context=columns, mode=mode) for prefix in prefixes
        ]
    from wayword.completion.policies import DEFAULT
    from wayword.pipeline import load_policies
    from wayword.serving.policy_completer import PolicyCompleter

    by_policy = PolicyCompleter.open(workspace, load_policies)
    return lambda prefixes, k, columns, mode: by_policy.complete_many(
        prefixes, k, context=columns, policy=policy or DEFAULT, mode=mode
    )


def _as_json(prefix: str, completions: Iterable[Any]) -> str:
    listed = [{"query": c.query, "score": c.score, "source": c.source} for c in completions]
    return json.dumps({"prefix": prefix, "completions": listed}, ensure_ascii=False)
