"""HA3xx by example."""

from __future__ import annotations

import signal
import threading
import time

from tests.checks.kit import Kit, misuse


@misuse("HA302", "rt.synchronize_stream", "stream", "a destroyed stream made at", "destroyed at")
def dead_stream(kit: Kit, wrong: bool) -> None:
    stream, _ = kit.api.rt.create_stream()
    kit.api.rt.destroy_stream(stream)
    kit.api.rt.synchronize_stream(stream if wrong else kit.stream)


@misuse("HA303", "rt.record_event", "event", "a destroyed event made at", "destroyed at")
def dead_event(kit: Kit, wrong: bool) -> None:
    event, other = kit.api.rt.create_event()[0], kit.api.rt.create_event()[0]
    kit.api.rt.destroy_event(event)
    kit.api.rt.record_event(event if wrong else other, kit.stream)


@misuse("HA304", "rt.destroy_event", "event", "a stream has yet to record it", scheduler="deferred")
def event_destroyed(kit: Kit, wrong: bool) -> None:
    event, _ = kit.api.rt.create_event()
    kit.api.rt.record_event(event, kit.stream)
    if not wrong:
        kit.wait()
    kit.api.rt.destroy_event(event)
    kit.wait()


@misuse("HA305", "rt.synchronize_stream", "stream", "belongs to another context")
def other_context(kit: Kit, wrong: bool) -> None:
    primary, _ = kit.api.rt.get_context()
    kit.api.rt.create_context(0)
    if not wrong:
        kit.api.rt.set_context(primary)
    kit.wait()


@misuse("HA306", "rt.destroy_stream", "stream", "default stream of a context")
def default_stream(kit: Kit, wrong: bool) -> None:
    default, _ = kit.api.rt.ctx_get_current_default_stream()
    kit.api.rt.destroy_stream(default if wrong else kit.stream)


