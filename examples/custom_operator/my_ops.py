"""Operators of one's own: a prototype and a NumPy function each. Names, shapes and types are checked like a built-in's."""

import numpy as np

import hostacl

FLOATS = "float16 float32"


@hostacl.op("AddCustom", inputs={"x": FLOATS, "y": FLOATS}, outputs={"z": FLOATS})
def add_custom(x, y):
    """x + y. float16 arrives as float32 and the result is rounded once."""
    return x + y


def every_nth(call):
    """The output's shape, from the input's and an attribute: what infer_shape answers and the described output must have."""
    (size,) = call.shape("x")
    return ((size + call.attr("step") - 1) // call.attr("step"),)


@hostacl.op(
    "EveryNthCustom", inputs={"x": "float32 int32", "bias?": "float32 int32"}, outputs={"y": "float32 int32"},
    attrs={"step": 2}, shape=every_nth,
)  # fmt: skip
def every_nth_custom(x, bias, step):
    """Every step-th element, plus a bias of one element if there is one."""
    return x[::step] if bias is None else x[::step] + np.asarray(bias)
