"""The evaluation that the page shows: `evaluation.json` beside the versions of an index.

It is no part of a version: another evaluation of the same index changes neither its name nor its hashes.
"""

from pathlib import Path

import msgspec

from wayword.errors import WorkspaceError
from wayword.store.artefact import write_atomically
from wayword.store.disk import to_disk
from wayword.store.regular_file import read_regular

FILE = "evaluation.json"
LARGEST = 100_000
"""Bytes; a dozen policies take 2,000."""


class PolicyPoint(msgspec.Struct, forbid_unknown_fields=True):
    """Found and keystrokes with a policy: 1 is as much as without suggestions."""

    policy: str
    found: float
    keystrokes: float


class CurvePoint(msgspec.Struct, forbid_unknown_fields=True):
    """Found and keystrokes with the policy `wayword` and another keystroke value."""

    keystroke_value: float
    found: float
    keystrokes: float


class Evaluation(msgspec.Struct, forbid_unknown_fields=True):
    """Found and keystrokes with each policy, in typing sessions of the test searches."""

    policies: list[PolicyPoint] = []
    curve: list[CurvePoint] = []
    """The policy `wayword` over its keystroke values."""
    keystroke_value: float | None = None
    """The keystroke value that is served; null if another policy is."""
    verdict: list[str] = []
    """Sentences: which of `wayword` and most popular completion is better, for several kinds of people."""

    @classmethod
    def load(cls, root: Path) -> "Evaluation | None":
        """Read the evaluation of an index; None if there is none."""
        file = root / FILE
        try:
            return msgspec.json.decode(read_regular(file, LARGEST), type=cls)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, msgspec.DecodeError) as problem:
            raise WorkspaceError(
                f"Cannot read {file}: {problem}. `wayword index WORKSPACE` writes it anew."
            ) from problem

    def save(self, root: Path) -> None:
        """Write the file atomically unless it says the same already; without policies there is none."""
        file = root / FILE
        content = msgspec.json.encode(self).decode() + "\n"
        if self.policies and not (file.is_file() and file.read_text(encoding="utf-8") == content):
            write_atomically(file, content)
        elif not self.policies and file.exists():
            file.unlink()
            to_disk(root)
