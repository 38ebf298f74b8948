"""Keys of contexts in the index: the typed text, and the values of informative context columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from wayword.completion.expected_utility import ExpectedUtilityRetriever

BETWEEN = "\x1f"
"""Separator of the parts of a key. No normalised text contains it."""
NOTHING = "\x1e"
"""Stands for a missing or unknown value."""
_ESCAPED = str.maketrans({"\x00": "\x1e0", "\x1e": "\x1e1", "\x1f": "\x1e2"})
"""Escapes of NUL and of the two characters above in values; the trie ends a key at NUL."""


@dataclass(frozen=True)
class Columns:
    """The informative context columns, with the known values of each."""

    values: dict[str, list[str]]

    @classmethod
    def of(cls, retriever: "ExpectedUtilityRetriever") -> "Columns":
        """The columns and values that the retriever has affinities for."""
        known: dict[str, list[str]] = {}
        for affinity in (retriever.documents_in, retriever.queries_in):
            for column, values in (affinity.values if affinity else {}).items():
                known[column] = list(dict.fromkeys([*known.get(column, []), *values]))
        return cls(known)

    def key(self, typed: str, context: Mapping[str, Any]) -> str:
        """The key of a normalised text in a context; unknown columns and values are ignored.

        >>> shops = Columns({"shop": ["de", "fr"]})
        >>> shops.key("tv", {"shop": "de"}), shops.key("tv", {"shop": "xx"}), shops.key("tv", {})
        ('tv\\x1fde', 'tv', 'tv')
        """
        given = [self._known(column, context.get(column)) for column in self.values]
        return BETWEEN.join([typed, *given]) if any(value != NOTHING for value in given) else typed

    def split(self, key: str) -> tuple[str, dict[str, str]]:
        """Split a key into the text and the context values.

        >>> Columns({"shop": ["de"], "device": ["phone"]}).split("tv\\x1f\\x1e\\x1fphone")
        ('tv', {'device': 'phone'})
        """
        typed, *values = key.split(BETWEEN)
        given = zip(self.values, values, strict=False)
        return typed, {column: _plain(value) for column, value in given if value != NOTHING}

    def _known(self, column: str, value: Any) -> str:
        text = as_text(value)
        return text.translate(_ESCAPED) if text is not None and text in self._sets[column] else NOTHING

    @cached_property
    def _sets(self) -> Mapping[str, frozenset[str]]:
        return {column: frozenset(values) for column, values in self.values.items()}

    def table(self, typed: Sequence[str], context: Mapping[str, Any]) -> "pa.Table":
        """A table of contexts for the retriever: the texts, all with the same context values."""
        import pyarrow as pa

        from wayword.logs.contexts import PREFIX

        given = {
            column: pa.array([as_text(context.get(column))] * len(typed), pa.string())
            for column in self.values
        }
        return pa.table({PREFIX: pa.array(typed, pa.string()), **given})

    def logged(self, contexts: "pa.Table", most: int) -> "pa.Table":
        """The distinct logged contexts with at least one known value, at most `most`."""
        if not self.values:
            return self.table([], {})
        import pyarrow as pa
        import pyarrow.compute as pc

        from wayword.logs.contexts import PREFIX

        known = {
            column: pc.if_else(
                pc.is_in(contexts[column].cast(pa.string()), value_set=pa.array(values, pa.string())),
                contexts[column].cast(pa.string()),
                None,
            )
            for column, values in self.values.items()
        }
        table = pa.table({PREFIX: contexts[PREFIX], **known})
        some = pa.array(
            [any(row) for row in zip(*(c.is_valid().to_pylist() for c in known.values()), strict=True)]
        )
        table = table.filter(some)
        return table.group_by(table.column_names, use_threads=False).aggregate([]).slice(0, most)

    def keys(self, contexts: "pa.Table") -> list[str]:
        """The key of each row of `logged`."""
        from wayword.logs.contexts import PREFIX

        given = (contexts[column].to_pylist() for column in self.values)
        return [
            self.key(typed, dict(zip(self.values, values, strict=True)))
            for typed, *values in zip(contexts[PREFIX].to_pylist(), *given, strict=True)
        ]


def _plain(value: str) -> str:
    return value.replace("\x1e0", "\x00").replace("\x1e2", "\x1f").replace("\x1e1", "\x1e")


def as_text(value: Any) -> str | None:
    """A context value as text, as in the log's tables. A lone surrogate becomes a question mark.

    >>> as_text(True), as_text("\\ud800"), as_text(None)
    ('true', '?', None)
    """
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.encode("utf-8", "replace").decode("utf-8")
