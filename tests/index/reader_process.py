"""Opens indexes and asks them, in a process of its own: a crash is seen as such.

Reads one JSON line for each index: its folder of versions, and how many bytes are hashed when it is opened. Writes the
answers before and after the background check, or the reason for which there are none.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from wayword.errors import WaywordError, WorkspaceError
from wayword.index import integrity
from wayword.request import MODES
from wayword.serving.completer import Completer
from wayword.serving.explanation import explain

TYPED = ("", "v", "vi", "video", "video pl", "m", "mail c", "vidoe", "player zzz", "zq xq", "é")


def main() -> None:
    """Answer until the end of the input."""
    for line in sys.stdin:
        asked = json.loads(line)
        integrity.HASHED, integrity.LOOK_EVERY = asked["hashed"], 0.0
        print(json.dumps(_read(Path(asked["root"]))), flush=True)


def _read(root: Path) -> dict[str, Any]:
    try:
        completer = Completer.open(root)
    except WaywordError as problem:
        return {"refused": str(problem)}
    try:
        early = _answers(completer)
    except Exception as problem:
        early = repr(problem)
    completer.look()
    for thread in threading.enumerate():
        if thread.name == "wayword-hash":
            thread.join()
    completer.look()
    try:
        return {"early": early, "late": _answers(completer)}
    except WorkspaceError as problem:
        return {"early": early, "refused": str(problem)}


def _answers(completer: Completer) -> str:
    served = completer.served
    lists = [completer.complete(typed, k, mode=mode) for typed in TYPED for mode in MODES for k in (3, 12)]
    popular = [served.popular(typed, 5) for typed in TYPED]
    reasons = [
        vars(explain(served, typed, one.query)) for typed in TYPED[:6] for one in served.complete(typed, 1)
    ]
    return repr([lists, popular, reasons])


if __name__ == "__main__":
    main()
