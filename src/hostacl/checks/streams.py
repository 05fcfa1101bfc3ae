"""HA3xx: streams, events, callbacks and waiting."""

from hostacl.checks.rule import Rule


class DeadStream(Rule, code="HA302", title="dead stream", returns="107017"):
    """The stream was destroyed, its context or device ended, or the number never was a stream. 0 is the default stream.

    A card's runtime reads freed memory here: it crashes, or takes another stream for this one.

    Wrong:  acl.rt.destroy_stream(stream); acl.rt.synchronize_stream(stream)
    Right:  acl.rt.synchronize_stream(stream); acl.rt.destroy_stream(stream)

    From: our choice of code.
    """


class DeadEvent(Rule, code="HA303", title="dead event", returns="107017"):
    """The event was destroyed, or the number never was an event.

    A card's runtime reads freed memory here: it crashes, or waits for another event.

    Wrong:  acl.rt.destroy_event(event); acl.rt.record_event(event, stream)
    Right:  acl.rt.record_event(event, stream); acl.rt.synchronize_event(event); acl.rt.destroy_event(event)

    From: our choice of code.
    """


class EventDestroyed(Rule, code="HA304", title="event destroyed while it is pending", returns="0", severity="undefined"):
    """An event is destroyed that a stream has yet to record, or to wait for. Where nobody recorded it the wait ends here; on a
    card it may never end. Synchronize first.

    Wrong:  acl.rt.record_event(event, stream); acl.rt.destroy_event(event)
    Right:  acl.rt.record_event(event, stream); acl.rt.synchronize_event(event); acl.rt.destroy_event(event)

    From: our choice.
    """


class OtherContext(Rule, code="HA305", title="stream of another context", returns="0", severity="portability"):
    """The stream belongs to another context than the current one of this thread. Call acl.rt.set_context first.

    A card answers 107003; the work would be ordered on one device and its memory lie on another.

    Wrong:  acl.rt.create_context(0); execute_v2(..., stream of the context before)
    Right:  acl.rt.set_context(the stream's context); execute_v2(..., stream)

    From: the reference (107003).
    """


class DefaultStream(Rule, code="HA306", title="default stream destroyed", returns="107000"):
    """A context's default stream ends with the context, not by destroy_stream.

    Every call that is given stream 0 in this context would lose its stream.

    Wrong:  stream, ret = acl.rt.ctx_get_current_default_stream(); acl.rt.destroy_stream(stream)
    Right:  stream, ret = acl.rt.create_stream(); acl.rt.destroy_stream(stream)

    From: our choice.
    """


class StreamBusy(
    Rule, code="HA307", title="stream ends with tasks not run", returns="0, or 107022 for who waits", severity="undefined"
):
    """A stream, its context or device is destroyed while tasks are queued. Synchronize first.

    Whether the tasks still run is a matter of luck; results that somebody waits for may never come.

    Wrong:  execute_v2(..., stream); acl.rt.destroy_stream(stream)
    Right:  execute_v2(..., stream); acl.rt.synchronize_stream(stream); acl.rt.destroy_stream(stream)

    From: the reference page of aclrtDestroyStream.
    """


class FailureUnseen(Rule, code="HA308", title="failure nobody saw", returns="0", severity="undefined"):
    """A stream ends with a failure that no synchronize returned, or a context with streams that were not destroyed.

    The program went on with a result that was never computed.

    Wrong:  execute, destroy_stream
    Right:  execute, synchronize_stream (read its code), destroy_stream

    From: our choice.
    """


class NeverRecorded(Rule, code="HA309", title="event never recorded", returns="0", severity="undefined"):
    """An event is waited for that was not recorded, or was reset: there is nothing to wait for.

    The wait returns at once, so what it was to come after may not have happened.

    Wrong:  event, ret = acl.rt.create_event(); acl.rt.synchronize_event(event)
    Right:  event, ret = acl.rt.create_event(); acl.rt.record_event(event, stream); acl.rt.synchronize_event(event)

    From: our choice.
    """


class WaitsForItself(Rule, code="HA310", title="stream waits for itself", returns="107000"):
    """A task of a stream (a callback, an operator of the user's) synchronizes that very stream. It would wait for ever.

    The task ends only after the wait, and the wait only after the task.

    Wrong:  a callback of stream that calls acl.rt.synchronize_stream(stream)
    Right:  synchronize in the thread that launched the callback

    From: our choice.
    """