@misuse("HA307", "rt.destroy_stream", "stream", "1 tasks not run, first set of 64 bytes (submitted at", scheduler="deferred")
def stream_busy(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memset_async(kit.device(), 64, 1, 64, kit.stream)
    if not wrong:
        kit.wait()
    kit.api.rt.destroy_stream(kit.stream)


@misuse("HA308", "rt.destroy_stream", "", "that no synchronize returned: HA510", "GatherV2", "submitted at", also=("HA510",))
def failure_unseen(kit: Kit, wrong: bool) -> None:
    kit.gather(9)
    if not wrong:
        kit.wait()
    kit.api.rt.destroy_stream(kit.stream)


@misuse("HA309", "rt.synchronize_event", "event", "never recorded")
def never_recorded(kit: Kit, wrong: bool) -> None:
    event, _ = kit.api.rt.create_event()
    if not wrong:
        kit.api.rt.record_event(event, kit.stream)
    kit.api.rt.synchronize_event(event)


def _with_callbacks(kit: Kit, function: object, wrong: bool) -> None:
    kit.api.rt.subscribe_report(threading.get_ident(), kit.stream)
    kit.api.rt.launch_callback(function, 0, 1, kit.stream)
    kit.api.rt.process_report(1000)
    kit.api.rt.unsubscribe_report(threading.get_ident(), kit.stream)


@misuse("HA310", "rt.process_report", "stream", "waits for itself")
def waits_for_itself(kit: Kit, wrong: bool) -> None:
    _with_callbacks(kit, lambda _: kit.api.rt.synchronize_stream(kit.stream if wrong else 0), wrong)


@misuse("HA311", "rt.synchronize_stream", "", "the wait was interrupted; the stream goes", faces=("python",), also=("HA309",))
def interrupted(kit: Kit, wrong: bool) -> None:
    """The handler of a signal that comes in a wait raises an exception, or lets the stream go on."""
    event, _ = kit.api.rt.create_event()
    kit.api.rt.stream_wait_event(kit.stream, event)

    def handler(*_: object) -> None:
        if wrong:
            raise InterruptedError
        kit.api.rt.record_event(event, 0)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        kit.wait()
    except InterruptedError:
        kit.api.rt.record_event(event, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


@misuse("HA312", "rt.synchronize_stream_with_timeout", "stream", "after 1 ms; it is at: wait for an event", also=("HA309",))
def stream_timeout(kit: Kit, wrong: bool) -> None:
    event, _ = kit.api.rt.create_event()
    kit.api.rt.stream_wait_event(kit.stream, event)
    if not wrong:
        kit.api.rt.record_event(event, 0)
    kit.api.rt.synchronize_stream_with_timeout(kit.stream, 1)
    kit.api.rt.record_event(event, 0)


@misuse("HA313", "rt.synchronize_event_with_timeout", "event", "after 1 ms", also=("HA309",))
def event_timeout(kit: Kit, wrong: bool) -> None:
    gate, event = kit.api.rt.create_event()[0], kit.api.rt.create_event()[0]
    kit.api.rt.stream_wait_event(kit.stream, gate)
    kit.api.rt.record_event(event, kit.stream)
    if not wrong:
        kit.api.rt.record_event(gate, 0)
    kit.api.rt.synchronize_event_with_timeout(event, 1)
    kit.api.rt.record_event(gate, 0)


@misuse("HA314", "rt.event_elapsed_time", "startEvent", "never recorded")
def no_time(kit: Kit, wrong: bool) -> None:
    start, end = kit.api.rt.create_event()[0], kit.api.rt.create_event()[0]
    if not wrong:
        kit.api.rt.record_event(start, kit.stream)
    kit.api.rt.record_event(end, kit.stream)
    kit.api.rt.event_elapsed_time(start, end)


@misuse("HA315", "rt.event_elapsed_time", "startEvent", "not reached yet", also=("HA309",))
def not_reached(kit: Kit, wrong: bool) -> None:
    gate, start = kit.api.rt.create_event()[0], kit.api.rt.create_event()[0]
    kit.api.rt.stream_wait_event(kit.stream, gate)
    kit.api.rt.record_event(start, kit.stream)
    if not wrong:
        kit.api.rt.record_event(gate, 0)
    kit.api.rt.event_elapsed_time(start, start)
    kit.api.rt.record_event(gate, 0)


@misuse("HA316", "rt.create_stream", "", "streams are alive; allowed")
def too_many_streams(kit: Kit, wrong: bool) -> None:
    made = []
    for _ in range(3000):
        stream, ret = kit.api.rt.create_stream()
        made.append(stream)
        if ret or (not wrong and len(made) == 16):
            break
    for stream in made:
        if stream:
            kit.api.rt.destroy_stream(stream)


@misuse("HA317", "op.execute_v2", "", "the task was aborted", also=("HA309",))
def aborted(kit: Kit, wrong: bool) -> None:
    """A call that waits for its own task, which another thread aborts."""
    x, y = kit.tensor([4]), kit.tensor([1, 4], "int64")
    kit.compile("NonZero", [x], [y], kit.attr(transpose=True))
    event, _ = kit.api.rt.create_event()
    context, _ = kit.api.rt.get_context()
    kit.api.rt.stream_wait_event(kit.stream, event)
    entered = threading.Event()

    def work() -> None:
        kit.api.rt.set_context(context)
        entered.set()
        kit.execute("NonZero", [x], [y], kit.attr(transpose=True))

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    for _ in range(1000):
        time.sleep(0.001)
        if wrong:
            kit.api.rt.stream_abort(kit.stream)
        else:
            kit.api.rt.record_event(event, 0)
        if not thread.is_alive():
            break
    thread.join()


@misuse("HA318", "rt.set_stream_failure_mode", "mode", "5; allowed: 0")
def failure_mode(kit: Kit, wrong: bool) -> None:
    kit.api.rt.set_stream_failure_mode(kit.stream, 5 if wrong else 1)


@misuse("HA319", "rt.create_event_with_flag", "flag", "0x80; allowed: 1")
def event_flags(kit: Kit, wrong: bool) -> None:
    kit.api.rt.create_event_with_flag(0x80 if wrong else 1)


@misuse("HA320", "rt.unsubscribe_report", "", "1 callbacks were posted to the thread and never processed")
def callback_dropped(kit: Kit, wrong: bool) -> None:
    kit.api.rt.subscribe_report(threading.get_ident(), kit.stream)
    kit.api.rt.launch_callback(lambda _: None, 0, 0, kit.stream)
    if not wrong:
        kit.api.rt.process_report(1000)
    kit.api.rt.unsubscribe_report(threading.get_ident(), kit.stream)


@misuse("HA321", "rt.subscribe_report", "threadId", "0; allowed: the pthread_self()")
def thread_id(kit: Kit, wrong: bool) -> None:
    kit.api.rt.subscribe_report(0 if wrong else threading.get_ident(), kit.stream)


@misuse("HA322", "rt.subscribe_report", "stream", "is subscribed by thread")
def subscribed(kit: Kit, wrong: bool) -> None:
    kit.api.rt.subscribe_report(threading.get_ident(), kit.stream)
    kit.api.rt.subscribe_report(1 if wrong else threading.get_ident(), kit.stream)


@misuse("HA323", "rt.launch_callback", "stream", "has no thread for callbacks; call aclrtSubscribeReport")
def not_subscribed(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.rt.subscribe_report(threading.get_ident(), kit.stream)
    kit.api.rt.launch_callback(lambda _: None, 0, 0, kit.stream)
    if not wrong:
        kit.api.rt.process_report(1000)


@misuse("HA324", "rt.process_report", "", "subscribed to no stream")
def thread_not_subscribed(kit: Kit, wrong: bool) -> None:
    if wrong:
        kit.api.rt.process_report(1)
        return
    _with_callbacks(kit, lambda _: None, wrong)


@misuse("HA325", "rt.process_report", "timeout", "1: no callback came")
def no_callback(kit: Kit, wrong: bool) -> None:
    kit.api.rt.subscribe_report(threading.get_ident(), kit.stream)
    if not wrong:
        kit.api.rt.launch_callback(lambda _: None, 0, 0, kit.stream)
    kit.api.rt.process_report(1)
    kit.api.rt.unsubscribe_report(threading.get_ident(), kit.stream)


@misuse("HA326", "rt.get_error_code_from_exception_info", "info", "the exception info callback was given", also=("HA510",))
def exception_info(kit: Kit, wrong: bool) -> None:
    infos: list[int] = []

    def failed(info: int) -> None:
        infos.append(info)
        kit.api.rt.get_error_code_from_exception_info(info)

    kit.api.rt.set_exception_info_callback(failed)
    kit.gather(9)
    kit.wait()
    kit.api.rt.set_exception_info_callback(None)
    if wrong:
        kit.api.rt.get_error_code_from_exception_info(infos[0])


@misuse("HA327", "rt.unuse_stream_res_in_current_thread", "stream", "is not the one whose resources this thread uses")
def other_resources(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.rt.use_stream_res_in_current_thread(kit.stream)
    kit.api.rt.unuse_stream_res_in_current_thread(kit.stream)


@misuse("HA328", "op.execute_v2", "stream", "operator Abs of thread", "(submitted at", "was not synchronized")
def two_threads(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([4]), kit.tensor([4])
    kit.run("Abs", [x], [y])
    context, _ = kit.api.rt.get_context()

    def work() -> None:
        kit.api.rt.set_context(context)
        if not wrong:
            kit.stream, _ = kit.api.rt.create_stream()
        kit.execute("Abs", [x], [y])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@misuse(
    "HA330", "rt.memcpy", "src", "is read, and stale, by the call while operator Abs of stream", "(submitted at",
    scheduler="deferred",
)  # fmt: skip
def stale_read(kit: Kit, wrong: bool) -> None:
    ptr = kit.device()
    x, y = kit.tensor([4]), kit.tensor([4], ptr=ptr)
    kit.run("Abs", [x], [y])
    if not wrong:
        kit.wait()
    kit.api.rt.memcpy(kit.pinned(), 16, ptr, 16, 2)
    kit.wait()
