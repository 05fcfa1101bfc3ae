"""Single-operator JSON, as `atc --singleop` reads it, into models and the names of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from hostacl.errors import AclError
from hostacl.singleop.keys import Attr, Range
from hostacl.singleop.models import Model
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import UNDEFINED, TensorSpec

PARSE_FILE = 100006
MAX_NAME = 128
_T = TypeVar("_T")

_TYPES = {entry.name: entry.code for entry in dtypes.TABLE} | {
    "float": dtypes.FLOAT,
    "fp32": dtypes.FLOAT,
    "fp16": dtypes.FLOAT16,
    "double": dtypes.DOUBLE,
    "bf16": dtypes.BF16,
}
_FORMATS = {name.upper(): code for name, code in formats.CODES.items()}
_SHAPE_KEYS = ("format", "shape", "type", "origin_format", "origin_shape", "shape_range")
_TENSOR_KEYS = frozenset((*_SHAPE_KEYS, "name", "dynamic_input", "is_const", "const_value"))
_OP_KEYS = frozenset(("op", "name", "input_desc", "output_desc", "attr"))


class SingleOp(NamedTuple):
    """One operator of the JSON: the model to build and the name of its file."""

    model: Model
    file_name: str


class Parsed(NamedTuple):
    """What a JSON says: its operators, its compile flag, and notes on what was passed over."""

    ops: tuple[SingleOp, ...]
    compile_flag: int
    notes: tuple[str, ...]


def parse(text: str) -> Parsed:
    """The operators of a single-op JSON text. AclError 100006 names the place, the value given and what is allowed."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise AclError(PARSE_FILE, "HA613", f"this is not JSON: {error}") from error
    reader = _Reader()
    items = _typed(content, list, "the whole file", 'a list of operators: [{"op": ...}, ...]')
    ops: list[SingleOp] = []
    flag = 0
    for place, item in enumerate(items):
        entry = _typed(item, dict, f"[{place}]", "an object with op, input_desc, output_desc and attr")
        if "op" not in entry and "compile_flag" in entry:
            flag = _integer(entry["compile_flag"], f"[{place}].compile_flag", 0, 1)
        else:
            ops.append(reader.op(entry, f"[{place}]", len(ops)))
    if not ops:
        _refuse("the whole file", content, 'at least one operator: [{"op": ...}]')
    return Parsed(tuple(ops), flag, tuple(reader.notes))


