"""Single-operator models: what was compiled or loaded, and how a call finds the one that fits."""

from __future__ import annotations

import heapq
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from hostacl.singleop.keys import NO_BOUND, Attr, attr_key, dim_ranges, rank, shape_key, traits
from hostacl.tensors.spec import TensorSpec

DEFAULT_QUEUE_LENGTH = 20000
"""How many static and how many dynamic models are kept where acl.json gives no max_opqueue_num."""

Tensors: TypeAlias = Sequence[TensorSpec]
Attrs: TypeAlias = Mapping[str, Attr]


@dataclass(frozen=True, eq=False)
class Model:
    """An operator with everything that was fixed when it was built: tensors, attributes, and where it came from.

    ``attrs`` is the set as given, unknown names included: it counts in the match. ``origin`` decides whether the model
    can be dropped for age;
    ``path`` is the file it was read from, or "".
    """

    op_type: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    attrs: Attrs = field(default_factory=dict)
    origin: Literal["compiled", "loaded"] = "compiled"
    path: str = ""

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """All inputs, then all outputs."""
        return self.inputs + self.outputs

    @cached_property
    def dynamic(self) -> bool:
        """Whether a dim or the rank of any tensor was left open."""
        return any(spec.dynamic for spec in self.tensors if not spec.absent)

    @cached_property
    def key(self) -> Hashable:
        """Equal for two models that answer the same calls."""
        return (*signature(self.op_type, self.inputs, self.outputs, self.attrs), tuple(map(shape_key, self.tensors)))

    def accepts(self, tensors: Tensors) -> bool:
        """Whether the shapes of a call with the same signature lie within this model's."""
        return all(map(within, self.tensors, tensors))


