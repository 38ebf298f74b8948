"""An A/B test: one index, or two side by side, and the assignment of users to them."""

import gc
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from wayword.index.withdrawn import Withdrawn
from wayword.serving.completer import LOOK_EVERY, Completer, Served
from wayword.serving.condemned import Condemned
from wayword.serving.request_log import logger

FIRST, SECOND = "a", "b"


@dataclass(frozen=True, eq=False)
class Serving:
    """The index of each arm, and the share of users in the second arm. Equal only to itself."""

    arms: Mapping[str, Served]
    share: float
    experiment: str = ""

    @cached_property
    def only(self) -> tuple[str, Served] | None:
        """The arm of all users, where there is no second one."""
        return None if self.share else (FIRST, self.arms[FIRST])

    def of(self, user: str | None) -> tuple[str, Served]:
        """The arm of a user; the first without a user."""
        arm = SECOND if self.share and user and bucket(user, self.experiment) < self.share else FIRST
        return arm, self.arms[arm]


class Experiment:
    """One index, or two; a user always gets the same."""

    def __init__(
        self, workspace: Path, against: Path | None = None, share: float = 0.5, experiment: str = ""
    ) -> None:
        """Give `share` of the users the index of `against`; another name of the experiment assigns users anew."""
        self._condemned = Condemned()
        given = {FIRST: workspace} if against is None else {FIRST: workspace, SECOND: against}
        self.completers = {
            arm: Completer.open(path, fall_back=True, condemned=self._condemned)
            for arm, path in given.items()
        }
        self._share = share if against is not None else 0.0
        self._experiment = experiment
        self._stopped = Event()
        self.now = self._serving()
        self.looked = monotonic()
        """Time of the last complete look at the disk (`time.monotonic`): a heartbeat."""

    def _serving(self) -> Serving:
        return Serving(
            {arm: one.served for arm, one in self.completers.items()}, self._share, self._experiment
        )

    def look(self) -> None:
        """Switch to indexes and overrides that have changed on disk."""
        failed = False
        for arm, completer in self.completers.items():
            try:
                completer.look_in_time()
            except Exception:
                failed = True
                logger.exception("Checking for a new index of arm %s failed; the old one stays in use.", arm)
        serving = self._serving()
        if any(serving.arms[arm] is not served for arm, served in self.now.arms.items()):
            self.now = serving
            gc.collect()  # close the files of the old index now
        if not failed:
            self.looked = monotonic()

    @property
    def problems(self) -> list[str]:
        """Reasons why an arm serves something else than its current index and overrides."""
        return [problem for completer in self.completers.values() for problem in completer.problems]

    @property
    def failing(self) -> bool:
        """Whether an arm has no index that can be served."""
        return any(isinstance(served.index, Withdrawn) for served in self.now.arms.values())

    def crashed(self) -> bool:
        """Count a crash of a worker, in the process that starts them; whether another one may succeed.

        Crashes in quick succession condemn the version of each arm: which one was read is not known.
        """
        if not self._condemned.crashed():
            return True
        preferred = {completer.preferred for completer in self.completers.values()} - {None}
        for version in preferred:
            self._condemned.add(str(version))
        if preferred:
            named = ", ".join(sorted(map(str, preferred)))
            logger.error(
                f"Workers crashed again and again; not served any more: {named}."
            )  # each is its own kind
        return bool(preferred)

    def watch(self) -> None:
        """Watch the disk in a thread of its own, so that no request waits for a new version."""
        Thread(target=self._watch, name="wayword-watch", daemon=True).start()

    def stop(self) -> None:
        """End that thread."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY / 2):
            self.look()


def bucket(user: str, experiment: str = "") -> float:
    """Hash a user to a number from 0 to 1, the same in every process and at any time.

    >>> round(bucket("ada"), 6), round(bucket("grace"), 6), round(bucket("ada", "spring"), 6)
    (0.954874, 0.33813, 0.579437)
    """
    key = (experiment + "\n" + user if experiment else user).encode("utf-8", "replace")
    hashed = blake2b(key, digest_size=8, person=b"wayword-arm").digest()
    return int.from_bytes(hashed, "big") / 2**64
