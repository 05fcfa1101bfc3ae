"""Sessions of ONNX Runtime: made when first needed, a bounded number of them alive, new ones in a forked child."""

from __future__ import annotations

import importlib
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.errors import Refused
from hostacl.ops.engines.onnx_model import Node, Tensor, model

Array = NDArray[Any]

ALIVE, THREADS = 64, 16
"""How many sessions are kept, and how many threads each may have at most."""

BOUND_FROM = 1 << 18
"""Bytes of results from which on it is faster to have them written in place than to copy them."""


@cache
def runtime() -> ModuleType | str:
    """The module onnxruntime, or why it is not used."""
    try:
        module = importlib.import_module("onnxruntime")
    except ImportError:
        return "onnxruntime is not installed; pip install hostacl[ort]"
    if "CANNExecutionProvider" in module.get_available_providers():
        return "this onnxruntime is itself a client of AscendCL, and cannot serve it; its operators run natively"
    return module


def usable() -> ModuleType | None:
    """The module; None beside the client of that name. Raises Refused when it is not installed."""
    found = runtime()
    if isinstance(found, str):
        if "pip install" in found:
            raise Refused("HA530", f"HOSTACL_ENGINE = onnxruntime, but {found}, or leave the setting away.")
        return None
    return found


class Session:
    """A model to be run; ONNX Runtime's own session exists while this is one of the last ``ALIVE`` that ran."""

    def __init__(self, content: bytes, outputs: Sequence[str]) -> None:
        self.model = content
        self.outputs = list(outputs)

    def run(self, feed: Mapping[str, Array]) -> list[Array]:
        """The results as new arrays."""
        live = _alive(self)
        return getattr(live, "_sess", live).run(self.outputs, feed, None)

    def run_into(self, feed: Mapping[str, Array], results: Sequence[Array], shapes: Sequence[Sequence[int]]) -> None:
        """Writes the results, which ONNX Runtime sees with these shapes; none may lie in an input's memory."""
        if sum(one.nbytes for one in results) < BOUND_FROM:
            for out, one in zip(results, self.run(feed), strict=True):
                np.copyto(out, one.reshape(out.shape))
            return
        live = _alive(self)
        binding = live.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        for name, out, shape in zip(self.outputs, results, shapes, strict=True):
            binding.bind_output(name, "cpu", 0, out.dtype.type, list(shape), out.ctypes.data)
        live.run_with_iobinding(binding)


@lru_cache(1024)
def _session(content: bytes, outputs: tuple[str, ...]) -> Session:
    return Session(content, outputs)


def session(nodes: Sequence[Node], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Session:
    """The session of these nodes: one for all calls with the same operator, attributes and types."""
    return _session(model(nodes, inputs, outputs), tuple(one.name for one in outputs))


_live: OrderedDict[Session, Any] = OrderedDict()
_parents: list[Any] = []
_lock = Lock()


def _alive(session: Session) -> Any:
    """ONNX Runtime's session of one of ours, made now if need be."""
    with _lock:
        if (found := _live.get(session)) is not None:
            _live.move_to_end(session)
            return found
    made = _made(session.model)
    with _lock:
        _live[session] = made
        if len(_live) > ALIVE:
            _live.popitem(last=False)
    return made


def _made(content: bytes) -> Any:
    module = usable()
    assert module is not None
    options = module.SessionOptions()
    options.intra_op_num_threads = min(_kernels.threads(), THREADS)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what fails comes as an exception
    options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return module.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _in_child() -> None:
    """The threads of the parent's sessions are not here: new ones are made, and the old are never destroyed."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = Lock()
    _parents.append(_live.copy())
    _live.clear()


os.register_at_fork(after_in_child=_in_child)
