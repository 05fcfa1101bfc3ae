"""Devices."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "device_can_access_peer", "device_disable_peer_access", "device_enable_peer_access",
    "device_get_stream_priority_range", "device_peer_access_status", "device_task_abort", "get_device",
    "get_device_capability", "get_device_count", "get_device_info", "get_device_res_limit", "get_device_sat_mode",
    "get_logic_dev_id_by_phy_dev_id", "get_logic_dev_id_by_user_dev_id", "get_overflow_status",
    "get_phy_dev_id_by_logic_dev_id", "get_run_mode", "get_user_dev_id_by_logic_dev_id", "query_device_status",
    "reset_device", "reset_device_force", "reset_device_res_limit", "reset_overflow_status", "set_device",
    "set_device_res_limit", "set_device_sat_mode", "set_ts_device",
]


def set_device(device_id: int) -> int:
    """Chooses the device of this thread: its primary context becomes current; the code.

    107001 for a device that is not there (0 .. n-1; the setting HOSTACL_DEVICES says how many).
    C: ``aclrtSetDevice``.
    """
    return _machine.aclrtSetDevice(device_id)


def reset_device(device_id: int) -> int:
    """Waits for the device's tasks and frees all that it owns; the code.

    Its context is dead afterwards: 107002 until a device is set again. C: ``aclrtResetDevice``.
    """
    return _machine.aclrtResetDevice(device_id)


def reset_device_force(device_id: int) -> int:
    """``reset_device`` however often the device was set; the code.

    C: ``aclrtResetDeviceForce``.
    """
    return _machine.aclrtResetDeviceForce(device_id)


def get_device() -> tuple[int, int]:
    """The device of this thread's context: ``(device_id, ret)``.

    107002 when no context is current. C: ``aclrtGetDevice``.
    """
    return _machine.aclrtGetDevice()


def get_device_count() -> tuple[int, int]:
    """How many devices there are: ``(count, ret)``.

    C: ``aclrtGetDeviceCount``.
    """
    return _machine.aclrtGetDeviceCount()


def get_run_mode() -> tuple[int, int]:
    """Where the program runs: ``(mode, ret)``; mode is 1 (ACL_HOST).

    C: ``aclrtGetRunMode``.
    """
    return _machine.aclrtGetRunMode()


def set_ts_device(ts_id: int) -> int:
    """Chooses the task scheduler of the device (``aclrtTsId``); the code.

    C: ``aclrtSetTsDevice``.
    """
    return _machine.aclrtSetTsDevice(ts_id)


def query_device_status(device_id: int) -> tuple[int, int]:
    """Whether a device is well: ``(status, ret)`` (``aclrtDeviceStatus``).

    C: ``aclrtQueryDeviceStatus``.
    """
    return _machine.aclrtQueryDeviceStatus(device_id)


def device_task_abort(device_id: int, timeout: int) -> int:
    """Drops the waiting tasks of a device; the code.

    ``timeout`` is in milliseconds, 0 for no bound. C: ``aclrtDeviceTaskAbort``.
    """
    return _machine.aclrtDeviceTaskAbort(device_id, timeout)


def get_device_info(device_id: int, attr: int) -> tuple[int, int]:
    """A figure of a device (``aclrtDevAttr``): ``(value, ret)``.

    C: ``aclrtGetDeviceInfo``.
    """
    return _machine.aclrtGetDeviceInfo(device_id, attr)


def get_device_capability(device_id: int, feature: int) -> tuple[int, int]:
    """Whether a device has a feature: ``(value, ret)``.

    C: ``aclrtGetDeviceCapability``.
    """
    return _machine.aclrtGetDeviceCapability(device_id, feature)


def device_get_stream_priority_range() -> tuple[int, int, int]:
    """The least and greatest priority of a stream: ``(least, greatest, ret)``.

    C: ``aclrtDeviceGetStreamPriorityRange``.
    """
    return _machine.aclrtDeviceGetStreamPriorityRange()


def set_device_sat_mode(mode: int) -> int:
    """Chooses what overflow gives: 0 saturation, 1 Inf and NaN; the code.

    Only some products can switch; elsewhere it is accepted and reported. C: ``aclrtSetDeviceSatMode``.
    """
    return _machine.aclrtSetDeviceSatMode(mode)


def get_device_sat_mode() -> tuple[int, int]:
    """What overflow gives: ``(mode, ret)``, 0 saturation, 1 Inf and NaN.

    C: ``aclrtGetDeviceSatMode``.
    """
    return _machine.aclrtGetDeviceSatMode()


def get_overflow_status(output_addr: int, output_size: int, stream: int) -> int:
    """Writes whether a result overflowed since the last reset (int64: 1, else 0) to device memory, asynchronously; the code.

    C: ``aclrtGetOverflowStatus``.
    """
    return _machine.aclrtGetOverflowStatus(output_addr, output_size, stream)


def reset_overflow_status(stream: int) -> int:
    """Clears the overflow status, asynchronously; the code.

    C: ``aclrtResetOverflowStatus``.
    """
    return _machine.aclrtResetOverflowStatus(stream)


def get_device_res_limit(device_id: int, type: int) -> tuple[int, int]:
    """A limit of a device's resources: ``(value, ret)``.

    C: ``aclrtGetDeviceResLimit``.
    """
    return _machine.aclrtGetDeviceResLimit(device_id, type)


def set_device_res_limit(device_id: int, type: int, value: int) -> int:
    """Sets a limit of a device's resources; the code.

    C: ``aclrtSetDeviceResLimit``.
    """
    return _machine.aclrtSetDeviceResLimit(device_id, type, value)


def reset_device_res_limit(device_id: int) -> int:
    """Takes back the limits of a device's resources; the code.

    C: ``aclrtResetDeviceResLimit``.
    """
    return _machine.aclrtResetDeviceResLimit(device_id)


def get_logic_dev_id_by_user_dev_id(dev_id: int) -> tuple[int, int]:
    """The logical number of a device from the user's: ``(device_id, ret)``.

    C: ``aclrtGetLogicDevIdByUserDevId``.
    """
    return _machine.aclrtGetLogicDevIdByUserDevId(dev_id)


def get_user_dev_id_by_logic_dev_id(dev_id: int) -> tuple[int, int]:
    """The user's number of a device from the logical: ``(device_id, ret)``.

    C: ``aclrtGetUserDevIdByLogicDevId``.
    """
    return _machine.aclrtGetUserDevIdByLogicDevId(dev_id)


def get_logic_dev_id_by_phy_dev_id(dev_id: int) -> tuple[int, int]:
    """The logical number of a device from the physical: ``(device_id, ret)``.

    C: ``aclrtGetLogicDevIdByPhyDevId``.
    """
    return _machine.aclrtGetLogicDevIdByPhyDevId(dev_id)


def get_phy_dev_id_by_logic_dev_id(dev_id: int) -> tuple[int, int]:
    """The physical number of a device from the logical: ``(device_id, ret)``.

    C: ``aclrtGetPhyDevIdByLogicDevId``.
    """
    return _machine.aclrtGetPhyDevIdByLogicDevId(dev_id)


def device_can_access_peer(device_id: int, peer_device_id: int) -> tuple[int, int]:
    """Whether one device reaches another's memory: ``(can_access, ret)``.

    C: ``aclrtDeviceCanAccessPeer``.
    """
    return _machine.aclrtDeviceCanAccessPeer(device_id, peer_device_id)


def device_enable_peer_access(peer_device_id: int, flags: int) -> int:
    """Lets this device reach another's memory; the code.

    C: ``aclrtDeviceEnablePeerAccess``.
    """
    return _machine.aclrtDeviceEnablePeerAccess(peer_device_id, flags)


def device_disable_peer_access(peer_device_id: int) -> int:
    """Takes back ``device_enable_peer_access``; the code.

    C: ``aclrtDeviceDisablePeerAccess``.
    """
    return _machine.aclrtDeviceDisablePeerAccess(peer_device_id)


def device_peer_access_status(device_id: int, peer_device_id: int) -> tuple[int, int]:
    """Whether access between two devices is on: ``(status, ret)``.

    C: ``aclrtDevicePeerAccessStatus``.
    """
    return _machine.aclrtDevicePeerAccessStatus(device_id, peer_device_id)
