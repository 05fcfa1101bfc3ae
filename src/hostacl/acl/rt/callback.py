"""Callbacks: Python functions that the machine calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hostacl import _machine

__all__ = [
    "get_device_id_from_exception_info", "get_error_code_from_exception_info", "get_stream_id_from_exception_info",
    "get_task_id_from_exception_info", "get_thread_id_from_exception_info", "launch_callback", "process_report",
    "set_exception_info_callback", "subscribe_report", "unsubscribe_report",
]


def subscribe_report(thread_id: int, stream: int) -> int:
    """Makes a thread the one that runs a stream's callbacks; the code.

    ``thread_id`` is what ``acl.util.start_thread`` gives, or ``threading.get_ident()``. C: ``aclrtSubscribeReport``.
    """
    return _machine.aclrtSubscribeReport(thread_id, stream)


def unsubscribe_report(thread_id: int, stream: int) -> int:
    """Takes back ``subscribe_report``; the code.

    C: ``aclrtUnSubscribeReport``.
    """
    return _machine.aclrtUnSubscribeReport(thread_id, stream)


def launch_callback(func: Callable[[Any], object], user_data: object, block_type: int, stream: int) -> int:
    """Puts ``func(user_data)`` into a stream, to run in the subscribed thread; the code.

    ``block_type`` 1: the stream waits until it has returned. What it raises is printed. 107015 when no thread is
    subscribed. C: ``aclrtLaunchCallback``.
    """
    return _machine.aclrtLaunchCallback(func, user_data, block_type, stream)


def process_report(timeout_ms: int) -> int:
    """Runs the callbacks that are due in this thread; the code.

    Waits ``timeout_ms`` milliseconds for one (-1 for ever). C: ``aclrtProcessReport``.
    """
    return _machine.aclrtProcessReport(timeout_ms)


def set_exception_info_callback(func: Callable[[int], object] | None = None) -> int:
    """Has ``func(info)`` called for each task that fails; None takes it back; the code.

    ``info`` is good for the ``get_..._from_exception_info`` functions until ``func`` returns.
    C: ``aclrtSetExceptionInfoCallback``.
    """
    return _machine.aclrtSetExceptionInfoCallback(func)


def get_error_code_from_exception_info(info: int) -> int:
    """The code of the failed task.

    C: ``aclrtGetErrorCodeFromExceptionInfo``.
    """
    return _machine.aclrtGetErrorCodeFromExceptionInfo(info)


def get_task_id_from_exception_info(info: int) -> int:
    """The number of the failed task.

    C: ``aclrtGetTaskIdFromExceptionInfo``.
    """
    return _machine.aclrtGetTaskIdFromExceptionInfo(info)


def get_stream_id_from_exception_info(info: int) -> int:
    """The number of the failed task's stream.

    C: ``aclrtGetStreamIdFromExceptionInfo``.
    """
    return _machine.aclrtGetStreamIdFromExceptionInfo(info)


def get_thread_id_from_exception_info(info: int) -> int:
    """The number of the thread that submitted the failed task.

    C: ``aclrtGetThreadIdFromExceptionInfo``.
    """
    return _machine.aclrtGetThreadIdFromExceptionInfo(info)


def get_device_id_from_exception_info(info: int) -> int:
    """The device of the failed task.

    C: ``aclrtGetDeviceIdFromExceptionInfo``.
    """
    return _machine.aclrtGetDeviceIdFromExceptionInfo(info)
