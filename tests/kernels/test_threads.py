"""The pool: from several Python threads at once, after a fork, and the settings of the environment."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from hostacl import _kernels

LARGE = 1 << 20


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("two_threads")
def test_large_results_do_not_depend_on_threads() -> None:
    x = np.random.default_rng(1).standard_normal(LARGE + 13).astype(np.float16)
    parallel, serial = np.empty_like(x), np.empty_like(x)
    _kernels.add(x, x, parallel)
    _kernels.use_threads(1)
    _kernels.add(x, x, serial)
    np.testing.assert_array_equal(parallel.view(np.uint16), serial.view(np.uint16))
    np.testing.assert_array_equal(serial, (x.astype(np.float32) * 2).astype(np.float16))


@pytest.mark.usefixtures("two_threads")
def test_many_python_threads_at_once() -> None:
    x = np.arange(LARGE, dtype=np.float32)
    wrong: list[int] = []

    def work(k: int) -> None:
        out = np.empty_like(x)
        for _ in range(10):
            _kernels.muls(x, float(k), out)
            if not np.array_equal(out, x * np.float32(k)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FORK = """
import os
import numpy as np
from hostacl import _kernels
_kernels.use_threads(4)
x = np.ones(1 << 20, np.float32)
out = np.empty_like(x)
_kernels.add(x, x, out)
child = os.fork()
_kernels.add(out, x, out)
ok = bool((out == 3).all())
if child == 0:
    os._exit(0 if ok else 9)
assert ok and os.waitpid(child, 0)[1] == 0
print("both")
"""


def test_the_pool_starts_again_after_a_fork() -> None:
    done = run(FORK)
    assert done.stdout.strip() == "both", done.stderr


STEERED = """
import os
import numpy as np
from hostacl import _kernels
_kernels.use_threads(3)
x = np.ones(1 << 20, np.float32)
before = set(os.listdir("/proc/self/task"))
_kernels.add(x, x, x)
helpers = set(os.listdir("/proc/self/task")) - before
cpus = os.sched_getaffinity(0)
print(len(helpers), {len(cpus - os.sched_getaffinity(int(one))) for one in helpers}, bool((x == 2).all()))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU only")
def test_helpers_keep_off_the_callers_cpu() -> None:
    done = run(STEERED)
    assert done.stdout.strip() == "2 {1} True", done.stderr


def test_helpers_stay_where_the_caller_has_one_cpu() -> None:
    one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    assert run(one + STEERED).stdout.strip() == "2 {0} True"


@pytest.mark.parametrize("level", _kernels.simd_levels())
def test_the_environment_forces_a_level(level: str) -> None:
    done = run("from hostacl import _kernels; print(_kernels.simd_level())", HOSTACL_SIMD=level)
    assert (done.stdout.strip(), done.stderr) == (level, "")


def test_an_unknown_level_is_warned_of_with_the_allowed_ones() -> None:
    done = run("from hostacl import _kernels; print(_kernels.simd_level())", HOSTACL_SIMD="mmx")
    assert done.stdout.strip() == _kernels.simd_levels()[-1]
    assert "HOSTACL_SIMD = 'mmx'; allowed on this machine: scalar" in done.stderr


def test_the_environment_sets_the_threads() -> None:
    code = "from hostacl import _kernels; print(_kernels.threads())"
    assert run(code, HOSTACL_THREADS="3").stdout.strip() == "3"
    done = run(code, HOSTACL_THREADS="many")
    assert int(done.stdout) >= 1
    assert "HOSTACL_THREADS = 'many'; allowed: 1 to 256" in done.stderr


def test_settings_refuse_what_they_cannot_do() -> None:
    with pytest.raises(ValueError, match=r"use_threads\(\): count = 0; allowed: 1 to 256"):
        _kernels.use_threads(0)
    with pytest.raises(ValueError, match=r"use_simd_level\(\): name = 'mmx'; allowed on this machine: scalar"):
        _kernels.use_simd_level("mmx")
