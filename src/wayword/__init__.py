"""Wayword: query autocompletion that knows where each query leads.

>>> import wayword
>>> sorted(wayword.__all__)  # doctest: +NORMALIZE_WHITESPACE
['Completer', 'Completion', 'Config', 'WaywordError', 'Workspace', 'differences', 'estimates', 'read_ubi', 'reproduce',
 'run', 'simulate']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Completer": ("wayword.serving.completer", "Completer"),
    "Completion": ("wayword.completion.completion", "Completion"),
    "Config": ("wayword.config", "Config"),
    "WaywordError": ("wayword.errors", "WaywordError"),
    "Workspace": ("wayword.store.workspace", "Workspace"),
    "differences": ("wayword.report.estimates", "differences_of"),
    "estimates": ("wayword.report.estimates", "estimates_of"),
    "read_ubi": ("wayword.logs.ubi.read", "read_ubi"),
    "reproduce": ("wayword.paper.reproduce", "reproduce"),
    "run": ("wayword.pipeline", "run"),
    "simulate": ("wayword.pipeline", "simulate"),
}

__all__ = [
    "Completer",
    "Completion",
    "Config",
    "WaywordError",
    "Workspace",
    "differences",
    "estimates",
    "read_ubi",
    "reproduce",
    "run",
    "simulate",
]

if TYPE_CHECKING:
    from wayword.completion.completion import Completion
    from wayword.config import Config
    from wayword.errors import WaywordError
    from wayword.logs.ubi.read import read_ubi
    from wayword.paper.reproduce import reproduce
    from wayword.pipeline import run, simulate
    from wayword.report.estimates import differences_of as differences
    from wayword.report.estimates import estimates_of as estimates
    from wayword.serving.completer import Completer
    from wayword.store.workspace import Workspace


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `import wayword` is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'wayword' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
