"""PECOS, behind one file."""

from importlib.util import find_spec


def available() -> bool:
    """Whether the extra `pecos` is installed."""
    return find_spec("pecos") is not None and find_spec("wayword.retrieval.pecos") is not None
