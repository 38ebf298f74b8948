"""Ends a worker when the server's main process has gone, so that no worker keeps the port."""

import ctypes
import os
import signal
import sys
import time
from threading import Thread

CHECK_EVERY = 0.5
_PR_SET_PDEATHSIG = 1


def end_with(parent: int, stopping: float) -> None:
    """Stop this process as by SIGTERM when its parent has gone, and kill it after `stopping` seconds more.

    Linux sends the signal by itself; the thread covers other systems and a parent that went before this call.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    Thread(target=_watch, args=(parent, stopping), name="wayword-parent", daemon=True).start()


def _watch(parent: int, stopping: float) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(stopping)
    os._exit(1)  # requests do not end
