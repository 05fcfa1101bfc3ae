// acl_rt.h: devices, contexts, settings, last errors.
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclrtSetDevice, int32_t)
DECLARE(int32_t, aclrtResetDevice, int32_t)
DECLARE(int32_t, aclrtResetDeviceForce, int32_t)
DECLARE(int32_t, aclrtGetDevice, int32_t*)
DECLARE(int32_t, aclrtGetDeviceCount, uint32_t*)
DECLARE(int32_t, aclrtGetRunMode, int32_t*)
DECLARE(int32_t, aclrtSetTsDevice, int32_t)
DECLARE(int32_t, aclrtQueryDeviceStatus, int32_t, int32_t*)
DECLARE(int32_t, aclrtDeviceTaskAbort, int32_t, uint32_t)
DECLARE(int32_t, aclrtGetDeviceInfo, uint32_t, int32_t, int64_t*)
WEAK(int32_t, aclrtGetDeviceCapability, int32_t, int32_t, int32_t*)
DECLARE(int32_t, aclrtDeviceGetStreamPriorityRange, int32_t*, int32_t*)
DECLARE(int32_t, aclrtSetDeviceSatMode, int32_t)
DECLARE(int32_t, aclrtGetDeviceSatMode, int32_t*)
DECLARE(int32_t, aclrtGetOverflowStatus, void*, size_t, void*)
DECLARE(int32_t, aclrtResetOverflowStatus, void*)
DECLARE(int32_t, aclrtGetDeviceResLimit, int32_t, int32_t, uint32_t*)
DECLARE(int32_t, aclrtSetDeviceResLimit, int32_t, int32_t, uint32_t)
DECLARE(int32_t, aclrtResetDeviceResLimit, int32_t)
DECLARE(int32_t, aclrtGetLogicDevIdByUserDevId, int32_t, int32_t*)
DECLARE(int32_t, aclrtGetUserDevIdByLogicDevId, int32_t, int32_t*)
DECLARE(int32_t, aclrtGetLogicDevIdByPhyDevId, int32_t, int32_t*)
DECLARE(int32_t, aclrtGetPhyDevIdByLogicDevId, int32_t, int32_t*)
DECLARE(int32_t, aclrtDeviceCanAccessPeer, int32_t*, int32_t, int32_t)
DECLARE(int32_t, aclrtDeviceEnablePeerAccess, int32_t, uint32_t)
DECLARE(int32_t, aclrtDeviceDisablePeerAccess, int32_t)
DECLARE(int32_t, aclrtDevicePeerAccessStatus, int32_t, int32_t, int32_t*)
DECLARE(int32_t, aclrtCreateContext, void**, int32_t)
DECLARE(int32_t, aclrtDestroyContext, void*)
DECLARE(int32_t, aclrtSetCurrentContext, void*)
DECLARE(int32_t, aclrtGetCurrentContext, void**)
DECLARE(int32_t, aclrtCtxGetCurrentDefaultStream, void**)
DECLARE(int32_t, aclrtGetPrimaryCtxState, int32_t, uint32_t*, int32_t*)
DECLARE(int32_t, aclrtCtxSetSysParamOpt, int32_t, int64_t)
DECLARE(int32_t, aclrtCtxGetSysParamOpt, int32_t, int64_t*)
DECLARE(int32_t, aclrtSetSysParamOpt, int32_t, int64_t)
DECLARE(int32_t, aclrtGetSysParamOpt, int32_t, int64_t*)
DECLARE(int32_t, aclrtPeekAtLastError, int32_t)
DECLARE(int32_t, aclrtGetLastError, int32_t)
DECLARE(int32_t, aclrtGetThreadLastTaskId, uint32_t*)
DECLARE(int32_t, aclrtSetOpWaitTimeout, uint32_t)
DECLARE(int32_t, aclrtSetOpExecuteTimeOut, uint32_t)
DECLARE(int32_t, aclrtSetOpExecuteTimeOutV2, uint64_t, uint64_t*)
DECLARE(int32_t, aclrtGetOpTimeOutInterval, uint64_t*)
DECLARE(int32_t, aclrtGetOpExecuteTimeout, uint32_t*)
DECLARE(int32_t, aclrtSetGroup, int32_t)

