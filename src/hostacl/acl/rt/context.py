"""Contexts, options, last errors, time limits."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "create_context", "create_group_info", "ctx_get_current_default_stream", "ctx_get_sys_param_opt", "ctx_set_sys_param_opt",
    "destroy_context", "destroy_group_info", "get_all_group_info", "get_context", "get_group_count", "get_group_info_detail",
    "get_last_error", "get_op_execute_timeout",
    "get_op_timeout_interval", "get_primary_ctx_state", "get_sys_param_opt", "get_thread_last_task_id",
    "peek_at_last_error", "set_context", "set_group", "set_op_execute_time_out", "set_op_execute_timeout_v2",
    "set_op_wait_timeout", "set_sys_param_opt",
]


def create_context(device_id: int) -> tuple[int, int]:
    """A context of a device, made current in this thread: ``(context, ret)``.

    C: ``aclrtCreateContext``.
    """
    return _machine.aclrtCreateContext(device_id)


def destroy_context(context: int) -> int:
    """Ends a context and its streams; the code.

    107000 for one that is not alive. C: ``aclrtDestroyContext``.
    """
    return _machine.aclrtDestroyContext(context)


def set_context(context: int) -> int:
    """Makes a context current in this thread; the code.

    Each thread has its own; a new thread has none. C: ``aclrtSetCurrentContext``.
    """
    return _machine.aclrtSetCurrentContext(context)


def get_context() -> tuple[int, int]:
    """This thread's context: ``(context, ret)``.

    107002 when there is none. C: ``aclrtGetCurrentContext``.
    """
    return _machine.aclrtGetCurrentContext()


def ctx_get_current_default_stream() -> tuple[int, int]:
    """The default stream of this thread's context: ``(stream, ret)``.

    C: ``aclrtCtxGetCurrentDefaultStream``.
    """
    return _machine.aclrtCtxGetCurrentDefaultStream()


def get_primary_ctx_state(device_id: int) -> tuple[int, int, int]:
    """Whether the primary context of a device is active: ``(active, flags, ret)``.

    C: ``aclrtGetPrimaryCtxState``.
    """
    return _machine.aclrtGetPrimaryCtxState(device_id)


def ctx_set_sys_param_opt(opt: int, value: int) -> int:
    """Sets an option (``aclSysParamOpt``) of this thread's context; the code.

    C: ``aclrtCtxSetSysParamOpt``.
    """
    return _machine.aclrtCtxSetSysParamOpt(opt, value)


def ctx_get_sys_param_opt(opt: int) -> tuple[int, int]:
    """An option (``aclSysParamOpt``) of this thread's context: ``(value, ret)``.

    C: ``aclrtCtxGetSysParamOpt``.
    """
    return _machine.aclrtCtxGetSysParamOpt(opt)


def set_sys_param_opt(opt: int, value: int) -> int:
    """Sets an option (``aclSysParamOpt``) of the process; the code.

    C: ``aclrtSetSysParamOpt``.
    """
    return _machine.aclrtSetSysParamOpt(opt, value)


def get_sys_param_opt(opt: int) -> tuple[int, int]:
    """An option (``aclSysParamOpt``) of the process: ``(value, ret)``.

    C: ``aclrtGetSysParamOpt``.
    """
    return _machine.aclrtGetSysParamOpt(opt)


def peek_at_last_error(level: int) -> int:
    """The newest failing code of this thread; it stays.

    C: ``aclrtPeekAtLastError``.
    """
    return _machine.aclrtPeekAtLastError(level)


def get_last_error(level: int) -> int:
    """The newest failing code of this thread; it is cleared.

    C: ``aclrtGetLastError``.
    """
    return _machine.aclrtGetLastError(level)


def get_thread_last_task_id() -> tuple[int, int]:
    """The number of the task that this thread submitted last: ``(task_id, ret)``.

    C: ``aclrtGetThreadLastTaskId``.
    """
    return _machine.aclrtGetThreadLastTaskId()


def set_op_wait_timeout(timeout_s: int) -> int:
    """Sets how long a stream may wait for an event; the code.

    ``timeout_s`` is in seconds, 0 for ever. C: ``aclrtSetOpWaitTimeout``.
    """
    return _machine.aclrtSetOpWaitTimeout(timeout_s)


def set_op_execute_time_out(timeout_s: int) -> int:
    """Sets how long an operator may run; the code.

    ``timeout_s`` is in seconds, 0 for ever. C: ``aclrtSetOpExecuteTimeOut``.
    """
    return _machine.aclrtSetOpExecuteTimeOut(timeout_s)


def set_op_execute_timeout_v2(timeout_us: int) -> tuple[int, int]:
    """Sets how long an operator may run: ``(actual_us, ret)``.

    ``timeout_us`` is in microseconds. C: ``aclrtSetOpExecuteTimeOutV2``.
    """
    return _machine.aclrtSetOpExecuteTimeOutV2(timeout_us)


def get_op_timeout_interval() -> tuple[int, int]:
    """The step in which time limits of operators are counted: ``(interval_us, ret)``.

    C: ``aclrtGetOpTimeOutInterval``.
    """
    return _machine.aclrtGetOpTimeOutInterval()


def get_op_execute_timeout() -> tuple[int, int]:
    """How long an operator may run: ``(timeout_ms, ret)``.

    C: ``aclrtGetOpExecuteTimeout``.
    """
    return _machine.aclrtGetOpExecuteTimeout()


def set_group(group_id: int) -> int:
    """Chooses a group of computing units; the code.

    C: ``aclrtSetGroup``.
    """
    return _machine.aclrtSetGroup(group_id)


def get_group_count(unused: int) -> tuple[int, int]:
    """How many groups of computing units there are: ``(count, ret)``.

    ``unused`` may be any number, as in the reference. C: ``aclrtGetGroupCount``.
    """
    return _machine.aclrtGetGroupCount(unused)


def create_group_info() -> int:
    """An empty group info, for ``get_all_group_info`` to fill.

    C: ``aclrtCreateGroupInfo``.
    """
    return _machine.aclrtCreateGroupInfo()


def destroy_group_info(group_info: int) -> int:
    """Ends a group info; the code.

    C: ``aclrtDestroyGroupInfo``.
    """
    return _machine.aclrtDestroyGroupInfo(group_info)


def get_all_group_info(group_info: int) -> int:
    """Fills a group info with what there is: one group, the whole device; the code.

    C: ``aclrtGetAllGroupInfo``.
    """
    return _machine.aclrtGetAllGroupInfo(group_info)


def get_group_info_detail(group_info: int, group_id: int, attr: int) -> tuple[list[int], int]:
    """One attribute of a group: ``(values, ret)``.

    ``attr``: 0 and 2 cube cores, 1 vector cores, 3 and 4 transfer engines and queues, of which there are none here, 5 the
    group's number. 107014 before ``get_all_group_info``. C: ``aclrtGetGroupInfoDetail``.
    """
    return _machine.aclrtGetGroupInfoDetail(group_info, group_id, attr)
