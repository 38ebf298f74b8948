"""Arms: the indexes that are served side by side, and which of them answers whom."""

import gc
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
    experiment: str = ""

    def of(self, user: str | None) -> tuple[str, Served]:
        """Whom a user is answered by; the first, if nobody says who asks."""
        arm = SECOND if self.share and user and place(user, self.experiment) < self.share else FIRST
        return arm, self.arms[arm]


class Arms:
    """One index, or two, each user always being answered by the same."""

    def __init__(
        self, workspace: Path, against: Path | None = None, share: float = 0.5, experiment: str = ""
    ) -> None:
        """`share` of the users are answered by the index of `against`; others in another experiment."""
        self.completers = {FIRST: Completer.open(workspace)}
        if against is not None:
            self.completers[SECOND] = Completer.open(against)
        self._share = share if against is not None else 0.0
        self._experiment = experiment
        self._stopped = Event()
        self.now = self._serving()

    def _serving(self) -> Serving:
        return Serving(
            {arm: one.served for arm, one in self.completers.items()}, self._share, self._experiment
        )

    def look(self) -> None:
        """Take over what has changed on disk."""
        for arm, completer in self.completers.items():
            try:
                completer.look_in_time()
            except Exception:
                logger.exception(
                    "Looking for a new index of arm %s failed; the old one goes on answering.", arm
                )
        found = self._serving()
        if any(found.arms[arm] is not served for arm, served in self.now.arms.items()):
            self.now = found
            gc.collect()  # an old index is let go now, with its files

    def watch(self) -> None:
        """Look at the disk in a thread of its own from now on, so that no answer waits for a new version."""
        Thread(target=self._watch, name="wayword-watch", daemon=True).start()

    def stop(self) -> None:
        """End that thread."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY / 2):
            self.look()


def place(user: str, experiment: str = "") -> float:
    """A number from 0 to 1 that is as good as random, and the same whenever and wherever it is asked for.

    >>> round(place("ada"), 6), round(place("grace"), 6), round(place("ada", "spring"), 6)
    (0.954874, 0.33813, 0.579437)
    """
    said = (experiment + "\n" + user if experiment else user).encode("utf-8", "replace")
    found = blake2b(said, digest_size=8, person=b"wayword-arm").digest()
    return int.from_bytes(found, "big") / 2**64
