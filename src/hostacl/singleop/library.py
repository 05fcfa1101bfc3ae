"""The models of this process: compiled, loaded, or read from the model dir."""

from __future__ import annotations

from hostacl import _machine
from hostacl.errors import AclError
from hostacl.ops import overflow
from hostacl.singleop import modelfile
from hostacl.singleop.models import Model, ModelStore

SET_TWICE = 100002
"""ACL_ERROR_REPEAT_INITIALIZE."""

models = ModelStore()
_numbers: dict[Model, int] = {}
_next_number = 1
_model_dir: str | None = None


def number(model: Model) -> int:
    """The number by which the machine knows a model's plans; from 1."""
    global _next_number  # noqa: PLW0603 - one counter for the process
    if model not in _numbers:
        _numbers[model] = _next_number
        _next_number += 1
    return _numbers[model]


def _dropped(model: Model) -> None:
    known = _numbers.pop(model, None)
    if known is not None:
        _machine.drop_plans(known)


def _last_use(model: Model) -> int:
    known = _numbers.get(model)
    return _machine.plan_last_use(known) if known is not None else 0


models.on_removal(_dropped)
models.clock = _machine.next_use
models.other_use = _last_use
overflow.link(overflow.Status(_machine.overflow_seen, _machine.clear_overflow, _machine.watch_overflow))


def load(data: bytes) -> None:
    """Registers the model in these bytes (aclopLoad). AclError 100013, 100012 or 100016 when there is none."""
    models.add(modelfile.from_bytes(data, "model"))


def set_model_dir(path: str) -> None:
    """Registers every model of a folder, three levels in all (aclopSetModelDir).

    AclError 100002 the second time, 100014 for no folder.
    """
    global _model_dir  # noqa: PLW0603 - once for the process
    if _model_dir is not None:
        text = f"modelDir = {path!r}, but it is {_model_dir!r}; once for a process, until aclFinalize or hostacl.reset()"
        raise AclError(SET_TWICE, "HA608", text)
    for model in modelfile.load_dir(path, _machine.report):
        models.add(model)
    _model_dir = path


def set_queue_limit(count: int) -> None:
    """Sets how many static and how many dynamic models are kept (aclopSetMaxOpQueueNum, acl.json's max_opqueue_num)."""
    models.maximum = count


def forget(everything: bool = False) -> None:
    """Forgets the model dir and the loaded models, as aclFinalize does; compiled ones too when everything is to go."""
    global _model_dir  # noqa: PLW0603 - once for the process
    _model_dir = None
    if everything:
        models.clear()
    else:
        models.clear("loaded")
