"""Arms: the indexes that are served side by side, and which of them answers whom."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread

from wayword.serving.completer import LOOK_EVERY, Completer, Served

logger = logging.getLogger("wayword")
FIRST, SECOND = "a", "b"


@dataclass(frozen=True, eq=False)
class Serving:
    """What answers now, by arm, and the share of users that the second one answers. Equal only to itself."""

    arms: Mapping[str, Served]
    share: float

    def of(self, user: str | None) -> tuple[str, Served]:
        """Whom a user is answered by; the first, if nobody says who asks."""
        arm = SECOND if self.share and user is not None and place(user) < self.share else FIRST
        return arm, self.arms[arm]


class Arms:
    """One index, or two, each user always being answered by the same."""

    def __init__(self, workspace: Path, against: Path | None = None, share: float = 0.5) -> None:
        """`share` of the users are answered by the index of `against`."""
        self.completers = {FIRST: Completer.open(workspace)}
        if against is not None:
            self.completers[SECOND] = Completer.open(against)
        self._share = share if against is not None else 0.0
        self._stopped = Event()
        self.now = self._serving()

    def _serving(self) -> Serving:
        return Serving({arm: one.served for arm, one in self.completers.items()}, self._share)

    def watch(self) -> None:
        """Look at the disk in a thread of its own from now on, so that no answer waits for a new version."""
        Thread(target=self._watch, name="wayword-watch", daemon=True).start()

    def stop(self) -> None:
        """End that thread."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY / 2):
            try:
                for completer in self.completers.values():
                    completer.look_in_time()
                found = self._serving()
                if any(found.arms[arm] is not served for arm, served in self.now.arms.items()):
                    self.now = found
            except Exception:
                logger.exception("Looking for a new index failed; the old one goes on answering.")


def place(user: str) -> float:
    """A number from 0 to 1 that is as good as random, and the same whenever and wherever it is asked for.

    >>> round(place("ada"), 6), round(place("grace"), 6)
    (0.954874, 0.33813)
    """
    found = blake2b(user.encode("utf-8", "replace"), digest_size=8, person=b"wayword-arm").digest()
    return int.from_bytes(found, "big") / 2**64
