"""Operators: run, compiled, loaded; by description or by handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, overload

from hostacl import _machine
from hostacl.acl.attributes import *  # noqa: F403
from hostacl.acl.missing_op import *  # noqa: F403

__all__ = [
    "cast", "compile", "compile_and_execute", "compile_and_execute_v2", "create_handle", "create_handle_for_cast",
    "create_kernel", "destroy_handle", "execute", "execute_v2", "execute_with_handle", "infer_shape", "load",
    "register_compile_func", "set_compile_flag", "set_kernel_args", "set_kernel_workspace_sizes",
    "set_max_op_queue_num", "set_model_dir", "start_dump_args", "stop_dump_args", "unregister_compile_func",
    "update_params",
]


def set_model_dir(model_dir: str) -> int:
    """Reads the single-operator models (``.om``) of a folder, three levels in all; the code.

    Once per process, else 100002. 100014 when the path does not resolve. A file that cannot be read is skipped with a
    report. C: ``aclopSetModelDir``.
    """
    return _machine.aclopSetModelDir(model_dir)


def load(model: int, model_size: int) -> int:
    """Reads a single-operator model from ``model_size`` bytes at address ``model``; the code.

    The bytes are copied. 100013 when they are no model of ours; the vendor's are made anew with ``hostacl atc``.
    C: ``aclopLoad``.
    """
    return _machine.aclopLoad(model, model_size)


def execute(
    op_type: str, input_desc: list[int], inputs: list[int], output_desc: list[int], outputs: list[int], attr: int,
    stream: int
) -> int:
    """Runs an operator asynchronously; the code. Deprecated: use ``execute_v2``.

    As ``execute_v2``, but the true output shapes cannot be written back: 148050 for an operator whose output size
    depends on its data. C: ``aclopExecute``.
    """
    return _machine.aclopExecute(op_type, input_desc, inputs, output_desc, outputs, attr, stream)


def execute_v2(
    op_type: str, input_desc: list[int], inputs: list[int], output_desc: list[int], outputs: list[int], attr: int,
    stream: int
) -> int:
    """Runs an operator; the code. 0 means that it is enqueued, not that it is done: synchronize the stream.

    Descriptors and buffers correspond one by one; the operator is found among the models by its type, descriptors and
    attributes (100024 when none fits). An optional input that is left out keeps its place: ``create_tensor_desc(-1,
    [], -1)`` with ``create_data_buffer(0, 0)``. When an output shape depends on data the call is synchronous, and the
    true shape is written to the output descriptor. ``attr`` 0 is the empty set, ``stream`` 0 the default stream of
    the current context (107002 without one). 145000 when a buffer is smaller than its descriptor says.
    C: ``aclopExecuteV2``.
    """
    return _machine.aclopExecuteV2(op_type, input_desc, inputs, output_desc, outputs, attr, stream)


def execute_with_handle(handle: int, inputs: list[int], outputs: list[int], stream: int) -> int:
    """Runs the operator of a handle asynchronously; the code.

    100021 and 100022 when the number of inputs or outputs is not the handle's, 145000 when a buffer is too small.
    Dynamic shapes need ``execute_v2``. C: ``aclopExecWithHandle``.
    """
    return _machine.aclopExecWithHandle(handle, inputs, outputs, stream)


def cast(src_desc: int, src_buffer: int, dst_desc: int, dst_buffer: int, truncate: int, stream: int) -> int:
    """Runs the operator Cast; the code.

    ``truncate`` (0 .. 255) becomes the bool attribute ``truncate``, the destination's type the int attribute
    ``dst_type``; a model is found by match as for any other operator. C: ``aclopCast``.
    """
    return _machine.aclopCast(src_desc, src_buffer, dst_desc, dst_buffer, truncate, stream)


def create_handle_for_cast(src_desc: int, dst_desc: int, truncate: int) -> tuple[int, int]:
    """A handle of the operator Cast: ``(handle, ret)``.

    As ``cast``; 100024 when no model fits. C: ``aclopCreateHandleForCast``.
    """
    return _machine.aclopCreateHandleForCast(src_desc, dst_desc, truncate)


def create_handle(op_type: str, input_desc: list[int], output_desc: list[int], attr: int) -> tuple[int, int]:
    """A handle of an operator, for many runs with the same shapes: ``(handle, ret)``.

    Descriptors and attributes are copied. 100024 when no model fits, 148050 for a dynamic shape.
    C: ``aclopCreateHandle``.
    """
    return _machine.aclopCreateHandle(op_type, input_desc, output_desc, attr)


def destroy_handle(handle: int) -> None:
    """Ends an operator handle. 0 is fine.

    C: ``aclopDestroyHandle``.
    """
    _machine.aclopDestroyHandle(handle)


def register_compile_func(
    op_type: str, func: Callable[[int, list[int], int, list[int], int, int], int | None]
) -> int:
    """Registers the function that chooses the kernel of an operator when ``update_params`` is called; the code.

    ``func(num_inputs, input_desc, num_outputs, output_desc, attr, kernel_desc)`` calls ``set_kernel_args`` and returns a code
    (None is 0). 100030 when the operator has one. An operator that runs here is registered with ``hostacl.op``.
    C: ``aclopRegisterCompileFunc``.
    """
    return _machine.aclopRegisterCompileFunc(op_type, func)


def unregister_compile_func(op_type: str) -> int:
    """Takes back the function that chooses kernels for an operator; the code.

    100028 when there is none. C: ``aclopUnregisterCompileFunc``.
    """
    return _machine.aclopUnregisterCompileFunc(op_type)


def create_kernel(
    op_type: str, kernel_id: str, kernel_name: str, bin_data: int, bin_size: int, engine_type: int, deallocator:
    int
) -> int:
    """Registers a kernel of the user's own; the code.

    The binary is for a device and cannot run here: register the operator with ``hostacl.op`` as well. 100031 when the operator
    has a kernel of this id; ``engine_type`` is 1 or 2; ``deallocator`` is 0 or the address of a C function, called with
    ``bin_data`` and ``bin_size`` by ``acl.finalize``. C: ``aclopCreateKernel``.
    """
    return _machine.aclopCreateKernel(op_type, kernel_id, kernel_name, bin_data, bin_size, engine_type, deallocator)


def update_params(op_type: str, input_desc: list[int], output_desc: list[int], attr: int) -> int:
    """Has the function of ``register_compile_func`` choose the kernel for these descriptors; the code.

    100028 without a function, 100029 when it chose no kernel or one that ``create_kernel`` did not register, else what it
    returned; what it raises is raised. C: ``aclopUpdateParams``.
    """
    return _machine.aclopUpdateParams(op_type, input_desc, output_desc, attr)


def set_kernel_args(kernel_desc: int, kernel_id: str, block_dim: int, args: int, arg_size: int) -> int:
    """Says which kernel was chosen, and its arguments; the code.

    ``kernel_desc`` is what the compile function was given, valid until it returns. C: ``aclopSetKernelArgs``.
    """
    return _machine.aclopSetKernelArgs(kernel_desc, kernel_id, block_dim, args, arg_size)


def set_kernel_workspace_sizes(kernel_desc: int, num_workspaces: int, workspace_sizes: int) -> int:
    """Says how much working memory (bytes) the chosen kernel needs; the code. ``workspace_sizes`` is an address.

    C: ``aclopSetKernelWorkspaceSizes``.
    """
    return _machine.aclopSetKernelWorkspaceSizes(kernel_desc, num_workspaces, workspace_sizes)


def set_max_op_queue_num(max_op_num: int) -> int:
    """Sets how many compiled models are kept at most; the code.

    Static and dynamic models count each by itself; the least recently used goes first. C: ``aclopSetMaxOpQueueNum``.
    """
    return _machine.aclopSetMaxOpQueueNum(max_op_num)


def start_dump_args(dump_type: int, path: str) -> int:
    """Starts dumping the arguments of operators; the code.

    C: ``aclopStartDumpArgs``.
    """
    return _machine.aclopStartDumpArgs(dump_type, path)


def stop_dump_args(dump_type: int) -> int:
    """Stops dumping the arguments of operators; the code.

    C: ``aclopStopDumpArgs``.
    """
    return _machine.aclopStopDumpArgs(dump_type)


def compile(
    op_type: str, input_desc: list[int], output_desc: list[int], attr: int, engine_type: int, compile_flag: int,
    op_path: str | None
) -> int:
    """Makes the model of an operator; the code. An extension with C's arguments.

    ``compile_flag`` must be 0 (ACL_COMPILE_SYS), else 200001; ``op_path`` may be None. 500002 when there is no such
    operator or the call cannot be built: the message names operator, argument, what was given and what is allowed.
    C: ``aclopCompile``.
    """
    return _machine.aclopCompile(op_type, input_desc, output_desc, attr, engine_type, compile_flag, op_path)


def compile_and_execute(
    op_type: str, input_desc: list[int], inputs: list[int], output_desc: list[int], outputs: list[int], attr: int,
    engine_type: int, compile_flag: int, op_path: str | None, stream: int
) -> int:
    """Makes the model of an operator unless it is there, and runs it as ``execute`` does; the code.

    An extension with C's arguments. The errors are those of ``compile`` and ``execute``.
    C: ``aclopCompileAndExecute``.
    """
    return _machine.aclopCompileAndExecute(
        op_type, input_desc, inputs, output_desc, outputs, attr, engine_type, compile_flag, op_path, stream
    )


def compile_and_execute_v2(
    op_type: str, input_desc: list[int], inputs: list[int], output_desc: list[int], outputs: list[int], attr: int,
    engine_type: int, compile_flag: int, op_path: str | None, stream: int
) -> int:
    """Makes the model of an operator unless it is there, and runs it as ``execute_v2`` does; the code.

    An extension with C's arguments. The errors are those of ``compile`` and ``execute_v2``.
    C: ``aclopCompileAndExecuteV2``.
    """
    return _machine.aclopCompileAndExecuteV2(
        op_type, input_desc, inputs, output_desc, outputs, attr, engine_type, compile_flag, op_path, stream
    )


def set_compile_flag(flag: int) -> int:
    """Chooses exact (0) or fuzzy (1) compilation (``aclOpCompileFlag``); the code.

    C: ``aclopSetCompileFlag``.
    """
    return _machine.aclopSetCompileFlag(flag)


_LEFT_OUT: Final = -1 << 64  # no handle


@overload
def infer_shape(
    op_type: str, input_desc: list[int], inputs: list[int], num_outputs: int, output_desc: list[int], attr: int
) -> int: ...
@overload
def infer_shape(op_type: str, input_desc: list[int], inputs: list[int], num_outputs: list[int], output_desc: int) -> int: ...
def infer_shape(
    op_type: str, input_desc: list[int], inputs: list[int], num_outputs: int | list[int], output_desc: list[int] | int,
    attr: int = _LEFT_OUT,
) -> int:
    """Writes dtype, format, dims and ranges of an operator's outputs into ``output_desc``; the code.

    The data of ``inputs`` lie in host memory. A dim is exact, or -1 with a range (``get_tensor_desc_dim_range``), or the rank
    is unknown. ``num_outputs`` may be left out: ``infer_shape(op_type, input_desc, inputs, output_desc, attr)``. Descriptors of
    an operator with variadic tensors need names. 100000 for an unknown operator or an empty data buffer.
    C: ``aclopInferShape``.
    """
    if attr is _LEFT_OUT:
        return _machine.aclopInferShape(op_type, input_desc, inputs, num_outputs, output_desc)
    return _machine.aclopInferShape(op_type, input_desc, inputs, num_outputs, output_desc, attr)