class _Reader:
    """Reads operators and remembers what it passed over."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def op(self, entry: Mapping[str, Any], at: str, index: int) -> SingleOp:
        self._unknown(entry, _OP_KEYS, at)
        op_type = _typed(_required(entry, "op", at), str, f"{at}.op", 'an operator\'s name such as "Add"')
        if not op_type:
            _refuse(f"{at}.op", op_type, 'an operator\'s name such as "Add"')
        inputs, outputs = (self._tensors(entry, side, at) for side in ("input_desc", "output_desc"))
        model = Model(op_type, tuple(inputs), tuple(outputs), self._attrs(entry.get("attr", []), f"{at}.attr"))
        given = _typed(entry.get("name", ""), str, f"{at}.name", "the name of the model's file")
        if "/" in given:
            _refuse(f"{at}.name", given, "a file name without /")
        return SingleOp(model, (given or file_stem(index, model))[:MAX_NAME] + ".om")

    def _tensors(self, entry: Mapping[str, Any], side: str, at: str) -> Iterator[TensorSpec]:
        for index, item in enumerate(_typed(_required(entry, side, at), list, f"{at}.{side}", "a list of tensors")):
            place = f"{at}.{side}[{index}]"
            yield self._tensor(_typed(item, dict, place, "an object with format, shape and type"), place)

    def _tensor(self, entry: Mapping[str, Any], at: str) -> TensorSpec:
        self._unknown(entry, _TENSOR_KEYS, at)
        dtype = _dtype(_required(entry, "type", at), f"{at}.type")
        name = _typed(entry.get("name", ""), str, f"{at}.name", "a string")
        if dtype == UNDEFINED:
            return TensorSpec(UNDEFINED, (), UNDEFINED, name=name)
        stored = _dims(_required(entry, "shape", at), f"{at}.shape")
        stored_format = _format(_required(entry, "format", at), f"{at}.format")
        shape = _dims(entry["origin_shape"], f"{at}.origin_shape") if "origin_shape" in entry else stored
        origin = _format(entry["origin_format"], f"{at}.origin_format") if "origin_format" in entry else stored_format
        return TensorSpec(
            dtype,
            shape,
            origin,
            storage_format=stored_format if stored_format != origin else UNDEFINED,
            storage_shape=stored if stored != shape else None,
            name=name,
            ranges=_ranges(entry.get("shape_range"), shape, f"{at}.shape_range"),
            const=_const(entry, dtype, shape, at),
            dynamic_input=_typed(entry.get("dynamic_input", ""), str, f"{at}.dynamic_input", "a string"),
        )

    def _attrs(self, entries: Any, at: str) -> dict[str, Attr]:
        found: dict[str, Attr] = {}
        for index, item in enumerate(_typed(entries, list, at, "a list of attributes")):
            place = f"{at}[{index}]"
            entry = _typed(item, dict, place, "an object with name, type and value")
            self._unknown(entry, frozenset(("name", "type", "value")), place)
            name = _typed(_required(entry, "name", place), str, f"{place}.name", "the attribute's name")
            if name in found or not name:
                _refuse(f"{place}.name", name, "a name, each only once")
            found[name] = _attr(_required(entry, "type", place), _required(entry, "value", place), place)
        return found

    def _unknown(self, entry: Mapping[str, Any], known: frozenset[str], at: str) -> None:
        self.notes += [f"{at}.{key} is not known and passed over" for key in entry if key not in known]


def file_stem(index: int, model: Model) -> str:
    """An unnamed operator's file: ``0_Add_3_2_8_16_3_2_8_16_3_2_8_16``, each tensor's type, format and dims as stored."""
    parts: list[int | str] = [index, model.op_type]
    for spec in model.tensors:
        stored = spec.format if spec.storage_format == UNDEFINED else spec.storage_format
        parts += [spec.dtype, stored, *(spec.shape if spec.storage_shape is None else spec.storage_shape)]
    return "_".join(map(str, parts))


def _refuse(at: str, given: object, allowed: str) -> NoReturn:
    shown = json.dumps(given)
    raise AclError(PARSE_FILE, "HA613", f"{at} = {shown[:120]}{'…' if len(shown) > 120 else ''}; allowed: {allowed}.")


def _required(entry: Mapping[str, Any], key: str, at: str) -> Any:
    if key not in entry:
        raise AclError(PARSE_FILE, "HA613", f"{at}.{key} is missing; {at} has {', '.join(sorted(entry)) or 'nothing'}.")
    return entry[key]


def _typed(value: Any, kind: type[_T], at: str, allowed: str) -> _T:
    return value if isinstance(value, kind) else _refuse(at, value, allowed)


def _integer(value: Any, at: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        _refuse(at, value, f"a whole number from {low} to {high}")
    return value


def _dtype(value: Any, at: str) -> int:
    code = _TYPES.get(value.lower()) if isinstance(value, str) else None
    return _refuse(at, value, ", ".join(_TYPES)) if code is None else code


def _format(value: Any, at: str) -> int:
    code = _FORMATS.get(value.upper()) if isinstance(value, str) else None
    return _refuse(at, value, ", ".join(_FORMATS)) if code is None else code


def _dims(value: Any, at: str) -> tuple[int, ...]:
    allowed = "a list of dims, each at least 0, or -1 for an unknown one; [-2] for an unknown rank"
    dims = _typed(value, list, at, allowed)
    if dims == [-2]:
        return (-2,)
    return tuple(_integer(dim, f"{at}[{axis}]", -1) for axis, dim in enumerate(dims))


def _ranges(value: Any, shape: Sequence[int], at: str) -> tuple[Range, ...]:
    """A range for each dim. The file may give one for each dim or only for those that are -1."""
    if value is None or value == []:
        return ()
    open_dims = [axis for axis, dim in enumerate(shape) if dim == -1]
    allowed = f"a list of [min, max], one for each of the {len(shape)} dims or of the {len(open_dims)} dims that are -1"
    pairs = [_range(pair, f"{at}[{index}]") for index, pair in enumerate(_typed(value, list, at, allowed))]
    if len(pairs) == len(shape):
        return tuple(pairs)
    if len(pairs) != len(open_dims):
        _refuse(at, value, allowed)
    given = dict(zip(open_dims, pairs, strict=True))
    return tuple(given.get(axis, (dim, dim)) for axis, dim in enumerate(shape))


def _range(value: Any, at: str) -> Range:
    allowed = "[min, max] with 0 <= min <= max, or max -1 for no bound"
    pair = _typed(value, list, at, allowed)
    if len(pair) != 2:
        _refuse(at, value, allowed)
    low, high = (_integer(bound, at) for bound in pair)
    return (low, high) if low >= 0 and (high == -1 or low <= high) else _refuse(at, value, allowed)


def _const(entry: Mapping[str, Any], dtype: int, shape: tuple[int, ...], at: str) -> bytes | None:
    is_const = _typed(entry.get("is_const", False), bool, f"{at}.is_const", "true or false")
    if not is_const:
        if "const_value" in entry:
            _refuse(f"{at}.const_value", entry["const_value"], "a value only where is_const is true")
        return None
    value = _required(entry, "const_value", at)
    at = f"{at}.const_value"
    array = _array(value, dtype, at)
    count = int(np.prod(shape, dtype=np.int64))
    if min(shape, default=0) < 0 or array.size != count:
        _refuse(at, value, f"as many values as the shape {list(shape)} has, all dims known")
    return array.tobytes()


def _array(value: Any, dtype: int, at: str) -> np.ndarray[Any, Any]:
    if not dtypes.has_arrays(dtype) or dtype in dtypes.PACKED:
        _refuse(at, value, f"no const value for the type {dtypes.BY_CODE[dtype].name}")
    target = dtypes.numpy_dtype(dtype)
    items = list(_flat(value))
    if not all(_fits(item, target) for item in items):
        _refuse(at, value, f"numbers that fit {target}")
    return np.array(items, np.float64).astype(target) if dtypes.is_half(dtype) else np.array(items, target)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _fits(item: Any, target: np.dtype[Any]) -> bool:
    if target.kind == "b":
        return isinstance(item, bool) or item in (0, 1)
    if isinstance(item, bool):
        return False
    if target.kind in "iu":
        limits = np.iinfo(target)
        return isinstance(item, int) and int(limits.min) <= item <= int(limits.max)
    return isinstance(item, (int, float)) and target.kind != "c"


def _attr(kind: Any, value: Any, at: str) -> Attr:
    name = kind.lower() if isinstance(kind, str) else ""
    if name not in _ATTR_READERS:
        _refuse(f"{at}.type", kind, ", ".join(_ATTR_READERS))
    return name, _ATTR_READERS[name](value, f"{at}.value")


def _float(value: Any, at: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _refuse(at, value, "a number")
    return float(np.float32(value))


def _bool(value: Any, at: str) -> bool:
    return _typed(value, bool, at, "true or false")


def _string(value: Any, at: str) -> str:
    return _typed(value, str, at, "a string")


def _data_type(value: Any, at: str) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _dtype(value, at)


def _list_of(read: Callable[[Any, str], _T]) -> Callable[[Any, str], list[_T]]:
    def read_list(value: Any, at: str) -> list[_T]:
        return [read(item, f"{at}[{index}]") for index, item in enumerate(_typed(value, list, at, "a list"))]

    return read_list


_ATTR_READERS: dict[str, Callable[[Any, str], Any]] = {
    "bool": _bool,
    "int": _integer,
    "float": _float,
    "string": _string,
    "data_type": _data_type,
    "list_bool": _list_of(_bool),
    "list_int": _list_of(_integer),
    "list_float": _list_of(_float),
    "list_string": _list_of(_string),
    "list_data_type": _list_of(_data_type),
    "list_list_int": _list_of(_list_of(_integer)),
}
