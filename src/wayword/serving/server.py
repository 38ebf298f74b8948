"""The server: Granian, with the service in each of its workers."""

import gc
import multiprocessing
import socket
from collections.abc import Callable
from pathlib import Path

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from wayword.errors import WaywordError
from wayword.serving.options import Options
from wayword.serving.respawning_server import RespawningServer
from wayword.serving.service import Service

STOPPING = 10
"""Seconds in which a worker finishes its requests when the server stops."""
HEADERS_TIMEOUT = 30_000
"""Milliseconds in which the headers of the next request on a connection must arrive."""
LONGEST_HEAD = 8192 + 4096 * 30


def serve(workspace: Path, options: Options, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `tell` receives messages."""
    address, port = _free(options.host, options.port)
    tell("Opening the index; the first time, code is compiled for some seconds.")
    multiprocessing.set_start_method("fork", force=True)  # workers share what was read
    service = Service(workspace, options)
    gc.collect()
    gc.freeze()  # exempt from garbage collection, so that the pages stay shared
    where = f"[{address}]" if ":" in address else address
    tell(f"Serving http://{where}:{port} (stop with Ctrl-C).")
    server = RespawningServer(
        "wayword",
        address=address,
        port=port,
        interface=Interfaces.RSGI,
        workers=options.workers,
        loop=Loops.auto,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEADERS_TIMEOUT, max_buffer_size=LONGEST_HEAD),
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=STOPPING,
    )
    server.crashed = service.experiment.crashed
    server.serve(target_loader=lambda _target: service)  # type: ignore[arg-type, return-value]


def _free(host: str, port: int) -> tuple[str, int]:
    """The numeric address and a free port: Granian itself would share a port with another server."""
    try:
        kind, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(where)
            return str(where[0]), int(tried.getsockname()[1])
    except OSError as problem:
        raise WaywordError(
            f"Cannot listen at {host}:{port}: {problem.strerror or problem}. Try another --host or --port."
        ) from problem
