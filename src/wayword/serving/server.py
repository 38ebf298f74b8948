"""The server: Granian, with the service in each of its workers."""

import gc
import multiprocessing
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from wayword.errors import WaywordError
from wayword.serving.connections import Connections, Limits
from wayword.serving.options import Options
from wayword.serving.parent import end_with
from wayword.serving.respawning_server import RespawningServer
from wayword.serving.service import Service

STOPPING = 10
"""Seconds in which a worker finishes its requests when the server stops."""
HEADERS_TIMEOUT, PROXY_TIMEOUT = 30_000, 75_000
"""Milliseconds in which the headers of the next request on a connection must arrive. Proxies keep idle connections for
a minute: they, not the server, should close them, as a request that meets the end of a connection fails."""
SPARE_CONNECTIONS = 4096
"""Connections that are accepted above the limit and shut down at the next look: accepting never waits for them."""
SPARE_FILES = 512
"""Descriptors for everything but connections."""
BACKLOG = 4096
LONGEST_HEAD = 8192 + 4096 * 30


def serve(workspace: Path, options: Options, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `tell` receives messages."""
    address, port = _free(options.host, options.port)
    tell("Opening the index; the first time, code is compiled for some seconds.")
    multiprocessing.set_start_method("fork", force=True)  # workers share what was read
    service = Service(workspace, options)
    gc.collect()
    gc.freeze()  # exempt from garbage collection, so that the pages stay shared
    limits, accepted = _limits(options)
    parent = os.getpid()

    def load(_target: str) -> Service:
        """Begin a worker."""
        end_with(parent, STOPPING)
        if sys.platform == "linux":
            Connections(limits).watch()
        return service

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
        http1_settings=HTTP1Settings(
            header_read_timeout=PROXY_TIMEOUT if options.proxy else HEADERS_TIMEOUT,
            max_buffer_size=LONGEST_HEAD,
        ),
        backlog=BACKLOG,
        backpressure=accepted,  # Granian's name for its limit of connections
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=STOPPING,
    )
    server.crashed = service.experiment.crashed
    server.serve(target_loader=load)  # type: ignore[arg-type]


def _limits(options: Options) -> tuple[Limits, int]:
    """The limits of connections, and how many are accepted at once, within the descriptors that the system allows."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SPARE_FILES + options.max_connections + SPARE_CONNECTIONS
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    accepted = max(allowed - SPARE_FILES, allowed // 2)
    total = min(options.max_connections, max(accepted - SPARE_CONNECTIONS, accepted // 2))
    return Limits(0 if options.proxy else options.client_connections, total), accepted


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
