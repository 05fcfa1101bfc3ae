// acl_rt.h: streams, events, waiting.
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclrtCreateStream, void**)
DECLARE(int32_t, aclrtCreateStreamWithConfig, void**, uint32_t, uint32_t)
DECLARE(int32_t, aclrtDestroyStream, void*)
DECLARE(int32_t, aclrtDestroyStreamForce, void*)
DECLARE(int32_t, aclrtStreamQuery, void*, int32_t*)
DECLARE(int32_t, aclrtStreamAbort, void*)
DECLARE(int32_t, aclrtStreamGetId, void*, int32_t*)
DECLARE(int32_t, aclrtGetStreamAvailableNum, uint32_t*)
DECLARE(int32_t, aclrtSetStreamFailureMode, void*, uint64_t)
DECLARE(int32_t, aclrtSetStreamOverflowSwitch, void*, uint32_t)
DECLARE(int32_t, aclrtGetStreamOverflowSwitch, void*, uint32_t*)
DECLARE(int32_t, aclrtGetStreamResLimit, void*, int32_t, uint32_t*)
DECLARE(int32_t, aclrtSetStreamResLimit, void*, int32_t, uint32_t)
DECLARE(int32_t, aclrtResetStreamResLimit, void*)
DECLARE(int32_t, aclrtUseStreamResInCurrentThread, void*)
DECLARE(int32_t, aclrtUnuseStreamResInCurrentThread, void*)
DECLARE(int32_t, aclrtGetResInCurrentThread, int32_t, uint32_t*)
DECLARE(int32_t, aclrtSynchronizeStream, void*)
DECLARE(int32_t, aclrtSynchronizeStreamWithTimeout, void*, int32_t)
DECLARE(int32_t, aclrtSynchronizeDevice)
DECLARE(int32_t, aclrtSynchronizeDeviceWithTimeout, int32_t)
DECLARE(int32_t, aclrtCreateEvent, void**)
DECLARE(int32_t, aclrtCreateEventWithFlag, void**, uint32_t)
DECLARE(int32_t, aclrtCreateEventExWithFlag, void**, uint32_t)
DECLARE(int32_t, aclrtDestroyEvent, void*)
DECLARE(int32_t, aclrtRecordEvent, void*, void*)
DECLARE(int32_t, aclrtResetEvent, void*, void*)
DECLARE(int32_t, aclrtQueryEvent, void*, int32_t*)
DECLARE(int32_t, aclrtQueryEventStatus, void*, int32_t*)
DECLARE(int32_t, aclrtQueryEventWaitStatus, void*, int32_t*)
DECLARE(int32_t, aclrtSynchronizeEvent, void*)
DECLARE(int32_t, aclrtSynchronizeEventWithTimeout, void*, int32_t)
DECLARE(int32_t, aclrtEventElapsedTime, float*, void*, void*)
DECLARE(int32_t, aclrtEventGetTimestamp, void*, uint64_t*)
DECLARE(int32_t, aclrtGetEventId, void*, uint32_t*)
DECLARE(int32_t, aclrtGetEventAvailNum, uint32_t*)
DECLARE(int32_t, aclrtStreamWaitEvent, void*, void*)
DECLARE(int32_t, aclrtSubscribeReport, uint64_t, void*)
DECLARE(int32_t, aclrtUnSubscribeReport, uint64_t, void*)
DECLARE(int32_t, aclrtProcessReport, int32_t)

