"""Model files (`.om`) of our own container: written by `hostacl atc`, read by load and set_model_dir.

Layout: magic, length of the JSON text and of the data behind it (two little-endian uint64), SHA-256 of both, the text,
the data. The data holds the bytes of
const tensors; the text says where.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from hostacl.errors import AclError
from hostacl.singleop.keys import Attr
from hostacl.singleop.models import Model
from hostacl.tensors.spec import TensorSpec

MAGIC = b"HACLOM1\n"
_HEADER = struct.Struct("<8sQQ32s")
_LEVELS = 3

MISSING, UNREADABLE, NOT_A_MODEL, NO_FOLDER = 100016, 100012, 100013, 100014
"""ACL_ERROR_MODEL_MISSING_ATTR, ACL_ERROR_DESERIALIZE_MODEL, ACL_ERROR_PARSE_MODEL, ACL_ERROR_READ_MODEL_FAILURE."""


def to_bytes(model: Model, **facts: str) -> bytes:
    """The file of a model; facts (the SoC version, who wrote it) are kept with it and change nothing."""
    data = bytearray()
    content = {
        "op_type": model.op_type,
        "inputs": [_spec_fields(spec, data) for spec in model.inputs],
        "outputs": [_spec_fields(spec, data) for spec in model.outputs],
        "attrs": model.attrs,
        "facts": facts,
    }
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    return _HEADER.pack(MAGIC, len(text), len(data), hashlib.sha256(text + data).digest()) + text + data


def from_bytes(content: bytes, source: str = "") -> Model:
    """The model in a file's bytes; ``source`` names it in errors.

    AclError 100013 when it is no model of ours or was cut, 100012 when it cannot be read inside, 100016 when a field is
    missing.
    """
    where = source or f"the {len(content)} bytes given"
    fields, data = _open(content, where)
    try:
        return Model(
            op_type=str(fields["op_type"]),
            inputs=tuple(_spec(item, data) for item in fields["inputs"]),
            outputs=tuple(_spec(item, data) for item in fields["outputs"]),
            attrs={str(name): _attr(attr) for name, attr in fields["attrs"].items()},
            origin="loaded",
            path=source,
        )
    except KeyError as error:
        raise AclError(
            MISSING,
            "HA606",
            f"{where} lacks {error.args[0]!r}; every model holds op_type, inputs, outputs, attrs. "
            "Make it anew with `hostacl atc`.",
        ) from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        _unreadable(where, str(error))


def write(path: Path, model: Model, **facts: str) -> None:
    """Writes a model's file; a reader never sees half of it."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(to_bytes(model, **facts))
    part.replace(path)


def read(path: Path) -> Model:
    """The model of a file. AclError as from_bytes; OSError when the file cannot be opened."""
    return from_bytes(path.read_bytes(), str(path))


def load_dir(folder: str, report: Callable[[str, str], object]) -> list[Model]:
    """The models of a folder and two levels of folders below it, in the order of their paths.

    What cannot be read is skipped, and told to ``report`` with its rule and a text. AclError 100014 when there is no
    such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        kind = "a file" if root.exists() else "not there"
        raise AclError(
            NO_FOLDER,
            "HA607",
            f"model_dir = {folder!r} is {kind}; give the folder that holds the .om files "
            f"(relative paths start at {Path.cwd()}).",
        )
    models = []
    for path in _model_files(root):
        try:
            models.append(read(path))
        except AclError as error:
            report("HA609", f"{path} is skipped ({error.rule}, {error.code}): {error.text}")
        except OSError as error:
            report("HA609", f"{path} is skipped: {error.strerror or error}")
    return models


def _model_files(root: Path) -> Iterator[Path]:
    patterns = ("/".join(["*"] * depth + ["*.om"]) for depth in range(_LEVELS))
    return iter(sorted(path for pattern in patterns for path in root.glob(pattern) if not path.is_dir()))


def _open(content: bytes, where: str) -> tuple[Mapping[str, Any], bytes]:
    if content[: len(MAGIC)] != MAGIC[: len(content)]:
        raise AclError(
            NOT_A_MODEL,
            "HA603",
            f"{where} starts with {content[:8]!r}, hostacl's model files with {MAGIC!r}: it is the vendor's or no "
            "model. Models for a card cannot run here: run `hostacl atc --singleop=ops.json --output=DIR` on the JSON "
            "it was made from.",
        )
    length = _HEADER.unpack_from(content)[1:3] if len(content) >= _HEADER.size else (0, 0)
    if len(content) != _HEADER.size + sum(length):
        raise AclError(
            NOT_A_MODEL,
            "HA604",
            f"{where} has {len(content)} bytes; its header asks for {_HEADER.size + sum(length)}. "
            "It was cut or the size given is wrong: make it anew with `hostacl atc`.",
        )
    body = content[_HEADER.size :]
    if hashlib.sha256(body).digest() != _HEADER.unpack_from(content)[3]:
        _unreadable(where, "its checksum does not fit its content")
    try:
        fields = json.loads(body[: length[0]])
    except ValueError as error:
        _unreadable(where, str(error))
    if not isinstance(fields, dict):
        _unreadable(where, f"its content is a {type(fields).__name__}, not an object")
    return fields, body[length[0] :]


def _unreadable(where: str, why: str) -> NoReturn:
    raise AclError(UNREADABLE, "HA605", f"{where} cannot be read: {why}. Make it anew with `hostacl atc`.")


def _spec_fields(spec: TensorSpec, data: bytearray) -> dict[str, Any]:
    fields = {name: value for name, value in spec._asdict().items() if value != spec._field_defaults.get(name, ...)}
    if spec.const is not None:
        fields["const"] = (len(data), len(spec.const))
        data += spec.const
    return fields


def _spec(fields: Mapping[str, Any], data: bytes) -> TensorSpec:
    const = fields.get("const")
    if const is not None and not 0 <= const[0] <= const[0] + const[1] <= len(data):
        raise ValueError(f"const data {const} lies outside of the file's {len(data)} bytes")
    known = {name: _tuples(value) for name, value in fields.items() if name in TensorSpec._fields}
    known["const"] = None if const is None else data[const[0] : const[0] + const[1]]
    return TensorSpec(**{"dtype": fields["dtype"], "shape": fields["shape"], **known})


def _attr(attr: Any) -> Attr:
    kind, value = attr
    return cast("Attr", (str(kind), value))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
