"""Granian, told to start crashed workers again as long as another version of the index may help."""

from collections.abc import Callable
from typing import Any

from granian.server.mp import MPServer


class RespawningServer(MPServer):
    """Granian ends when a worker that it started again crashes within seconds."""

    crashed: Callable[[], bool] = staticmethod(lambda: False)
    """Called for each crashed worker before it is started again; whether that may succeed."""

    def _respawn_workers(
        self, workers: list[int], spawn_target: Any, target_loader: Any, delay: float = 0
    ) -> None:
        hopeful = True
        for _ in workers if not delay else ():  # a reload has a delay
            hopeful = self.crashed() and hopeful
        super()._respawn_workers(workers, spawn_target, target_loader, delay)
        if hopeful:
            self.respawned_wrks.clear()
