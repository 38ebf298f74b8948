"""Completions of any policy of a workspace, to compare policies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.completion.completion import Completion
from wayword.completion.policies import DEFAULT, Policy
from wayword.config import COMPARED
from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.evaluation.stage import LoadPolicies, load_policies
from wayword.index.keys import as_text
from wayword.logs.contexts import PREFIX
from wayword.logs.stage import context_columns
from wayword.request import ANY, check_request
from wayword.serving.completer import as_typed
from wayword.store.workspace import Workspace


class PolicyCompleter:
    """Completes typed texts with the policies of a workspace."""

    def __init__(
        self, shown: Sequence[str], policies: Mapping[str, Policy], columns: Mapping[str, pa.DataType]
    ) -> None:
        self._shown = shown
        self._policies = policies
        self._columns = columns

    @classmethod
    def open(cls, workspace: Workspace | Path | str, load: LoadPolicies = load_policies) -> "PolicyCompleter":
        """Open a workspace of `wayword run`; `load` reads its policies."""
        workspace = Workspace.of(workspace)
        stages = dict.fromkeys(("log", "rankings", "demand", "completion", *workspace.manifest["stages"]))
        at = {stage: workspace.folder(stage) for stage in stages}
        with workspace.reading():
            shown = tables.read(at["rankings"], "queries")["shown"].to_pylist()
            return cls(shown, load(at, workspace.config), context_columns(at["log"]))

    def complete(
        self,
        prefix: str,
        k: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        policy: str = DEFAULT,
        mode: str = ANY,
    ) -> list[Completion]:
        """At most k completions of a typed text, best first; `context` gives the log's extra columns, if known.

        Mode "prefix" returns only queries that begin with the typed text (or its correction), "any" every query that
        leads there.
        """
        return self.complete_many([prefix], k, context=context, policy=policy, mode=mode)[0]

    def complete_many(
        self,
        prefixes: Sequence[str],
        k: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        policy: str = DEFAULT,
        mode: str = ANY,
    ) -> list[list[Completion]]:
        """One list for each typed text, independent of the others."""
        if policy not in self._policies:
            hint = " `wayword run --paper` trains it." if policy in COMPARED else ""
            raise WaywordError(f"Found policy {policy!r}; expected one of {', '.join(self._policies)}.{hint}")
        for prefix in prefixes:
            check_request(prefix, k, mode)
        candidates = self._policies[policy].complete(self._contexts(prefixes, context or {}), k, mode=mode)
        lists: list[list[Completion]] = [[] for _ in prefixes]
        rows = zip(
            candidates.context.tolist(),
            candidates.query.tolist(),
            candidates.score.tolist(),
            candidates.sources(),
            strict=True,
        )
        for place, query, score, source in rows:
            lists[place].append(Completion(self._shown[query], score, source))
        return lists

    def _contexts(self, prefixes: Sequence[str], context: Mapping[str, Any]) -> pa.Table:
        unknown = [name for name in context if name not in self._columns]
        if unknown:
            known = ", ".join(self._columns) or "none"
            raise WaywordError(f"Found context {', '.join(unknown)}; the log's context columns are: {known}.")
        columns = {PREFIX: pa.array(list(map(as_typed, prefixes)), pa.string())}
        for name, kind in self._columns.items():
            columns[name] = pa.array([_value(name, context.get(name), kind)] * len(prefixes), kind)
        return pa.table(columns)


def _value(name: str, given: Any, kind: pa.DataType) -> Any:
    if given is None:
        return None
    try:
        return float(given) if pa.types.is_floating(kind) else as_text(given)
    except (TypeError, ValueError, OverflowError):
        raise WaywordError(f"Found {given!r} for the context column {name}; expected a number.") from None
