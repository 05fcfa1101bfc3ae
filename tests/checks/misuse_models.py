"""HA6xx by example."""

from __future__ import annotations

import hashlib

import numpy as np

from hostacl.singleop import modelfile
from hostacl.singleop.models import Model
from hostacl.tensors.spec import TensorSpec
from tests.checks.kit import Kit, misuse


def _model(text: bytes = b"", change: bytes = b"") -> bytes:
    """The file of a model; with a text of its content changed, under a right checksum."""
    spec = TensorSpec(0, (4,), 2)
    data = modelfile.to_bytes(Model("Abs", (spec,), (spec,)))
    if not text:
        return data
    magic, length, rest, _ = modelfile._HEADER.unpack_from(data)
    body = data[modelfile._HEADER.size :].replace(text, change)
    return modelfile._HEADER.pack(magic, length + len(change) - len(text), rest, hashlib.sha256(body).digest()) + body


def _load(kit: Kit, data: bytes, size: int | None = None) -> int:
    return int(kit.api.op.load(kit.host(np.frombuffer(data, np.uint8)), len(data) if size is None else size))


@misuse("HA601", "op.execute_v2", "", "Abs", "[5]", "[4]")
def no_model(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    x, y = (kit.tensor([5]), kit.tensor([5])) if wrong else (x, y)
    kit.execute("Abs", [x], [y])


@misuse("HA602", "op.execute_v2", "inputDesc[0].dims[0]", "-1; allowed: the real shape")
def unknown_dim(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    kit.execute("Abs", [(kit.desc([-1]) if wrong else x[0], x[1])], [y])


@misuse("HA603", "op.load", "", "hostacl atc")
def vendor_model(kit: Kit, wrong: bool) -> None:
    _load(kit, b"IMOD" + bytes(60) if wrong else _model())


@misuse("HA604", "op.load", "model", "its header asks for")
def cut_model(kit: Kit, wrong: bool) -> None:
    data = _model()
    _load(kit, data, len(data) - (8 if wrong else 0))


@misuse("HA605", "op.load", "", "cannot be read: its checksum does not fit")
def unreadable_model(kit: Kit, wrong: bool) -> None:
    data = _model()
    _load(kit, data[:-1] + b"?" if wrong else data)


@misuse("HA606", "op.load", "", "lacks 'outputs'; every model holds")
def incomplete_model(kit: Kit, wrong: bool) -> None:
    _load(kit, _model(b'"outputs"', b'"outputz"' if wrong else b'"outputs"'))


@misuse("HA607", "op.set_model_dir", "model_dir", "/nowhere", "is not there")
def no_model_dir(kit: Kit, wrong: bool) -> None:
    kit.api.op.set_model_dir("/nowhere" if wrong else str(kit.folder))


@misuse("HA608", "op.set_model_dir", "modelDir", "once for a process")
def model_dir_twice(kit: Kit, wrong: bool) -> None:
    for _ in range(2 if wrong else 1):
        kit.api.op.set_model_dir(str(kit.folder))


@misuse("HA609", "op.set_model_dir", "", "broken.om")
def skipped_model(kit: Kit, wrong: bool) -> None:
    kit.file("broken.om", b"nothing" if wrong else _model())
    kit.api.op.set_model_dir(str(kit.folder))


@misuse("HA610", "op.create_handle", "inputDesc[0].dims[0]", "Abs: ", "= -1; a handle has fixed shapes", "aclopExecuteV2")
def dynamic_handle(kit: Kit, wrong: bool) -> None:
    desc, real = kit.desc([-1]), kit.desc([4])
    kit.api.set_tensor_shape_range(desc, [[1, 8]])
    one = desc if wrong else real
    kit.api.op.compile("Abs", [one], [one], 0, 0, 0, "")
    kit.api.op.create_handle("Abs", [one], [one], 0)


@misuse("HA611", "op.execute_with_handle", "numInputs", "2; the handle was made with 1")
def other_counts(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.compile("Abs", [x], [y])
    handle, _ = kit.api.op.create_handle("Abs", [x[0]], [y[0]], 0)
    kit.api.op.execute_with_handle(handle, [x[1]] * (2 if wrong else 1), [y[1]], kit.stream)


@misuse("HA612", "op.compile", "engineType", "7; allowed: 0")
def compile_flag(kit: Kit, wrong: bool) -> None:
    x = kit.desc([4])
    kit.api.op.compile("Abs", [x], [x], 0, 7 if wrong else 0, 0, "")


@misuse("HA615", "op.load", "modelSize", "0")
def empty_model(kit: Kit, wrong: bool) -> None:
    _load(kit, _model(), 0 if wrong else None)


@misuse("HA616", "set_compileopt", "opt", "99; allowed: an aclCompileOpt")
def compile_option(kit: Kit, wrong: bool) -> None:
    kit.api.set_compileopt(99 if wrong else 6, "enable")


@misuse("HA617", "op.set_max_op_queue_num", "maxOpNum", "0; allowed: 1 or more")
def queue_length(kit: Kit, wrong: bool) -> None:
    kit.api.op.set_max_op_queue_num(0 if wrong else 100)


@misuse("HA618", "op.unregister_compile_func", "opType", "has no compile function")
def compile_function(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.op.register_compile_func("MisuseCustom", lambda *_: 0)
    kit.api.op.unregister_compile_func("MisuseCustom")


@misuse("HA619", "op.create_kernel", "binSize", "0; allowed: above 0", also=("HA620",))
def user_kernel(kit: Kit, wrong: bool) -> None:
    kit.api.op.create_kernel("MisuseCustom", "0", "kernel", kit.host(np.zeros(8, np.uint8)), 0 if wrong else 8, 1, 0)


@misuse("HA620", "op.create_kernel", "", "MisuseCustom", "is a device binary", also=("HA619",))
def device_binary(kit: Kit, wrong: bool) -> None:
    if wrong:
        kit.api.op.create_kernel("MisuseCustom", "1", "kernel", kit.host(np.zeros(8, np.uint8)), 8, 1, 0)

