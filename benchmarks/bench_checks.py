"""What the rules of use cost: a small Add and its synchronize with the cheap rules, and with all of them, against none."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import fair_environment, line, median_ratio, seconds

fair_environment()

import numpy as np  # noqa: E402

import acl  # noqa: E402
import hostacl  # noqa: E402

ROUNDS, CALLS = 15, 5000


class SmallAdd:
    """A warmed Add of 8 float32 under a choice of rules, with memory made under it."""

    def __init__(self, **settings):
        self.settings = settings
        with hostacl.settings(**settings):
            tensors = [self.tensor() for _ in range(3)]
            self.descs, self.buffers = [desc for desc, _ in tensors], [buffer for _, buffer in tensors]
            self.attr = acl.op.create_attr()
            self.stream, _ = acl.rt.create_stream()
            assert acl.op.compile("Add", self.descs[:2], self.descs[2:], self.attr, 0, 0, None) == 0

    @staticmethod
    def tensor():
        ones = np.ones(8, np.float32)
        pointer, _ = acl.rt.malloc(32, 0)
        acl.rt.memcpy(pointer, 32, ones.ctypes.data, 32, 1)
        return acl.create_tensor_desc(0, [8], 2), acl.create_data_buffer(pointer, 32)

    def run(self):
        acl.op.execute_v2("Add", self.descs[:2], self.buffers[:2], self.descs[2:], self.buffers[2:], self.attr, self.stream)
        acl.rt.synchronize_stream(self.stream)

    def seconds(self):
        with hostacl.settings(**self.settings):
            self.run()
            return seconds(self.run, CALLS)


def main():
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    none, cheap, every = SmallAdd(on_misuse="off"), SmallAdd(), SmallAdd(check="all")
    for name, one, limit in (("cheap rules, the default", cheap, "<= 1.05"), ("all rules", every, "<= 10")):
        pairs = [(one.seconds(), none.seconds()) for _ in range(ROUNDS)]
        line(f"Add 8 float32 + synchronize, {name}", median_ratio(pairs), limit)


if __name__ == "__main__":
    main()
