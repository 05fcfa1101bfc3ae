"""Streams, and waiting for them."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "create_stream", "create_stream_with_config", "destroy_stream", "destroy_stream_force",
    "get_res_in_current_thread", "get_stream_available_num", "get_stream_overflow_switch", "get_stream_res_limit",
    "reset_stream_res_limit", "set_stream_failure_mode", "set_stream_overflow_switch", "set_stream_res_limit",
    "stream_abort", "stream_get_id", "stream_query", "synchronize_device", "synchronize_device_with_timeout",
    "synchronize_stream", "synchronize_stream_with_timeout", "unuse_stream_res_in_current_thread",
    "use_stream_res_in_current_thread",
]


def create_stream() -> tuple[int, int]:
    """A stream of this thread's context: ``(stream, ret)``.

    C: ``aclrtCreateStream``.
    """
    return _machine.aclrtCreateStream()


def create_stream_with_config(priority: int, flag: int) -> tuple[int, int]:
    """A stream with a priority and flags: ``(stream, ret)``.

    C: ``aclrtCreateStreamWithConfig``.
    """
    return _machine.aclrtCreateStreamWithConfig(priority, flag)


def destroy_stream(stream: int) -> int:
    """Waits for a stream's tasks and ends it; the code.

    107017 for one that is not alive. C: ``aclrtDestroyStream``.
    """
    return _machine.aclrtDestroyStream(stream)


def destroy_stream_force(stream: int) -> int:
    """Drops a stream's waiting tasks and ends it; the code.

    C: ``aclrtDestroyStreamForce``.
    """
    return _machine.aclrtDestroyStreamForce(stream)


def stream_query(stream: int) -> tuple[int, int]:
    """Whether a stream's tasks are done: ``(status, ret)``, 0 done, 1 not.

    C: ``aclrtStreamQuery``.
    """
    return _machine.aclrtStreamQuery(stream)


def stream_abort(stream: int) -> int:
    """Drops a stream's waiting tasks; the code.

    C: ``aclrtStreamAbort``.
    """
    return _machine.aclrtStreamAbort(stream)


def stream_get_id(stream: int) -> tuple[int, int]:
    """The number of a stream: ``(id, ret)``.

    C: ``aclrtStreamGetId``.
    """
    return _machine.aclrtStreamGetId(stream)


def get_stream_available_num() -> tuple[int, int]:
    """How many more streams can be made: ``(count, ret)``.

    C: ``aclrtGetStreamAvailableNum``.
    """
    return _machine.aclrtGetStreamAvailableNum()


def set_stream_failure_mode(stream: int, mode: int) -> int:
    """Chooses what a failing task does: 0 later ones run, 1 the context's streams stop; the code.

    Once per stream. C: ``aclrtSetStreamFailureMode``.
    """
    return _machine.aclrtSetStreamFailureMode(stream, mode)


def set_stream_overflow_switch(stream: int, flag: int) -> int:
    """Switches overflow detection of a stream on (1) or off (0); the code.

    C: ``aclrtSetStreamOverflowSwitch``.
    """
    return _machine.aclrtSetStreamOverflowSwitch(stream, flag)


def get_stream_overflow_switch(stream: int) -> tuple[int, int]:
    """Whether overflow detection of a stream is on: ``(flag, ret)``.

    C: ``aclrtGetStreamOverflowSwitch``.
    """
    return _machine.aclrtGetStreamOverflowSwitch(stream)


def get_stream_res_limit(stream: int, type: int) -> tuple[int, int]:
    """A limit of a stream's resources: ``(value, ret)``.

    C: ``aclrtGetStreamResLimit``.
    """
    return _machine.aclrtGetStreamResLimit(stream, type)


def set_stream_res_limit(stream: int, type: int, value: int) -> int:
    """Sets a limit of a stream's resources; the code.

    C: ``aclrtSetStreamResLimit``.
    """
    return _machine.aclrtSetStreamResLimit(stream, type, value)


def reset_stream_res_limit(stream: int) -> int:
    """Takes back the limits of a stream's resources; the code.

    C: ``aclrtResetStreamResLimit``.
    """
    return _machine.aclrtResetStreamResLimit(stream)


def use_stream_res_in_current_thread(stream: int) -> int:
    """Lets this thread use a stream's resource limits; the code.

    C: ``aclrtUseStreamResInCurrentThread``.
    """
    return _machine.aclrtUseStreamResInCurrentThread(stream)


def unuse_stream_res_in_current_thread(stream: int) -> int:
    """Takes back ``use_stream_res_in_current_thread``; the code.

    C: ``aclrtUnuseStreamResInCurrentThread``.
    """
    return _machine.aclrtUnuseStreamResInCurrentThread(stream)


def get_res_in_current_thread(type: int) -> tuple[int, int]:
    """A resource limit of this thread: ``(value, ret)``.

    C: ``aclrtGetResInCurrentThread``.
    """
    return _machine.aclrtGetResInCurrentThread(type)


def synchronize_stream(stream: int) -> int:
    """Waits until a stream's tasks are done; the code of the first that failed.

    That failure is cleared. 0 is the default stream. Other Python threads run meanwhile.
    C: ``aclrtSynchronizeStream``.
    """
    return _machine.aclrtSynchronizeStream(stream)


def synchronize_stream_with_timeout(stream: int, timeout_ms: int) -> int:
    """``synchronize_stream`` for ``timeout_ms`` milliseconds at most (-1 for ever); the code.

    507046 when the time is over. C: ``aclrtSynchronizeStreamWithTimeout``.
    """
    return _machine.aclrtSynchronizeStreamWithTimeout(stream, timeout_ms)


def synchronize_device() -> int:
    """Waits until all tasks of this thread's device are done; the code of the first that failed.

    C: ``aclrtSynchronizeDevice``.
    """
    return _machine.aclrtSynchronizeDevice()


def synchronize_device_with_timeout(timeout_ms: int) -> int:
    """``synchronize_device`` for ``timeout_ms`` milliseconds at most (-1 for ever); the code.

    C: ``aclrtSynchronizeDeviceWithTimeout``.
    """
    return _machine.aclrtSynchronizeDeviceWithTimeout(timeout_ms)