namespace hostacl {

void add_stream_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclrtCreateStream", "acl.rt.create_stream", hacl_aclrtCreateStream, {}),
        row("aclrtCreateStreamWithConfig", "acl.rt.create_stream_with_config", hacl_aclrtCreateStreamWithConfig, {"priority", "flag"}),
        row("aclrtDestroyStream", "acl.rt.destroy_stream", hacl_aclrtDestroyStream, {"stream"}, Waits::Yes),
        row("aclrtDestroyStreamForce", "acl.rt.destroy_stream_force", hacl_aclrtDestroyStreamForce, {"stream"}, Waits::Yes),
        row("aclrtStreamQuery", "acl.rt.stream_query", hacl_aclrtStreamQuery, {"stream"}),
        row("aclrtStreamAbort", "acl.rt.stream_abort", hacl_aclrtStreamAbort, {"stream"}, Waits::Yes),
        row("aclrtStreamGetId", "acl.rt.stream_get_id", hacl_aclrtStreamGetId, {"stream"}),
        row("aclrtGetStreamAvailableNum", "acl.rt.get_stream_available_num", hacl_aclrtGetStreamAvailableNum, {}),
        row("aclrtSetStreamFailureMode", "acl.rt.set_stream_failure_mode", hacl_aclrtSetStreamFailureMode, {"stream", "mode"}),
        row("aclrtSetStreamOverflowSwitch", "acl.rt.set_stream_overflow_switch", hacl_aclrtSetStreamOverflowSwitch, {"stream", "flag"}),
        row("aclrtGetStreamOverflowSwitch", "acl.rt.get_stream_overflow_switch", hacl_aclrtGetStreamOverflowSwitch, {"stream"}),
        row("aclrtGetStreamResLimit", "acl.rt.get_stream_res_limit", hacl_aclrtGetStreamResLimit, {"stream", "type"}),
        row("aclrtSetStreamResLimit", "acl.rt.set_stream_res_limit", hacl_aclrtSetStreamResLimit, {"stream", "type", "value"}),
        row("aclrtResetStreamResLimit", "acl.rt.reset_stream_res_limit", hacl_aclrtResetStreamResLimit, {"stream"}),
        row("aclrtUseStreamResInCurrentThread", "acl.rt.use_stream_res_in_current_thread", hacl_aclrtUseStreamResInCurrentThread, {"stream"}),
        row("aclrtUnuseStreamResInCurrentThread", "acl.rt.unuse_stream_res_in_current_thread", hacl_aclrtUnuseStreamResInCurrentThread, {"stream"}),
        row("aclrtGetResInCurrentThread", "acl.rt.get_res_in_current_thread", hacl_aclrtGetResInCurrentThread, {"type"}),
        row("aclrtSynchronizeStream", "acl.rt.synchronize_stream", hacl_aclrtSynchronizeStream, {"stream"}, Waits::Yes),
        row("aclrtSynchronizeStreamWithTimeout", "acl.rt.synchronize_stream_with_timeout", hacl_aclrtSynchronizeStreamWithTimeout, {"stream", "timeout_ms"}, Waits::Yes),
        row("aclrtSynchronizeDevice", "acl.rt.synchronize_device", hacl_aclrtSynchronizeDevice, {}, Waits::Yes),
        row("aclrtSynchronizeDeviceWithTimeout", "acl.rt.synchronize_device_with_timeout", hacl_aclrtSynchronizeDeviceWithTimeout, {"timeout_ms"}, Waits::Yes),
        row("aclrtCreateEvent", "acl.rt.create_event", hacl_aclrtCreateEvent, {}),
        row("aclrtCreateEventWithFlag", "acl.rt.create_event_with_flag", hacl_aclrtCreateEventWithFlag, {"flag"}),
        row("aclrtCreateEventExWithFlag", "acl.rt.create_event_ex_with_flag", hacl_aclrtCreateEventExWithFlag, {"flag"}),
        row("aclrtDestroyEvent", "acl.rt.destroy_event", hacl_aclrtDestroyEvent, {"event"}),
        row("aclrtRecordEvent", "acl.rt.record_event", hacl_aclrtRecordEvent, {"event", "stream"}),
        row("aclrtResetEvent", "acl.rt.reset_event", hacl_aclrtResetEvent, {"event", "stream"}),
        row("aclrtQueryEvent", "acl.rt.query_event", hacl_aclrtQueryEvent, {"event"}),
        row("aclrtQueryEventStatus", "acl.rt.query_event_status", hacl_aclrtQueryEventStatus, {"event"}),
        row("aclrtQueryEventWaitStatus", "acl.rt.query_event_wait_status", hacl_aclrtQueryEventWaitStatus, {"event"}),
        row("aclrtSynchronizeEvent", "acl.rt.synchronize_event", hacl_aclrtSynchronizeEvent, {"event"}, Waits::Yes),
        row("aclrtSynchronizeEventWithTimeout", "acl.rt.synchronize_event_with_timeout", hacl_aclrtSynchronizeEventWithTimeout, {"event", "timeout_ms"}, Waits::Yes),
        row("aclrtEventElapsedTime", "acl.rt.event_elapsed_time", hacl_aclrtEventElapsedTime, {"start", "end"}),
        row("aclrtEventGetTimestamp", "acl.rt.event_get_timestamp", hacl_aclrtEventGetTimestamp, {"event"}),
        row("aclrtGetEventId", "acl.rt.get_event_id", hacl_aclrtGetEventId, {"event"}),
        row("aclrtGetEventAvailNum", "acl.rt.get_event_avail_num", hacl_aclrtGetEventAvailNum, {}),
        row("aclrtStreamWaitEvent", "acl.rt.stream_wait_event", hacl_aclrtStreamWaitEvent, {"stream", "event"}),
        row("aclrtSubscribeReport", "acl.rt.subscribe_report", hacl_aclrtSubscribeReport, {"thread_id", "stream"}),
        row("aclrtUnSubscribeReport", "acl.rt.unsubscribe_report", hacl_aclrtUnSubscribeReport, {"thread_id", "stream"}),
        row("aclrtProcessReport", "acl.rt.process_report", hacl_aclrtProcessReport, {"timeout_ms"}, Waits::Yes),
    });
}

} // namespace hostacl
