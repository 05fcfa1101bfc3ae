"""Wrong handles, counts, pointers, types and orders at every function of acl: a code or a TypeError, and the process lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "program.py"
CALLS = 1500
"""Calls of one run; the first run of each seed calls every function at least once."""


def run(seed: int, calls: int, *names: str, **environ: str) -> None:
    command = [sys.executable, "-X", "faulthandler", str(PROGRAM), str(seed), str(calls), *names]
    env = {**os.environ, "HOSTACL_DEVICE_MEMORY": str(1 << 28), **environ}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False, errors="replace")
    last = done.stdout.splitlines()[-3:]
    assert last[-1:] == ["OK"], f"seed {seed}: exit {done.returncode}\n" + "\n".join(last) + "\n" + done.stderr[-3000:]


@pytest.mark.parametrize("seed", range(4))
def test_every_function_with_wrong_arguments(seed: int) -> None:
    run(seed, CALLS)


@pytest.mark.parametrize("scheduler", ["deferred", "shuffled:1"])
def test_calls_that_run_late(scheduler: str) -> None:
    run(100, CALLS, HOSTACL_SCHEDULER=scheduler)


GROUPS = {
    "descriptors": ["acl.create_tensor_desc", "acl.set_tensor_const", "acl.set_tensor_shape", "acl.set_tensor_format",
                    "acl.set_tensor_shape_range", "acl.get_tensor_desc_dim_range", "acl.get_tensor_desc_dim_v2",
                    "acl.get_tensor_desc_size", "acl.trans_tensor_desc_format", "acl.destroy_tensor_desc"],
    "operators": ["acl.op.execute_v2", "acl.op.compile_and_execute_v2", "acl.op.compile", "acl.op.infer_shape",
                  "acl.op.create_handle", "acl.op.execute_with_handle", "acl.op.destroy_handle", "acl.op.cast",
                  "acl.create_tensor_desc", "acl.create_data_buffer", "acl.set_tensor_const", "acl.set_tensor_place_ment"],
    "memory": ["acl.rt.malloc", "acl.rt.free", "acl.rt.malloc_host", "acl.rt.free_host", "acl.rt.memcpy", "acl.rt.memcpy_async",
               "acl.rt.memcpy2d", "acl.rt.memcpy2d_async", "acl.rt.memset", "acl.rt.memset_async", "acl.rt.host_register",
               "acl.rt.host_unregister", "acl.rt.pointer_get_attributes", "acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy"],
    "streams": ["acl.rt.create_stream", "acl.rt.destroy_stream", "acl.rt.create_event", "acl.rt.record_event",
                "acl.rt.stream_wait_event", "acl.rt.destroy_event", "acl.rt.reset_event", "acl.rt.stream_abort",
                "acl.rt.synchronize_stream_with_timeout", "acl.rt.synchronize_event_with_timeout", "acl.rt.stream_query",
                "acl.rt.set_stream_failure_mode", "acl.rt.launch_callback", "acl.rt.destroy_stream_force"],
    "life": ["acl.init", "acl.finalize", "acl.rt.set_device", "acl.rt.reset_device", "acl.rt.create_context",
             "acl.rt.destroy_context", "acl.rt.set_context", "acl.rt.malloc", "acl.rt.create_stream", "acl.op.create_attr",
             "acl.create_data_buffer", "acl.op.set_model_dir", "acl.op.load", "acl.finalize_reference"],
    "blas": ["acl.blas.gemm_ex", "acl.blas.hgemm", "acl.blas.s8gemm", "acl.blas.gemv_ex", "acl.blas.hgemv", "acl.blas.s8gemv",
             "acl.blas.create_handle_for_hgemm", "acl.blas.create_handle_for_s8gemv", "acl.op.execute_with_handle"],
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_orders_within_a_group(group: str) -> None:
    run(7, 2000, *GROUPS[group])
