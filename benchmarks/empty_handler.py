"""An RSGI application that does nothing but send a small JSON answer, on Granian as `wayword serve` sets it up.

python benchmarks/empty_handler.py 8081
"""

import multiprocessing
import sys
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from wayword.serving.server import HEADERS_TIMEOUT, LONGEST_HEAD

HEADERS = [("content-type", "application/json; charset=utf-8")]
BODY = b'{"completions":[]}'


async def answer(_scope: Any, protocol: Any) -> None:
    protocol.response_bytes(200, HEADERS, BODY)


def main() -> None:
    multiprocessing.set_start_method("fork", force=True)
    Granian(
        "empty",
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface=Interfaces.RSGI,
        workers=1,
        loop=Loops.auto,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEADERS_TIMEOUT, max_buffer_size=LONGEST_HEAD),
        websockets=False,
        log_level=LogLevels.warning,
    ).serve(target_loader=lambda _target: answer)


if __name__ == "__main__":
    main()
