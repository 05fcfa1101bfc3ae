"""An operator of one's own, for custom_op.c: HOSTACL_OPS=my_ops.py names this file."""

import hostacl

FLOATS = "float16 float32"


@hostacl.op("AxpyCustom", inputs={"x": FLOATS, "y": FLOATS}, outputs={"z": FLOATS}, attrs={"alpha": 1.0})
def axpy_custom(x, y, alpha):
    """alpha * x + y."""
    return alpha * x + y
