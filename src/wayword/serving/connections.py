"""Limits of connections: how many a client and all clients may hold, and for how long without a request.

Granian accepts connections and speaks HTTP outside of Python, and has no such limits. But a worker's connections are
descriptors of its own process: a thread looks at them several times per second and shuts down those over a limit.
Granian then sees the end of the connection and frees it. Linux only: elsewhere there is no `/proc` to look at.

The connection that sent its last data longest ago is shut down first. One on which a request arrives is answered within
milliseconds, so that normal clients stay even where others fill a limit.
"""

import os
import socket
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

from wayword.serving.limiter import client_of
from wayword.serving.request_log import logger

DESCRIPTORS = Path("/proc/self/fd")
LOOK_EVERY, LOOK_AGAIN = 0.2, 0.02
"""Seconds between two looks; the second after one that found too many connections."""
REPORT_EVERY = 60.0
"""Seconds between two messages."""
SILENT = 5.0
"""Seconds after which a connection is shut down that has sent nothing yet."""
UNREAD = 10_000
"""Milliseconds in which a client has to read what was sent to it, before the connection is dropped."""
_INFO = struct.Struct("52xI64x QQ")
"""In Linux' `struct tcp_info`: milliseconds since the last data, bytes sent and acknowledged, bytes received."""


@dataclass(frozen=True)
class Limits:
    """Connections of one worker; `per_client` is 0 where there is no such limit."""

    per_client: int
    total: int
    silent: float = SILENT


@dataclass(eq=False)
class Connection:
    """A connection, seen at `since`; its inode tells whether the descriptor still means it."""

    descriptor: int
    inode: int
    client: str
    since: float
    spoke: bool = False
    """Whether it is known to have sent something."""


class Connections:
    """The connections of this process, kept within limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._known: dict[int, Connection | None] = {}

    def watch(self) -> None:
        """Look again and again, in a thread."""
        Thread(target=self._watch, name="wayword-connections", daemon=True).start()

    def _watch(self) -> None:
        pause, closed, report = LOOK_EVERY, 0, 0.0
        while True:
            sleep(pause)
            try:
                found = self.look()
            except Exception:
                logger.exception("Looking at the connections failed.")
                pause = LOOK_EVERY
                continue
            pause = LOOK_AGAIN if found else LOOK_EVERY
            closed += found
            if closed and self._clock() >= report:
                logger.warning("Closed %s connections that were silent or over a limit.", f"{closed:,}")
                closed, report = 0, self._clock() + REPORT_EVERY

    def look(self) -> int:
        """Shut down connections over the limits and silent ones; returns their number."""
        connections = self._connections()
        chosen = self._over(connections)
        now = self._clock()
        for one in connections:
            if not one.spoke and one not in chosen and now - one.since > self._limits.silent:
                idle = _idle(one)
                one.spoke = idle[0] == 0
                if not one.spoke:
                    chosen.add(one)
        return sum(map(_shut_down, chosen))

    def _connections(self) -> list[Connection]:
        """The sockets with a peer among the descriptors; what is known of a socket is not asked again."""
        known: dict[int, Connection | None] = {}
        now = self._clock()
        for name in os.listdir(DESCRIPTORS):  # noqa: PTH208 (a Path of each costs more than all the rest)
            try:
                status = os.fstat(int(name))
            except OSError:
                continue  # closed in the meantime
            if stat.S_ISSOCK(status.st_mode):
                inode = status.st_ino
                known[inode] = (
                    self._known[inode] if inode in self._known else _connection(int(name), inode, now)
                )
        self._known = known
        return [one for one in known.values() if one is not None]

    def _over(self, connections: list[Connection]) -> set[Connection]:
        """Those over a limit, the idlest first."""
        of_client: dict[str, list[Connection]] = {}
        for one in connections:
            of_client.setdefault(one.client, []).append(one)
        chosen: set[Connection] = set()
        if most := self._limits.per_client:
            for held in of_client.values():
                if len(held) > most:
                    chosen.update(sorted(held, key=_idle, reverse=True)[: len(held) - most])
        left = [one for one in connections if one not in chosen]
        if len(left) > self._limits.total:
            chosen.update(sorted(left, key=_idle, reverse=True)[: len(left) - self._limits.total])
        return chosen


@contextmanager
def _opened(descriptor: int, inode: int) -> Iterator[socket.socket | None]:
    """The socket under a descriptor of its own: the other may be closed at any time, and its number used again."""
    try:
        copy = os.dup(descriptor)
    except OSError:
        yield None
        return
    with closing(socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, fileno=copy)) as opened:
        yield opened if os.fstat(copy).st_ino == inode else None


def _connection(descriptor: int, inode: int, now: float) -> Connection | None:
    """A TCP connection; None for other sockets. Sets its limit of unread data, if it listens."""
    with _opened(descriptor, inode) as opened, suppress(OSError):
        if opened is None:
            return None
        if opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD)  # for all that it accepts
            return None
        peer = opened.getpeername()
        if isinstance(peer, tuple):
            return Connection(descriptor, inode, client_of(str(peer[0])), now)
    return None


def _idle(one: Connection) -> tuple[int, int]:
    """The order in which connections are shut down: 1 if it has sent nothing, then milliseconds since its last data."""
    with _opened(one.descriptor, one.inode) as opened, suppress(OSError):
        if opened is not None:
            since, _, received = _INFO.unpack(
                opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
            )
            return int(received == 0), since
    return 0, 0


def _shut_down(one: Connection) -> bool:
    with _opened(one.descriptor, one.inode) as opened, suppress(OSError):
        if opened is not None:
            opened.shutdown(socket.SHUT_RDWR)
            return True
    return False
