"""Import and runtime: every way to be started, properties, memory, streams, events, seeds, a clean end."""

from __future__ import annotations

import pytest

from tests.clients.torch_npu.support import succeeds

ADDS = "import torch; assert (torch.ones(3).npu() + 1).cpu().tolist() == [2, 2, 2]"


@pytest.mark.parametrize("started", ["hostacl run", "LD_LIBRARY_PATH", "import hostacl"])
def test_torch_npu_is_imported_and_computes(started: str) -> None:
    code = ("import hostacl; " if started == "import hostacl" else "") + ADDS
    succeeds(code, under_run=started == "hostacl run", library_path=started != "import hostacl")


BESIDE = """
import threading, time, torch
done = threading.Event()
def work():
    x = torch.ones(100, device="npu")
    while not done.is_set():
        x = x * 1.0001
thread = threading.Thread(target=work, daemon=True)
thread.start()
"""


@pytest.mark.parametrize(
    "code",
    [
        "import torch_npu",
        "import torch; torch.ones(3).npu()",
        "import torch; x = torch.ones(3).npu(); y = x * 2",
        "import torch; s = torch.npu.Stream(); e = torch.npu.Event(); e.record(s)",
        "import torch, atexit; x = torch.ones(3).npu(); atexit.register(lambda: print((x + 1).sum().item()))",
        "import hostacl, acl, torch; x = torch.ones(3).npu(); torch.npu.synchronize(); del x",
        "import torch, sys; x = torch.ones(3).npu(); sys.modules['kept'] = x",
        "import torch, sys; x = torch.ones(3).npu(); torch.ring = [x, x * 2]; torch.ring.append(torch.ring); sys.exit(0)",
        BESIDE + "done.set(); thread.join(); torch.npu.synchronize()",
    ],
    ids=[
        "nothing done",
        "memory",
        "work pending",
        "stream",
        "at exit",
        "with pyACL",
        "kept in a module",
        "a ring",
        "after a thread",
    ],
)
def test_it_ends_well(code: str) -> None:
    succeeds(code)


RUNTIME = """
import torch
assert torch.npu.is_available() and torch.npu.device_count() == 1 and torch.npu.current_device() == 0
assert torch.npu.get_device_name(0).startswith("Ascend910B")
assert torch.npu.get_device_properties(0).total_memory > 2**30
free, total = torch.npu.mem_get_info()
assert 0 < free <= total

torch.npu.empty_cache()
before = torch.npu.memory_allocated()
x = torch.zeros(1 << 20, device="npu")
assert torch.npu.memory_allocated() - before >= 4 << 20
assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
assert torch.npu.memory_reserved() >= torch.npu.memory_allocated()
assert torch.npu.memory_stats()["allocated_bytes.all.current"] == torch.npu.memory_allocated()
del x
assert torch.npu.memory_allocated() == before
torch.npu.empty_cache()

stream, start, end = torch.npu.Stream(), torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
with torch.npu.stream(stream):
    assert torch.npu.current_stream() == stream
    start.record()
    y = torch.ones(1000, device="npu") * 3
    end.record()
torch.npu.current_stream().wait_event(end)
torch.npu.current_stream().wait_stream(stream)
assert y.sum().item() == 3000
end.synchronize()
assert end.query() and stream.query() and start.elapsed_time(end) >= 0
stream.synchronize()
torch.npu.synchronize()

def drawn():
    return torch.rand(100, device="npu").cpu(), torch.randn(100, device="npu").cpu(), torch.randperm(50, device="npu").cpu()

torch.npu.manual_seed(3)
state = torch.npu.get_rng_state()
first = drawn()
torch.npu.manual_seed_all(3)
assert all(map(torch.equal, first, drawn()))
torch.npu.set_rng_state(state)
assert all(map(torch.equal, first, drawn()))
assert not torch.equal(first[0], drawn()[0])
assert (0 <= first[0]).all() and (first[0] < 1).all() and sorted(first[2].tolist()) == list(range(50))
masked = torch.nn.functional.dropout(torch.ones(1000, device="npu"), 0.25)
kept = (masked != 0).sum().item()
assert 650 < kept < 850 and torch.allclose(masked[masked != 0].cpu(), torch.tensor(4 / 3))
assert not torch.npu.is_jit_compile_false()
"""


def test_properties_memory_streams_events_seeds() -> None:
    succeeds(RUNTIME)
