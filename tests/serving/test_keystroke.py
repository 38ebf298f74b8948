"""The walk of one keystroke: how many functions of Wayword answer it, as docs/architecture.md says."""

import re
import sys
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

import msgspec
import pytest

import wayword
from runs import Made
from wayword.serving.options import Options
from wayword.serving.service import Service

PACKAGE = str(Path(wayword.__file__).parent)
DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"
TEXTS = {"known text": "prefix=vide&k=5", "mistyped text": "prefix=vidoe&k=5"}


@pytest.fixture(scope="module")
def service(undisturbed: Made) -> Service:
    started = Service(undisturbed.path, Options())
    for query_string in ("prefix=mus&k=5", "prefix=msuic&k=5"):
        _walk(started, query_string)
    return started


def _walk(service: Service, query_string: str) -> tuple[set[CodeType], dict[str, Any]]:
    """The functions and methods that answer a request, without comprehensions and lambdas; and the response."""
    sent: list[bytes] = []
    scope = SimpleNamespace(
        method="GET", path="/complete", query_string=query_string, client="10.0.0.1:4711", headers={}
    )
    protocol = SimpleNamespace(response_bytes=lambda _status, _headers, body: sent.append(body))
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            called.add(code)

    answering = service.__rsgi__(scope, protocol)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        answering.send(None)
    except StopIteration:
        pass
    finally:
        sys.setprofile(before)
    return called, msgspec.json.decode(sent[0])


def _documented() -> dict[str, tuple[int, int]]:
    """The last column of the table: functions, modules."""
    rows = re.findall(r"(?m)^\| a keystroke, ([a-z ]+) \|.* (\d+) in (\d+) \|$", DOCS.read_text("utf-8"))
    return {name: (int(functions), int(modules)) for name, functions, modules in rows}


def test_a_keystroke_takes_the_documented_number_of_functions(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stands still: who causes long work is charged for it, which takes two functions more."""
    monkeypatch.setattr("wayword.serving.service.perf_counter_ns", lambda: 1 << 62)
    counted, sources = {}, {}
    for name, query_string in TEXTS.items():
        called, response = _walk(service, query_string)
        counted[name] = len(called), len({code.co_filename for code in called})
        sources[name] = response["completions"][0]["source"]
    again, _ = _walk(service, TEXTS["known text"])
    counted["repeated"] = len(again), len({code.co_filename for code in again})
    assert sources == {"known text": "graph", "mistyped text": "typo"}
    assert counted == _documented()
