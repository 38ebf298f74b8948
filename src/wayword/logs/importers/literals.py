"""Literals of SQL, where values cannot be bound: arguments of table functions, and names of columns."""


def text(value: str) -> str:
    """SQL for a text.

    >>> text("l'eau")
    "'l''eau'"
    """
    return "'" + value.replace("'", "''") + "'"


def quote(name: str) -> str:
    """SQL for the name of a column."""
    return '"' + name.replace('"', '""') + '"'
