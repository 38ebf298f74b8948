"""Limits of a posted record: its nesting, and the sizes of its objects, lists, names and texts.

They hold for every field, also for those that the schema does not name.
"""

from collections.abc import Iterable
from typing import Any

from wayword.logs.ubi.schema import DEEPEST_NESTING, LONGEST_FIELD, LONGEST_TEXT, MOST_FIELDS, MOST_ITEMS


def excess(record: Any) -> str | None:
    """Describe what exceeds a limit, with what was found and what was expected; None if nothing does.

    >>> excess({"a": {str(n): n for n in range(101)}})
    'has an object of 101 fields; expected at most 100'
    """
    level = [record]
    for _ in range(DEEPEST_NESTING):
        if problem := next(filter(None, map(_excess, level)), None):
            return problem
        level = [inner for one in level for inner in parts(one)]
        if not level:
            return None
    return f"is nested too deep; expected at most {DEEPEST_NESTING} levels"


def _excess(value: Any) -> str | None:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"has a text of {len(value):,} characters; expected at most {LONGEST_TEXT:,}"
    if isinstance(value, list) and len(value) > MOST_ITEMS:
        return f"has a list of {len(value):,} items; expected at most {MOST_ITEMS:,}"
    if not isinstance(value, dict):
        return None
    if len(value) > MOST_FIELDS:
        return f"has an object of {len(value):,} fields; expected at most {MOST_FIELDS}"
    longest = max(map(len, value), default=0)
    if longest > LONGEST_FIELD:
        return f"has a field name of {longest:,} characters; expected at most {LONGEST_FIELD:,}"
    return None


def parts(value: Any) -> Iterable[Any]:
    """The values of an object or a list; none of anything else."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