class Interrupted(Rule, code="HA311", title="wait interrupted", returns="500000", answer=True):
    """Ctrl-C, or another signal's exception, ended the wait. The work goes on; synchronize again.

    Memory of tasks that still run must not be freed before they are done.

    Wrong:  Ctrl-C in acl.rt.synchronize_stream(stream); acl.rt.free(ptr)
    Right:  except KeyboardInterrupt: acl.rt.synchronize_stream(stream), then acl.rt.free(ptr)

    From: our choice.
    """


class StreamTimeout(Rule, code="HA312", title="stream not done in time", returns="507046", answer=True):
    """The stream was not done when the timeout was over; the text says what it is at. -1 waits for ever.

    A program that takes it for the end uses results that are not there yet.

    Wrong:  acl.rt.synchronize_stream_with_timeout(stream, 1) behind an event that nobody records
    Right:  record the event first, or wait longer

    From: the reference (ACL_ERROR_RT_STREAM_SYNC_TIMEOUT).
    """


class EventTimeout(Rule, code="HA313", title="event not reached in time", returns="507047", answer=True):
    """The event was not reached when the timeout was over.

    A program that takes it for the end uses results that are not there yet.

    Wrong:  acl.rt.synchronize_event_with_timeout(event, 1) behind a task that is not ready
    Right:  make ready what the event's stream waits for, or wait longer

    From: the reference (ACL_ERROR_RT_EVENT_SYNC_TIMEOUT).
    """


class NoTime(Rule, code="HA314", title="event without a time", returns="107006"):
    """elapsed_time needs two events that were recorded.

    Without two times there is no time between them; 0 would be believed.

    Wrong:  start, ret = acl.rt.create_event(); acl.rt.event_elapsed_time(start, end)
    Right:  acl.rt.record_event(start, stream); ...; acl.rt.record_event(end, stream); acl.rt.event_elapsed_time(start, end)

    From: the reference page of aclrtEventElapsedTime.
    """


class NotReached(Rule, code="HA315", title="event not reached", returns="507006", answer=True):
    """elapsed_time came before the event was reached. Synchronize it first.

    The end of what is measured is still to come, so the time would be too short.

    Wrong:  acl.rt.record_event(end, stream); acl.rt.event_elapsed_time(start, end)
    Right:  acl.rt.record_event(end, stream); acl.rt.synchronize_event(end); acl.rt.event_elapsed_time(start, end)

    From: the reference page of aclrtEventElapsedTime.
    """


class CallbackDropped(Rule, code="HA320", title="callback dropped", returns="107015", severity="undefined"):
    """A callback was never processed: its thread unsubscribed, or did not call process_report again.

    What it was to do, such as giving a buffer back, is never done; and a stream that was to wait for it goes on.

    Wrong:  launch_callback(...); acl.rt.unsubscribe_report(thread, stream)
    Right:  launch_callback(...); acl.rt.process_report(1000); acl.rt.unsubscribe_report(thread, stream)

    From: our choice.
    """


class ThreadId(Rule, code="HA321", title="thread id", returns="100000"):
    """The thread of callbacks is named by its pthread_self(): threading.get_ident() in Python.

    Another number would wake no thread, and the stream's callbacks would wait for ever.

    Wrong:  acl.rt.subscribe_report(0, stream)
    Right:  acl.rt.subscribe_report(threading.get_ident(), stream)

    From: the reference page of aclrtSubscribeReport.
    """


class Subscribed(Rule, code="HA322", title="stream subscribed already", returns="107011"):
    """One thread processes the callbacks of a stream. Unsubscribe it first.

    With two threads nobody could say which of them runs a callback.

    Wrong:  acl.rt.subscribe_report(thread, stream); acl.rt.subscribe_report(other_thread, stream)
    Right:  acl.rt.unsubscribe_report(thread, stream); acl.rt.subscribe_report(other_thread, stream)

    From: the reference page of aclrtSubscribeReport.
    """


class NotSubscribed(Rule, code="HA323", title="stream not subscribed", returns="107015"):
    """A callback was launched in a stream that no thread is subscribed to.

    Nobody would ever run it, and a stream that waits for it would stand still.

    Wrong:  acl.rt.launch_callback(function, None, 1, stream)
    Right:  acl.rt.subscribe_report(thread, stream); acl.rt.launch_callback(function, None, 1, stream)

    From: the reference (ACL_ERROR_RT_STREAM_NO_CB_REG).
    """


