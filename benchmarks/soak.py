"""Serves for a while at half load, swaps the index again and again, posts events, ends with kill -9, and counts losses.

python benchmarks/soak.py                        # ten minutes, `packages`
python benchmarks/soak.py --seconds 60           # shorter
python benchmarks/soak.py --workspace demo       # a workspace of one's own; it is copied

Needs `hey` (Debian's package of that name): it sends at a given rate, and says what came back. The server has the
first core, the load the second.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import wayword
from wayword.config import IndexConfig
from wayword.index import versions
from wayword.index.build import build

PORT = 8931
CONNECTIONS = 64
TYPED = ("v", "vid", "video pl", "mail", "games f", "vidoe", "zz top", "python l")
LOADS = 4
"""So many programs send requests, each for texts of its own."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--swap-every", type=float, default=20.0)
    parser.add_argument("--workspace", type=Path, default=None)
    arguments = parser.parse_args()
    if shutil.which("hey") is None:
        sys.exit("Found no `hey`; install it with `apt-get install hey`.")
    with tempfile.TemporaryDirectory() as folder:
        workspace = _workspace(Path(folder), arguments.workspace)
        names = _two_versions(workspace)
        soak(workspace, names, arguments.seconds, arguments.swap_every)


def _workspace(folder: Path, given: Path | None) -> Path:
    if given is not None:
        return Path(shutil.copytree(given, folder / "workspace"))
    data = wayword.simulate("packages", clicks=20_000, out=folder / "data")
    return wayword.run(data / "clicks.parquet", data / "rankings.parquet", out=folder / "workspace").path


def _two_versions(workspace: Path) -> list[str]:
    opened = wayword.Workspace.open(workspace)
    return [build(opened, IndexConfig(kept=kept))[0].name for kept in (12, 15)]


def soak(workspace: Path, names: list[str], seconds: int, swap_every: float) -> None:
    """Serve, load, swap, post, kill, count."""
    server = _serve(workspace)
    try:
        saturated = sum(_rate(load) for load in _loads(5, None))
        rate = saturated / 2
        print(f"saturation {saturated:,.0f} requests/s; {seconds} s at {rate:,.0f} requests/s\n", flush=True)
        ended, acknowledged, refused = threading.Event(), list[str](), list[str]()
        posting = threading.Thread(target=_post, args=(ended, acknowledged, refused))
        swapping = threading.Thread(target=_swap, args=(ended, workspace, names, swap_every))
        watching = _Memory(server.pid, ended)
        for thread in (posting, swapping, watching):
            thread.start()
        loads = _loads(seconds, rate)
        ended.set()
        for thread in (posting, swapping, watching):
            thread.join()
        counted = _counted()
        last = threading.Event()
        posting = threading.Thread(target=_post, args=(last, acknowledged, refused))
        posting.start()  # events are still being posted when the server dies
        time.sleep(1)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    posting.join()
    _tell(loads, counted, watching.found, acknowledged, refused, workspace)


def _serve(workspace: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "wayword", "serve", workspace, "--port", str(PORT), "--rate", "0"]
    server = subprocess.Popen(["taskset", "-c", "0", *map(str, command)], start_new_session=True)
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz").read()
            return server
        except OSError:
            if server.poll() is not None:
                sys.exit("The server did not start.")
            time.sleep(0.1)


def _loads(seconds: int, rate: float | None) -> list[str]:
    """What each program that sent requests for so long said; `rate` is that of all together."""
    each = CONNECTIONS // LOADS
    limit = [] if rate is None else ["-q", f"{rate / LOADS / each:.3f}"]
    running = [
        subprocess.Popen(
            ["taskset", "-c", "1", "hey", "-z", f"{seconds}s", "-c", str(each), *limit, _address(n)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(LOADS)
    ]
    return [process.communicate()[0] for process in running]


def _address(number: int) -> str:
    typed = TYPED[number % len(TYPED)]
    return f"http://127.0.0.1:{PORT}/complete?{urlencode({'prefix': typed})}"


def _rate(said: str) -> float:
    found = re.search(r"Requests/sec:\s+([\d.]+)", said)
    return float(found.group(1)) if found else 0.0


def _post(ended: threading.Event, acknowledged: list[str], refused: list[str]) -> None:
    """Post events one after the other; remember which were acknowledged."""
    for number in itertools.count():
        if ended.wait(0.01):
            return
        name = f"{threading.get_ident()}-{number}"
        body = json.dumps({"action_name": "click", "query_id": name}).encode()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/events", data=body) as answer:
                if json.load(answer) == {"stored": 1}:
                    acknowledged.append(name)
        except urllib.error.HTTPError as problem:
            refused.append(str(problem))
        except OSError:
            return  # the server was killed


def _counted() -> dict[str, int]:
    """Answers to `/complete` by status, as the server counts them: `hey` keeps the first million only."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics") as answer:
        said = answer.read().decode()
    found = re.findall(r'wayword_requests_total{path="/complete",status="(\dxx)"} (\d+)', said)
    return {status: int(count) for status, count in found}


def _swap(ended: threading.Event, workspace: Path, names: list[str], every: float) -> None:
    for name in itertools.cycle(names):
        if ended.wait(every):
            return
        versions.point(workspace / versions.ROOT, name)


class _Memory(threading.Thread):
    """Watches how much memory the workers have that is theirs alone."""

    def __init__(self, parent: int, ended: threading.Event) -> None:
        super().__init__()
        self._parent, self._ended = parent, ended
        self.found: list[float] = []

    def run(self) -> None:
        while not self._ended.wait(5):
            self.found.append(sum(map(_private, _family(self._parent))) / 1024)


def _family(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [parent, *(int(child) for child in children)]


def _private(process: int) -> int:
    said = Path(f"/proc/{process}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"Private_(?:Dirty|Clean):\s+(\d+) kB", said))


def _tell(
    loads: list[str],
    statuses: dict[str, int],
    memory: list[float],
    acknowledged: list[str],
    refused: list[str],
    workspace: Path,
) -> None:
    failures = sum(int(n) for said in loads for n in re.findall(r"\[(\d+)\]\s+\w+ \"?http", said))
    slowest = max(float(found) for said in loads for found in re.findall(r"Slowest:\s+([\d.]+)", said))
    p99 = max(float(found) for said in loads for found in re.findall(r"99%+ in ([\d.]+)", said))
    lines = [
        line for file in (workspace / "events").iterdir() for line in file.read_bytes().split(b"\n")[:-1]
    ]
    stored = {json.loads(line).get("query_id") for line in lines}
    lost = [name for name in acknowledged if name not in stored]
    quarter = max(1, len(memory) // 4)
    early, late = (sum(part) / len(part) for part in (memory[:quarter] or [0.0], memory[-quarter:] or [0.0]))
    print("| | |\n|---|---|")
    print(f"| answers by status | {', '.join(f'{s}: {n:,}' for s, n in sorted(statuses.items()))} |")
    print(f"| requests that failed | {failures + sum(n for s, n in statuses.items() if s != '2xx')} |")
    print(f"| p99, slowest | {p99 * 1000:.1f} ms, {slowest * 1000:.1f} ms |")
    print(f"| events acknowledged, refused | {len(acknowledged):,}, {len(refused):,} |")
    print(f"| acknowledged events that are not on disk after kill -9 | {len(lost)} |")
    print(f"| private memory, first and last quarter | {early:.1f} MB, {late:.1f} MB |")


if __name__ == "__main__":
    main()
