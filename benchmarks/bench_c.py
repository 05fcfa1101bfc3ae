"""What a C client pays: objects against malloc, an operator against np.add, threads, the start of a program."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import ROUNDS, fair_environment, line, median_ratio, ratio, seconds

fair_environment()

import numpy as np  # noqa: E402

from hostacl import toolkit_path  # noqa: E402

HERE = Path(__file__).parent
LIBRARIES = ["-lascendcl", "-lacl_op_compiler", "-lpthread"]


def build(source: Path, output: Path, *flags: str) -> Path:
    """Compiles a C source against the toolkit."""
    toolkit = toolkit_path.root()
    command = ["gcc", "-O2", *flags, str(source), "-o", str(output), f"-I{toolkit}/include", f"-L{toolkit}/lib64", *LIBRARIES]
    subprocess.run(command, check=True)
    return output


def open_loops(folder: str) -> ctypes.CDLL:
    toolkit_path.open_libraries()
    loops = ctypes.CDLL(str(build(HERE / "bench_c.c", Path(folder) / "bench_c.so", "-shared", "-fPIC")))
    for name in ("malloc_free", "descriptor", "buffer", "attribute", "event_record", "add"):
        getattr(loops, name).restype = ctypes.c_double
        getattr(loops, name).argtypes = [ctypes.c_long]
    loops.add_threads.restype = ctypes.c_double
    loops.add_threads.argtypes = [ctypes.c_long, ctypes.c_int]
    loops.begin()
    return loops


def compare(name: str, ours: Callable[[], float], peer: Callable[[], float], limit: str) -> None:
    """Both give the seconds of one turn themselves; they are asked in turn."""
    ours()
    peer()
    line(name, median_ratio([(ours(), peer()) for _ in range(ROUNDS)]), limit)


def objects(loops: ctypes.CDLL) -> None:
    turns = 100_000
    for name, text in (("descriptor", "create + destroy of a descriptor"), ("buffer", "create + destroy of a buffer"),
                       ("attribute", "set of an attribute"), ("event_record", "record of an event")):  # fmt: skip
        loop = getattr(loops, name)
        compare(f"{text}, against malloc(64) + free", lambda loop=loop: loop(turns), lambda: loops.malloc_free(turns), "<= 15")


def operator(loops: ctypes.CDLL) -> None:
    a, b = np.ones(8, np.float32), np.ones(8, np.float32)
    c = np.empty_like(a)
    turns = 20_000
    compare("aclopExecuteV2 of Add, 8 floats, from C, against np.add", lambda: loops.add(turns),
            lambda: seconds(lambda: np.add(a, b, out=c), turns, time.thread_time), "<= 15")  # fmt: skip
    compare("four threads, wall time an operator, against one", lambda: loops.add_threads(turns, 4),
            lambda: loops.add_threads(turns, 1), "<= 2.5")  # fmt: skip


def start(folder: str) -> None:
    example = HERE.parent / "examples" / "c" / "add_compile.c"
    program = build(example, Path(folder) / "add_compile")
    package = toolkit_path.root().parent
    env = {**os.environ, "LD_LIBRARY_PATH": str(toolkit_path.library_folder()), "HOSTACL_PYTHON": sys.executable}
    env["PYTHONPATH"] = str(package.parent)

    def run(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)

    result = ratio(run(str(program)), run(sys.executable, "-c", "import numpy"), 1)
    line('a C program up to its first result, against "import numpy"', result, "<= 2")


if __name__ == "__main__":
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        loops = open_loops(folder)
        objects(loops)
        operator(loops)
        start(folder)
    print(f"in {time.perf_counter() - started:.0f} s")
