"""Model files: written, read, refused with their codes; folders three levels deep."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

from hostacl.errors import AclError
from hostacl.singleop import modelfile
from hostacl.singleop.models import Model
from hostacl.tensors.spec import TensorSpec

MODEL = Model(
    "ReduceSum",
    (
        TensorSpec(1, (-1, 4), 2, name="x", ranges=((1, 9), (4, 4)), storage_format=29, storage_shape=(1, 1, 16, 16)),
        TensorSpec(3, (2,), const=b"\x01\0\0\0\xff\xff\xff\xff"),
        TensorSpec(-1, (), -1),
        TensorSpec(0, (), placement=1, dynamic_input="x"),
    ),
    (TensorSpec(1, (-2,)),),
    {
        "keep_dims": ("bool", True),
        "f": ("float", 0.5),
        "s": ("string", "ä"),
        "l": ("list_list_int", [[1], [2, 3]]),
        "n": ("list_float", []),
    },
)


def code_of(content: bytes) -> tuple[int, str]:
    with pytest.raises(AclError) as caught:
        modelfile.from_bytes(content, "a.om")
    assert "a.om" in caught.value.text
    return caught.value.code, caught.value.rule


def container(content: object, data: bytes = b"") -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HACLOM1\n" + struct.pack("<QQ", len(text), len(data)) + hashlib.sha256(text + data).digest() + text + data


def test_what_is_written_is_read(tmp_path: Path) -> None:
    modelfile.write(tmp_path / "m.om", MODEL, soc_version="Ascend310P3")
    read = modelfile.read(tmp_path / "m.om")
    assert (read.op_type, read.inputs, read.outputs, read.attrs.keys()) == (
        "ReduceSum",
        MODEL.inputs,
        MODEL.outputs,
        MODEL.attrs.keys(),
    )
    assert read.key == MODEL.key
    assert (read.origin, read.path) == ("loaded", str(tmp_path / "m.om"))
    assert [path.name for path in tmp_path.iterdir()] == ["m.om"]


def test_vendor_file_says_what_to_do() -> None:
    assert code_of(b"\x49\x4d\x4f\x44" + bytes(300)) == (100013, "HA603")
    with pytest.raises(AclError, match="hostacl atc --singleop"):
        modelfile.from_bytes(b"IMOD" + bytes(300))


@pytest.mark.parametrize("length", [0, 5, 8, 30, 56, -1])
def test_cut_file_is_no_model(length: int) -> None:
    assert code_of(modelfile.to_bytes(MODEL)[:length]) == (100013, "HA604")


def test_too_long_is_no_model() -> None:
    assert code_of(modelfile.to_bytes(MODEL) + b"\0") == (100013, "HA604")


def test_changed_inside_is_unreadable() -> None:
    content = bytearray(modelfile.to_bytes(MODEL))
    content[80] ^= 1
    assert code_of(bytes(content)) == (100012, "HA605")


@pytest.mark.parametrize(
    "content",
    [b"{", [], {"op_type": "A", "inputs": 3, "outputs": [], "attrs": {}},
     {"op_type": "A", "inputs": [], "outputs": [], "attrs": {"x": 1}},
     {"op_type": "A", "inputs": [{"dtype": 0, "shape": [1], "const": [0, 4]}], "outputs": [], "attrs": {}}],
)  # fmt: skip
def test_odd_content_is_unreadable(content: object) -> None:
    assert code_of(container(content)) == (100012, "HA605")


@pytest.mark.parametrize("missing", ["op_type", "inputs", "outputs", "attrs"])
def test_missing_field(missing: str) -> None:
    fields = {"op_type": "A", "inputs": [], "outputs": [], "attrs": {}}
    del fields[missing]
    assert code_of(container(fields)) == (100016, "HA606")


def test_folder_is_read_three_levels_deep_and_bad_files_are_told(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    place = tmp_path
    for depth in range(4):
        modelfile.write(place / f"{depth}.om", Model(f"Op{depth}", (), ()))
        place = place / "deeper"
        place.mkdir()
    (tmp_path / "bad.om").write_bytes(b"nonsense")
    (tmp_path / "other.txt").write_bytes(b"nonsense")
    found = modelfile.load_dir(str(tmp_path), lambda rule, text: told.append((rule, text)))
    assert sorted(model.op_type for model in found) == ["Op0", "Op1", "Op2"]
    assert [rule for rule, _ in told] == ["HA609"]
    assert "bad.om" in told[0][1]
    assert "100013" in told[0][1]


def test_empty_folder_is_fine_and_a_missing_one_is_not(tmp_path: Path) -> None:
    assert modelfile.load_dir(str(tmp_path), print) == []
    for path in (tmp_path / "none", tmp_path / "file.om"):
        (tmp_path / "file.om").touch()
        with pytest.raises(AclError) as caught:
            modelfile.load_dir(str(path), print)
        assert (caught.value.code, caught.value.rule) == (100014, "HA607")
