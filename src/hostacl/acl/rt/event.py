"""Events: marks in streams."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "create_event", "create_event_ex_with_flag", "create_event_with_flag", "destroy_event", "event_elapsed_time",
    "event_get_timestamp", "get_event_avail_num", "get_event_id", "query_event", "query_event_status",
    "query_event_wait_status", "record_event", "reset_event", "stream_wait_event", "synchronize_event",
    "synchronize_event_with_timeout",
]


def create_event() -> tuple[int, int]:
    """An event: ``(event, ret)``.

    C: ``aclrtCreateEvent``.
    """
    return _machine.aclrtCreateEvent()


def create_event_with_flag(flag: int) -> tuple[int, int]:
    """An event with flags (ACL_EVENT_SYNC 1, _CAPTURE_STREAM_PROGRESS 2, _TIME_LINE 8): ``(event, ret)``.

    C: ``aclrtCreateEventWithFlag``.
    """
    return _machine.aclrtCreateEventWithFlag(flag)


def create_event_ex_with_flag(flag: int) -> tuple[int, int]:
    """An event with flags that may be recorded and waited for many times: ``(event, ret)``.

    C: ``aclrtCreateEventExWithFlag``.
    """
    return _machine.aclrtCreateEventExWithFlag(flag)


def destroy_event(event: int) -> int:
    """Ends an event; the code.

    107017 for one that is not alive. C: ``aclrtDestroyEvent``.
    """
    return _machine.aclrtDestroyEvent(event)


def record_event(event: int, stream: int) -> int:
    """Puts an event's mark into a stream; the code.

    C: ``aclrtRecordEvent``.
    """
    return _machine.aclrtRecordEvent(event, stream)


def reset_event(event: int, stream: int) -> int:
    """Takes an event's mark back when the stream gets there; the code.

    C: ``aclrtResetEvent``.
    """
    return _machine.aclrtResetEvent(event, stream)


def query_event(event: int) -> tuple[int, int]:
    """Whether an event's mark was passed: ``(status, ret)``, 0 done, 1 not (``aclrtEventStatus``).

    C: ``aclrtQueryEvent``.
    """
    return _machine.aclrtQueryEvent(event)


def query_event_status(event: int) -> tuple[int, int]:
    """Whether an event's mark was passed: ``(status, ret)``, 1 done, 0 not (``aclrtEventRecordedStatus``).

    C: ``aclrtQueryEventStatus``.
    """
    return _machine.aclrtQueryEventStatus(event)


def query_event_wait_status(event: int) -> tuple[int, int]:
    """Whether all waits for an event are over: ``(status, ret)``, 0 done, 1 not (``aclrtEventWaitStatus``).

    C: ``aclrtQueryEventWaitStatus``.
    """
    return _machine.aclrtQueryEventWaitStatus(event)


def synchronize_event(event: int) -> int:
    """Waits until an event's mark is passed; the code.

    Returns at once for an event that was never recorded. C: ``aclrtSynchronizeEvent``.
    """
    return _machine.aclrtSynchronizeEvent(event)


def synchronize_event_with_timeout(event: int, timeout_ms: int) -> int:
    """``synchronize_event`` for ``timeout_ms`` milliseconds at most (-1 for ever); the code.

    507047 when the time is over. C: ``aclrtSynchronizeEventWithTimeout``.
    """
    return _machine.aclrtSynchronizeEventWithTimeout(event, timeout_ms)


def event_elapsed_time(start: int, end: int) -> tuple[float, int]:
    """The milliseconds between two recorded events: ``(ms, ret)``.

    C: ``aclrtEventElapsedTime``.
    """
    return _machine.aclrtEventElapsedTime(start, end)


def event_get_timestamp(event: int) -> tuple[int, int]:
    """When an event's mark was passed: ``(timestamp_us, ret)``.

    C: ``aclrtEventGetTimestamp``.
    """
    return _machine.aclrtEventGetTimestamp(event)


def get_event_id(event: int) -> tuple[int, int]:
    """The number of an event: ``(id, ret)``.

    C: ``aclrtGetEventId``.
    """
    return _machine.aclrtGetEventId(event)


def get_event_avail_num() -> tuple[int, int]:
    """How many more events can be made: ``(count, ret)``.

    C: ``aclrtGetEventAvailNum``.
    """
    return _machine.aclrtGetEventAvailNum()


def stream_wait_event(stream: int, event: int) -> int:
    """Makes a stream wait for an event's mark; the code.

    C: ``aclrtStreamWaitEvent``.
    """
    return _machine.aclrtStreamWaitEvent(stream, event)