namespace hostacl {

void add_device_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclrtSetDevice", "acl.rt.set_device", hacl_aclrtSetDevice, {"device_id"}),
        row("aclrtResetDevice", "acl.rt.reset_device", hacl_aclrtResetDevice, {"device_id"}, Waits::Yes),
        row("aclrtResetDeviceForce", "acl.rt.reset_device_force", hacl_aclrtResetDeviceForce, {"device_id"}, Waits::Yes),
        row("aclrtGetDevice", "acl.rt.get_device", hacl_aclrtGetDevice, {}),
        row("aclrtGetDeviceCount", "acl.rt.get_device_count", hacl_aclrtGetDeviceCount, {}),
        row("aclrtGetRunMode", "acl.rt.get_run_mode", hacl_aclrtGetRunMode, {}),
        row("aclrtSetTsDevice", "acl.rt.set_ts_device", hacl_aclrtSetTsDevice, {"ts_id"}),
        row("aclrtQueryDeviceStatus", "acl.rt.query_device_status", hacl_aclrtQueryDeviceStatus, {"device_id"}),
        row("aclrtDeviceTaskAbort", "acl.rt.device_task_abort", hacl_aclrtDeviceTaskAbort, {"device_id", "timeout"}, Waits::Yes),
        row("aclrtGetDeviceInfo", "acl.rt.get_device_info", hacl_aclrtGetDeviceInfo, {"device_id", "attr"}),
        row("aclrtGetDeviceCapability", "acl.rt.get_device_capability", hacl_aclrtGetDeviceCapability, {"device_id", "feature"}),
        row("aclrtDeviceGetStreamPriorityRange", "acl.rt.device_get_stream_priority_range", hacl_aclrtDeviceGetStreamPriorityRange, {}),
        row("aclrtSetDeviceSatMode", "acl.rt.set_device_sat_mode", hacl_aclrtSetDeviceSatMode, {"mode"}),
        row("aclrtGetDeviceSatMode", "acl.rt.get_device_sat_mode", hacl_aclrtGetDeviceSatMode, {}),
        row("aclrtGetOverflowStatus", "acl.rt.get_overflow_status", hacl_aclrtGetOverflowStatus, {"output_addr", "output_size", "stream"}),
        row("aclrtResetOverflowStatus", "acl.rt.reset_overflow_status", hacl_aclrtResetOverflowStatus, {"stream"}),
        row("aclrtGetDeviceResLimit", "acl.rt.get_device_res_limit", hacl_aclrtGetDeviceResLimit, {"device_id", "type"}),
        row("aclrtSetDeviceResLimit", "acl.rt.set_device_res_limit", hacl_aclrtSetDeviceResLimit, {"device_id", "type", "value"}),
        row("aclrtResetDeviceResLimit", "acl.rt.reset_device_res_limit", hacl_aclrtResetDeviceResLimit, {"device_id"}),
        row("aclrtGetLogicDevIdByUserDevId", "acl.rt.get_logic_dev_id_by_user_dev_id", hacl_aclrtGetLogicDevIdByUserDevId, {"dev_id"}),
        row("aclrtGetUserDevIdByLogicDevId", "acl.rt.get_user_dev_id_by_logic_dev_id", hacl_aclrtGetUserDevIdByLogicDevId, {"dev_id"}),
        row("aclrtGetLogicDevIdByPhyDevId", "acl.rt.get_logic_dev_id_by_phy_dev_id", hacl_aclrtGetLogicDevIdByPhyDevId, {"dev_id"}),
        row("aclrtGetPhyDevIdByLogicDevId", "acl.rt.get_phy_dev_id_by_logic_dev_id", hacl_aclrtGetPhyDevIdByLogicDevId, {"dev_id"}),
        row("aclrtDeviceCanAccessPeer", "acl.rt.device_can_access_peer", hacl_aclrtDeviceCanAccessPeer, {"device_id", "peer_device_id"}),
        row("aclrtDeviceEnablePeerAccess", "acl.rt.device_enable_peer_access", hacl_aclrtDeviceEnablePeerAccess, {"peer_device_id", "flags"}),
        row("aclrtDeviceDisablePeerAccess", "acl.rt.device_disable_peer_access", hacl_aclrtDeviceDisablePeerAccess, {"peer_device_id"}),
        row("aclrtDevicePeerAccessStatus", "acl.rt.device_peer_access_status", hacl_aclrtDevicePeerAccessStatus, {"device_id", "peer_device_id"}),
        row("aclrtCreateContext", "acl.rt.create_context", hacl_aclrtCreateContext, {"device_id"}),
        row("aclrtDestroyContext", "acl.rt.destroy_context", hacl_aclrtDestroyContext, {"context"}, Waits::Yes),
        row("aclrtSetCurrentContext", "acl.rt.set_context", hacl_aclrtSetCurrentContext, {"context"}),
        row("aclrtGetCurrentContext", "acl.rt.get_context", hacl_aclrtGetCurrentContext, {}),
        row("aclrtCtxGetCurrentDefaultStream", "acl.rt.ctx_get_current_default_stream", hacl_aclrtCtxGetCurrentDefaultStream, {}),
        row("aclrtGetPrimaryCtxState", "acl.rt.get_primary_ctx_state", hacl_aclrtGetPrimaryCtxState, {"device_id"}),
        row("aclrtCtxSetSysParamOpt", "acl.rt.ctx_set_sys_param_opt", hacl_aclrtCtxSetSysParamOpt, {"opt", "value"}),
        row("aclrtCtxGetSysParamOpt", "acl.rt.ctx_get_sys_param_opt", hacl_aclrtCtxGetSysParamOpt, {"opt"}),
        row("aclrtSetSysParamOpt", "acl.rt.set_sys_param_opt", hacl_aclrtSetSysParamOpt, {"opt", "value"}),
        row("aclrtGetSysParamOpt", "acl.rt.get_sys_param_opt", hacl_aclrtGetSysParamOpt, {"opt"}),
        row("aclrtPeekAtLastError", "acl.rt.peek_at_last_error", hacl_aclrtPeekAtLastError, {"level"}),
        row("aclrtGetLastError", "acl.rt.get_last_error", hacl_aclrtGetLastError, {"level"}),
        row("aclrtGetThreadLastTaskId", "acl.rt.get_thread_last_task_id", hacl_aclrtGetThreadLastTaskId, {}),
        row("aclrtSetOpWaitTimeout", "acl.rt.set_op_wait_timeout", hacl_aclrtSetOpWaitTimeout, {"timeout_s"}),
        row("aclrtSetOpExecuteTimeOut", "acl.rt.set_op_execute_time_out", hacl_aclrtSetOpExecuteTimeOut, {"timeout_s"}),
        row("aclrtSetOpExecuteTimeOutV2", "acl.rt.set_op_execute_timeout_v2", hacl_aclrtSetOpExecuteTimeOutV2, {"timeout_us"}),
        row("aclrtGetOpTimeOutInterval", "acl.rt.get_op_timeout_interval", hacl_aclrtGetOpTimeOutInterval, {}),
        row("aclrtGetOpExecuteTimeout", "acl.rt.get_op_execute_timeout", hacl_aclrtGetOpExecuteTimeout, {}),
        row("aclrtSetGroup", "acl.rt.set_group", hacl_aclrtSetGroup, {"group_id"}),
    });
}

} // namespace hostacl