def signature(op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> tuple[Hashable, ...]:
    """All of a call that must be equal to a model's, but for the shapes."""
    return (op_type, tuple(map(traits, inputs)), tuple(map(traits, outputs)), attr_key(attrs))


def within(model: TensorSpec, given: TensorSpec) -> bool:
    """Whether a given shape is one that a model's tensor stands for."""
    if model.absent or rank(model) == -2:
        return True
    return len(model.shape) == len(given.shape) and all(
        low <= dim and (high == NO_BOUND or dim <= high)
        for dim, (low, high) in zip(given.shape, dim_ranges(model), strict=True)
    )


class ModelStore:
    """The models of the process: static ones by key, dynamic ones by signature and rank.

    Each of the two has ``maximum`` places. ``clock`` gives a number for now, larger each time; ``other_use`` the last use
    of a model, on the same clock, that did not ask the store (a warm call goes by its cached plan).
    """

    def __init__(self, maximum: int = DEFAULT_QUEUE_LENGTH) -> None:
        self.maximum = maximum
        self.clock: Callable[[], int] = count(1).__next__
        self.other_use: Callable[[Model], int] = lambda model: 0
        self._static = _Queue()
        self._dynamic = _Queue()
        self._ranges = _RangeIndex()
        self._removed: list[Callable[[Model], object]] = []
        self._new_lock()
        os.register_at_fork(after_in_child=self._new_lock)

    def _new_lock(self) -> None:
        self._lock = threading.RLock()  # a fork may have happened while another thread was in here

    def __len__(self) -> int:
        return len(self._static.models) + len(self._dynamic.models)

    def __iter__(self) -> Iterator[Model]:
        with self._lock:
            return iter([*self._static.models.values(), *self._dynamic.models.values()])

    def on_removal(self, callback: Callable[[Model], object]) -> None:
        """Has the callback told of every model that leaves, so that its plans can go with it."""
        self._removed.append(callback)

    def add(self, model: Model) -> Model:
        """Registers a model and gives the one that counts: the first of its key."""
        with self._lock:
            queue = self._dynamic if model.dynamic else self._static
            known = queue.models.get(model.key)
            if known is not None:
                return known
            dropped = self._make_room(queue)
            queue.models[model.key] = model
            if model.dynamic:
                self._ranges.add(model)
            queue.use(model, self.clock())
        self._tell(dropped)
        return model

    def find(self, op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> Model | None:
        """The model that a call fits: of exactly its key, else the first dynamic one that holds its shapes."""
        fixed = signature(op_type, inputs, outputs, attrs)
        key = (*fixed, tuple(map(shape_key, (*inputs, *outputs))))
        with self._lock:
            model = self._static.models.get(key) or self._dynamic.models.get(key)
            model = model or self._ranges.find(fixed, inputs, outputs)
            if model is not None:
                self.touch(model)
            return model

    def touch(self, model: Model) -> None:
        """Notes that a model was used now."""
        with self._lock:
            (self._dynamic if model.dynamic else self._static).use(model, self.clock())

    def remove(self, model: Model) -> None:
        """Forgets one model."""
        with self._lock:
            self._forget(model)
        self._tell([model])

    def clear(self, *origins: Literal["compiled", "loaded"]) -> None:
        """Forgets all models of these origins; of every origin when none is named."""
        for model in self:
            if not origins or model.origin in origins:
                self.remove(model)

    def of_type(self, op_type: str) -> list[Model]:
        """Every model of an operator."""
        return [model for model in self if model.op_type == op_type]

    def op_types(self) -> list[str]:
        """The operators that there are models of, sorted."""
        return sorted({model.op_type for model in self})

    def _make_room(self, queue: _Queue) -> list[Model]:
        if len(queue.models) < self.maximum:
            return []
        dropped = queue.oldest(len(queue.models) - self.maximum + 1, self.other_use)
        for model in dropped:
            self._forget(model)
        return dropped

    def _forget(self, model: Model) -> None:
        queue = self._dynamic if model.dynamic else self._static
        if queue.models.get(model.key) is not model:
            return
        queue.drop(model)
        if model.dynamic:
            self._ranges.remove(model)

    def _tell(self, models: Iterable[Model]) -> None:
        for model in models:
            for callback in self._removed:
                callback(model)


_Place: TypeAlias = tuple[int, int]
"""A tensor's number and one of its axes."""


class _Group(NamedTuple):
    """What dynamic models have in common: each tensor's rank (-2: open), and which dims are fixed."""

    ranks: tuple[int, ...]
    fixed: tuple[_Place, ...]

    def values(self, tensors: Sequence[TensorSpec]) -> tuple[int, ...] | None:
        """The dims of a call where the group's are fixed; None when a rank differs."""
        if any(mine not in (-2, rank(spec)) for mine, spec in zip(self.ranks, tensors, strict=True)):
            return None
        return tuple(tensors[number].shape[axis] for number, axis in self.fixed)


class _RangeIndex:
    """Dynamic models by signature, by group, then by their fixed dims: only ranges are left to compare one by one."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, dict[_Group, dict[tuple[int, ...], dict[Model, int]]]] = {}
        self._count = 0

    def add(self, model: Model) -> None:
        """Takes a model in."""
        fixed, group, values = _path(model)
        self._count += 1
        self._groups.setdefault(fixed, {}).setdefault(group, {}).setdefault(values, {})[model] = self._count

    def remove(self, model: Model) -> None:
        """Forgets a model, and what held no other."""
        fixed, group, values = _path(model)
        groups = self._groups[fixed]
        del groups[group][values][model]
        if not groups[group][values]:
            del groups[group][values]
        if not groups[group]:
            del groups[group]
        if not groups:
            del self._groups[fixed]

    def find(self, fixed: Hashable, inputs: Tensors, outputs: Tensors) -> Model | None:
        """Of the models that hold the shapes of a call, the one that was added first."""
        tensors = (*inputs, *outputs)
        fitting: dict[Model, int] = {}
        for group, by_dims in self._groups.get(fixed, {}).items():
            values = group.values(tensors)
            same = {} if values is None else by_dims.get(values, {})
            first = next((model for model in same if model.accepts(tensors)), None)
            if first is not None:
                fitting[first] = same[first]
        return min(fitting, key=fitting.__getitem__, default=None)


def _path(model: Model) -> tuple[Hashable, _Group, tuple[int, ...]]:
    """Where the index keeps a model."""
    tensors = model.tensors
    places = ((number, axis) for number, spec in enumerate(tensors) for axis in range(max(rank(spec), 0)))
    known = tuple((number, axis) for number, axis in places if tensors[number].shape[axis] >= 0)
    values = tuple(tensors[number].shape[axis] for number, axis in known)
    return signature(model.op_type, model.inputs, model.outputs, model.attrs), _Group(tuple(map(rank, tensors)), known), values


class _Queue:
    """Models by key, and the compiled ones among them by their last use."""

    def __init__(self) -> None:
        self.models: dict[Hashable, Model] = {}
        self._uses: dict[Model, int] = {}
        self._heap: list[tuple[int, int, Model]] = []
        self._ties = count()

    def use(self, model: Model, now: int) -> None:
        """Notes a use of a compiled model."""
        if model.origin != "compiled" or self.models.get(model.key) is not model:
            return
        if model not in self._uses:
            heapq.heappush(self._heap, (now, next(self._ties), model))
        self._uses[model] = now

    def oldest(self, number: int, other_use: Callable[[Model], int]) -> list[Model]:
        """Up to so many compiled models, the longest unused first; they are to be dropped. Loaded ones never go.

        An entry of the heap may be out of date: it is put back by its true last use, and the next one looked at.
        """
        found: list[Model] = []
        while self._heap and len(found) < number:
            noted, tie, model = self._heap[0]
            used = max(self._uses.get(model, -1), other_use(model))
            if model in self._uses and used > noted:
                heapq.heapreplace(self._heap, (used, tie, model))
            else:
                heapq.heappop(self._heap)
                found += [model] if model in self._uses else []
        return found

    def drop(self, model: Model) -> None:
        """Forgets a model."""
        del self.models[model.key]
        self._uses.pop(model, None)
