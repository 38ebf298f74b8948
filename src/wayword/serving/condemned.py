"""Versions of an index whose workers crashed again and again, known to all workers of a server."""

import mmap
from time import monotonic

CRASHES, WITHIN = 3, 60.0
"""So many crashes of workers within so many seconds condemn the versions that they served."""
_WIDTH, _MOST = 16, 256


class Condemned:
    """Names of versions, in memory that is shared with processes forked later. Only the parent process adds names."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _WIDTH * _MOST)
        self._added = 0
        self._crashes: list[float] = []

    def __contains__(self, version: object) -> bool:
        name = str(version).encode()
        return any(self._memory[at : at + _WIDTH] == name for at in range(0, _WIDTH * _MOST, _WIDTH))

    def add(self, version: str) -> None:
        """Condemn a version; with too many, the oldest is forgotten."""
        at = self._added % _MOST * _WIDTH
        self._memory[at : at + _WIDTH] = version.encode()[:_WIDTH].ljust(_WIDTH, b"\0")
        self._added += 1

    def crashed(self) -> bool:
        """Count a crash of a worker; whether it is one too many, after which counting begins anew."""
        now = monotonic()
        self._crashes = [*(time for time in self._crashes if now - time < WITHIN), now]
        if len(self._crashes) < CRASHES:
            return False
        self._crashes.clear()
        return True
