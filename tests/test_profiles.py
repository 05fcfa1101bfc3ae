"""Profiles: products, dtypes, overflow, versions, and changing them for a while."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import acl
import hostacl
from hostacl import config
from hostacl.errors import AclError
from hostacl.ops.registry import find, implemented
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes, formats
from tests.calls import build_and_execute, compile_op, const, device, message
from tests.machine import started

PRODUCTS = {  # one name a family: overflows to Inf by default, the family's other mode can be switched on
    "Ascend950": (True, False),
    "Ascend910_93": (True, True),
    "Ascend910B1": (True, True),
    "Ascend310B": (False, False),
    "Ascend310P": (False, False),
    "Ascend910A": (False, False),
}
INF, NAN = np.inf, np.nan
SATURATE, INF_NAN = 0, 1
H2H = 0

products = pytest.mark.parametrize("soc", PRODUCTS)


machine = pytest.fixture(autouse=True)(started)


def half(op: str, *inputs: list[float]) -> np.ndarray:
    """The result of an element-wise float16 operator."""
    tensors = [device(np.array(one, np.float16)) for one in inputs]
    out = device(np.zeros(len(inputs[0]), np.float16))
    assert build_and_execute(op, tensors, [out]) == 0, message()
    assert acl.rt.synchronize_device() == 0
    return out.read()


@products
def test_the_name_of_the_product(soc: str) -> None:
    with hostacl.settings(soc=soc):
        assert acl.get_soc_name() == soc
    assert acl.get_soc_name() == "Ascend910B1"


@products
def test_overflow_of_halves(soc: str) -> None:
    infinite, _ = PRODUCTS[soc]
    with hostacl.settings(soc=soc):
        want = [INF, -INF] if infinite else [65504, -65504]
        np.testing.assert_array_equal(half("Add", [60000, -60000], [60000, -60000]), np.array(want, np.float16))
        np.testing.assert_array_equal(half("Sub", [INF], [INF]), [NAN] if infinite else [0])
        np.testing.assert_array_equal(half("Exp", [20.0]), [INF] if infinite else [65504])


@products
def test_the_other_overflow_mode(soc: str) -> None:
    infinite, both = PRODUCTS[soc]
    other = SATURATE if infinite else INF_NAN
    with hostacl.settings(soc=soc):
        assert acl.rt.get_device_sat_mode() == (INF_NAN if infinite else SATURATE, 0)
        assert acl.rt.set_device_sat_mode(other) == 0
        got = half("Add", [60000.0], [60000.0])
        np.testing.assert_array_equal(got, [INF] if infinite != both else [65504])
        assert acl.rt.set_device_sat_mode(INF_NAN if infinite else SATURATE) == 0


@products
def test_saturation_is_of_halves_only(soc: str) -> None:
    with hostacl.settings(soc=soc):
        x, y = device(np.array([3e38, NAN], np.float32)), device(np.zeros(2, np.float32))
        assert build_and_execute("Add", [x, x], [y]) == 0
        assert acl.rt.synchronize_device() == 0
        np.testing.assert_array_equal(y.read(), [INF, NAN])


@products
@pytest.mark.parametrize("dtype", [dtypes.FLOAT16, dtypes.FLOAT, dtypes.INT8])
def test_the_block_of_five_dims_holds_32_bytes_or_16(soc: str, dtype: int) -> None:
    """C0: 32 of bytes, 16 of half types; float32 is written with 16, or 8 where blocks are cut by bytes."""
    size = formats.block_size(dtype, soc)
    assert size == {dtypes.FLOAT16: 16, dtypes.INT8: 32}.get(dtype, size)
    assert size in {8, 16, 32}
    with hostacl.settings(soc=soc):
        array = np.arange(3, dtype=dtypes.numpy_dtype(dtype)).reshape(1, 3, 1, 1)
        source = device(array, 0)
        target = device(np.zeros((1, 1, 1, 1, size), array.dtype), 3)
        attrs = {"src_format": "NCHW", "dst_format": "NC1HWC0", "groups": 1}
        assert build_and_execute("TransData", [source], [target], attrs) == 0, message()
        assert acl.rt.synchronize_device() == 0
        np.testing.assert_array_equal(target.read().ravel(), [0, 1, 2, *[0] * (size - 3)])


@pytest.mark.parametrize("soc", ["Ascend310B4", "Ascend310P3", "Ascend910B4", "Ascend910_9391"])
def test_other_names_of_the_families_are_known(soc: str) -> None:
    with hostacl.settings(soc=soc):
        assert acl.get_soc_name() == soc


def test_a_product_that_is_none_is_refused() -> None:
    with pytest.raises(AclError, match="Pentium") as caught, hostacl.settings(soc="Pentium"):
        pass
    for name in PRODUCTS:
        assert name in str(caught.value)


@pytest.mark.parametrize("op_type", ["Add", "Exp", "Gelu", "ReduceMeanD"])
def test_strict_takes_what_prototypes_list_and_permissive_what_computes(op_type: str) -> None:
    known = prototype(op_type)
    assert known is not None
    strange = dtypes.UINT64 if op_type == "Add" else dtypes.DOUBLE if op_type != "Exp" else dtypes.INT32
    array = np.ones(4, dtypes.numpy_dtype(strange))
    if strange in known.inputs[0].allowed:
        pytest.skip(f"{op_type} lists {dtypes.dtype_name(strange)}")
    x, y = device(array), device(np.zeros(() if op_type == "ReduceMeanD" else 4, array.dtype))
    attrs = {"axes": [0], "keep_dims": False} if op_type == "ReduceMeanD" else {}
    inputs = [x] * len(known.inputs)
    assert compile_op(op_type, inputs, [y], attrs) == 500002
    assert "HOSTACL_DTYPES=permissive" in message()
    if op_type == "Exp":
        return  # of integers nothing computes exactly
    with hostacl.settings(dtypes="permissive"):
        assert compile_op(op_type, inputs, [y], attrs) == 0, message()
    assert compile_op(op_type, inputs, [y], attrs) in {0, 500002}


def test_every_operator_is_there_under_every_product() -> None:
    for soc in PRODUCTS:
        with hostacl.settings(soc=soc):
            assert all(find(op_type) for op_type in implemented())


@pytest.mark.parametrize("version", ["9.0", "8.0.RC3", "8.1.RC1", "7.0.0"])
def test_the_version_that_is_reported(version: str) -> None:
    with hostacl.settings(cann=version):
        assert acl.get_version_str("runtime") == (version, 0)


@pytest.mark.parametrize(("version", "at_call", "later"), [("8.0.RC2", 0, 207000), ("8.0.RC3", 207000, 0), ("9.0", 207000, 0)])
def test_asynchronous_copies_between_host_memories(version: str, at_call: int, later: int) -> None:
    with hostacl.settings(cann=version):
        pointers = [acl.rt.malloc_host(64)[0] for _ in range(2)]
        assert acl.rt.memcpy_async(pointers[0], 64, pointers[1], 64, H2H, 0) == at_call
        assert acl.rt.synchronize_device() == later
        assert acl.rt.synchronize_device() == 0


@pytest.mark.parametrize("version", ["7.0.0", "8.0.RC2", "9.0"])
def test_a_second_init_is_harmless_in_every_version(version: str) -> None:
    with hostacl.settings(cann=version):
        assert acl.init() == 100002
        np.testing.assert_array_equal(half("Add", [1.0], [2.0]), [3])


# ---- hostacl.settings ------------------------------------------------------------------------------------------------


def test_settings_are_put_back_after_an_exception() -> None:
    before = config.settings()

    def fail() -> None:
        with hostacl.settings(soc="Ascend310P", dtypes="permissive", cann="8.0.RC2"):
            raise KeyError("inside")

    with pytest.raises(KeyError):
        fail()
    assert config.settings() == before
    assert acl.get_soc_name() == "Ascend910B1"


def test_settings_nest() -> None:
    with hostacl.settings(soc="Ascend310P"):
        with hostacl.settings(soc="Ascend950"):
            assert acl.get_soc_name() == "Ascend950"
            np.testing.assert_array_equal(half("Add", [60000.0], [60000.0]), [INF])
        np.testing.assert_array_equal(half("Add", [60000.0], [60000.0]), [65504])
    np.testing.assert_array_equal(half("Add", [60000.0], [60000.0]), [INF])


@pytest.mark.parametrize("given", [{"dtypes": "loose"}, {"scheduler": "lazy"}, {"cann": "nine"}, {"no_such": "1"}])
def test_a_bad_setting_changes_nothing(given: dict[str, str]) -> None:
    before = config.settings()
    with pytest.raises(AclError, match="HA105") as caught, hostacl.settings(soc="Ascend310P", **given):
        pass
    assert caught.value.code == 100000
    assert next(iter(given)) in str(caught.value).lower()
    assert config.settings() == before
    assert acl.get_soc_name() == "Ascend910B1"


def test_models_stay_and_plans_follow_the_setting() -> None:
    x = device(np.array([60000], np.float16))
    outputs = [device(np.zeros(1, np.float16)) for _ in range(2)]
    assert compile_op("Add", [x, x], outputs[:1]) == 0
    call = [[x.desc, x.desc], [x.buffer, x.buffer]]
    for soc, out in zip(("Ascend310P", "Ascend910B1"), outputs, strict=True):
        with hostacl.settings(soc=soc):
            assert acl.op.execute_v2("Add", *call, [out.desc], [out.buffer], 0, 0) == 0
            assert acl.rt.synchronize_device() == 0
    assert [float(out.read()[0]) for out in outputs] == [65504, INF]


@pytest.mark.parametrize(
    ("name", "value"), [("HOSTACL_SOC", "Ascend310P"), ("HOSTACL_DTYPES", "permissive"), ("HOSTACL_CANN", "8.0.RC2")]
)
def test_the_environment_sets_them(name: str, value: str) -> None:
    code = "import acl; from hostacl.config import settings as s; print(acl.get_soc_name(), s().soc, s().dtypes, s().cann)"
    env = {**os.environ, name: value}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert value in done.stdout


def test_a_const_axis_under_every_product() -> None:
    for soc in PRODUCTS:
        with hostacl.settings(soc=soc):
            x, y = device(np.arange(6, dtype=np.float32).reshape(2, 3)), device(np.zeros(3, np.float32))
            assert build_and_execute("ReduceSum", [x, const(np.array([0], np.int64))], [y], {"keep_dims": False}) == 0
            assert acl.rt.synchronize_device() == 0
            np.testing.assert_array_equal(y.read(), [3, 5, 7])
