"""Conv2D without its optional bias and offset_w: left out, an input keeps its place."""

import numpy as np
from common import ACL_FORMAT_NCHW, Absent, Tensor, check, device, expect, run

import acl


def convolved(x, weight, pad):
    """The definition, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    height, width = (x.shape[axis] - weight.shape[axis] + 1 for axis in (2, 3))
    y = np.zeros((x.shape[0], weight.shape[0], height, width))
    for row in range(height):
        for column in range(width):
            window = x[:, :, row : row + weight.shape[2], column : column + weight.shape[3]]
            y[:, :, row, column] = np.einsum("nchw,kchw->nk", window, weight.astype(np.float64))
    return y


def main():
    rng = np.random.default_rng(2)
    with device() as stream:
        x = Tensor(rng.standard_normal((2, 3, 8, 8)).astype(np.float16), ACL_FORMAT_NCHW)
        weight = Tensor(rng.standard_normal((4, 3, 3, 3)).astype(np.float16), ACL_FORMAT_NCHW)
        bias, offset = Absent(), Absent()
        y = Tensor(np.zeros((2, 4, 8, 8), np.float16), ACL_FORMAT_NCHW)

        attr = acl.op.create_attr()
        for name, values in (("strides", [1, 1, 1, 1]), ("pads", [1, 1, 1, 1]), ("dilations", [1, 1, 1, 1])):
            check(acl.op.set_attr_list_int(attr, name, values), "acl.op.set_attr_list_int")
        check(acl.op.set_attr_int(attr, "groups", 1), "acl.op.set_attr_int")
        check(acl.op.set_attr_string(attr, "data_format", "NCHW"), "acl.op.set_attr_string")

        run("Conv2D", [x, weight, bias, offset], [y], attr, stream)
        expect("Conv2D", y.numpy(), convolved(x.array, weight.array, 1), rtol=2e-3, atol=2e-3)

        acl.op.destroy_attr(attr)
        for tensor in (x, weight, bias, offset, y):
            tensor.free()


if __name__ == "__main__":
    main()