class ThreadNotSubscribed(Rule, code="HA324", title="thread not subscribed", returns="107012"):
    """process_report was called by a thread that is subscribed to no stream.

    It would wait for callbacks that cannot come.

    Wrong:  acl.rt.process_report(1000) in the main thread, subscribe_report for a worker
    Right:  acl.rt.process_report(1000) in the worker

    From: the reference page of aclrtProcessReport.
    """


class NoCallback(Rule, code="HA325", title="no callback in time", returns="507012", answer=True):
    """No callback came before the timeout of process_report was over. Call it again.

    It says nothing about the stream: the callback may come a moment later.

    Wrong:  acl.rt.process_report(1), and the end when it is not 0
    Right:  acl.rt.process_report(1000) in a loop until the program says stop

    From: the reference page of aclrtProcessReport.
    """


class HostDataPending(Rule, code="HA330", title="memory used while a task on it is pending", returns="0", severity="undefined"):
    """A copy or a set touches memory that a queued task of another stream, or of the same one, still needs or writes.

    A copy is ordered against nothing: synchronize the stream first, or the data are stale. `hostacl run --check` finds it also
    where the operator has run already, since on a card it may not have.

    Wrong:  execute_v2(...), memcpy of its output
    Right:  execute_v2(...), synchronize_stream, memcpy

    From: the reference page of aclrtMemcpy; a frequent report.
    """


class TooManyStreams(Rule, code="HA316", title="too many streams", returns="207008"):
    """As many streams are alive as there can be. Destroy those that are done; a stream can be used again and again.

    When none is left, create_stream fails wherever in the program it comes next.

    Wrong:  stream, ret = acl.rt.create_stream() for each operator
    Right:  one stream for all of them, or acl.rt.destroy_stream(stream) after each

    From: the reference (ACL_ERROR_RT_NO_STREAM_RESOURCE).
    """


class Aborted(Rule, code="HA317", title="task aborted", returns="107022"):
    """The task was queued when its stream or device was told to abort; it did not run.

    Its outputs hold what they held before.

    Wrong:  execute_v2(..., stream) in one thread, acl.rt.stream_abort(stream) in another
    Right:  acl.rt.synchronize_stream(stream) before the abort

    From: the reference (ACL_ERROR_RT_DEVICE_TASK_ABORT).
    """


class FailureMode(Rule, code="HA318", title="failure mode", returns="107000"):
    """A stream's failure mode is 0 (go on) or 1 (stop), and can be set once for a stream.

    The mode decides whether tasks behind a failure still run on what it left behind.

    Wrong:  acl.rt.set_stream_failure_mode(stream, 5)
    Right:  acl.rt.set_stream_failure_mode(stream, 1)

    From: the reference page of aclrtSetStreamFailureMode.
    """


class EventFlags(Rule, code="HA319", title="event flags", returns="107000"):
    """The flags of an event are 1 (sync), 2 (stream progress), 8 (time line), or some of them together.

    An event without the flag of what it is used for gives wrong times, or cannot be waited for.

    Wrong:  acl.rt.create_event_with_flag(0x80)
    Right:  acl.rt.create_event_with_flag(1)

    From: the reference page of aclrtCreateEventWithFlag.
    """


class ExceptionInfo(Rule, code="HA326", title="exception info not live", returns="100000"):
    """The info is only there while the exception callback runs that was given it.

    Its memory is used again for the next failure, so the numbers would be of another one, or of none.

    Wrong:  keep info, and read it after the synchronize
    Right:  read it in the callback, and keep the numbers

    From: the reference page of aclrtSetExceptionInfoCallback.
    """


class OtherResources(Rule, code="HA327", title="stream whose resources are not in use", returns="107000"):
    """This thread uses the resources of another stream, or of none.

    The cores that the program believes to have set aside are not in use.

    Wrong:  acl.rt.unuse_stream_res_in_current_thread(stream)
    Right:  acl.rt.use_stream_res_in_current_thread(stream); ...; acl.rt.unuse_stream_res_in_current_thread(stream)

    From: our choice.
    """


class TwoThreads(Rule, code="HA328", title="one stream, two threads", returns="0", severity="undefined"):
    """A thread submits an operator to a stream that holds operators of another thread which were not synchronized. Several
    threads on one stream, or on the default stream, are not supported: tasks may go wrong.

    The text has both threads, both operators and both places. Found by `hostacl run --check`.

    Wrong:  two threads execute on stream 0
    Right:  each thread makes its own: stream, ret = acl.rt.create_stream()

    From: the reference page of aclopExecuteV2.
    """
