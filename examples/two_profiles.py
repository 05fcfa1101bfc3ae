"""The same script on two profiles: HOSTACL_SOC says which product is played, and a float16 overflow tells them apart.

An A2 product (Ascend910B1) gives Inf; one of the inference products (Ascend310P) saturates: the largest finite float16.
"""

import os
import subprocess
import sys

import numpy as np
from common import Tensor, device, expect, run

import acl

LARGEST = {"Ascend910B1": np.inf, "Ascend310P3": 65504}


def square():
    """What this product makes of 300 * 300, which float16 cannot hold."""
    with device() as stream:
        soc = acl.get_soc_name()
        x, y = Tensor(np.array([2, 300, -300], np.float16)), Tensor(np.zeros(3, np.float16))
        attr = acl.op.create_attr()
        run("Mul", [x, x], [y], attr, stream)
        expect(f"{soc}: 300 * 300 = {y.numpy()[1]}, Mul", y.numpy(), np.array([4, LARGEST[soc], LARGEST[soc]]))
        acl.op.destroy_attr(attr)
        for tensor in (x, y):
            tensor.free()


def main():
    for soc in LARGEST:
        done = subprocess.run([sys.executable, __file__, "square"], env={**os.environ, "HOSTACL_SOC": soc}, check=False)
        if done.returncode:
            sys.exit(done.returncode)


if __name__ == "__main__":
    square() if sys.argv[1:] == ["square"] else main()
