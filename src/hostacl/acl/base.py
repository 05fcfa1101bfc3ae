"""Start and end, data buffers, half numbers, messages, compile options."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "app_log", "create_data_buffer", "data_type_size", "destroy_data_buffer", "finalize", "finalize_reference",
    "float16_to_float", "float_to_float16", "get_cann_attribute", "get_cann_attribute_list", "get_compileopt",
    "get_compileopt_size", "get_data_buffer_addr", "get_data_buffer_size", "get_data_buffer_size_v2",
    "get_device_capability", "get_recent_err_msg", "get_soc_name", "get_version", "get_version_str", "init",
    "set_compileopt", "update_data_buffer",
]


def init(config_path: str | None = None) -> int:
    """Starts AscendCL: once per process, before any other call; the code.

    ``config_path`` names an ``acl.json``; left out, None, ``""`` and an empty file are fine. 100003 when the file is
    not there, 100006 when it is malformed, 100002 when started already (harmless). C: ``aclInit``.
    """
    return _machine.aclInit(config_path)


def finalize() -> int:
    """Ends AscendCL: everything it owns is given back, models and the model dir are forgotten; the code.

    100037 when it was not started, or has ended. C: ``aclFinalize``.
    """
    return _machine.aclFinalize()


def finalize_reference() -> tuple[int, int]:
    """Ends AscendCL when this is the last of as many calls as ``init`` was called: ``(remaining, ret)``.

    C: ``aclFinalizeReference``.
    """
    return _machine.aclFinalizeReference()


def get_version() -> tuple[int, int, int, int]:
    """The version of the API: ``(major, minor, patch, ret)``.

    C: ``aclrtGetVersion``.
    """
    return _machine.aclrtGetVersion()


def get_version_str(pkg_name: str) -> tuple[str, int]:
    """The version of a CANN package as text: ``(version, ret)``.

    The setting HOSTACL_CANN decides it. C: ``aclsysGetVersionStr``.
    """
    return _machine.aclsysGetVersionStr(pkg_name)


def get_soc_name() -> str:
    """The name of the processor, such as ``"Ascend910B1"``.

    The setting HOSTACL_SOC decides it. C: ``aclrtGetSocName``.
    """
    return _machine.aclrtGetSocName()


def get_recent_err_msg() -> str | None:
    """What went wrong in this thread since the last call, newest first; None when nothing failed.

    Reading clears it. With ``err_msg_mode`` "1" in acl.json the messages of all threads are given.
    C: ``aclGetRecentErrMsg``.
    """
    return _machine.aclGetRecentErrMsg()


def app_log(level: int, message: str) -> None:
    """Writes a line of the program's own to the log.

    ``level`` is 0 (debug), 1 (info), 2 (warning) or 3 (error). C: ``aclAppLog``.
    """
    _machine.aclAppLog(level, message)


def float16_to_float(value: int) -> float:
    """The float of a half's 16 bits.

    As in the vendor's helper there is no Inf and no NaN: 0x7C00 gives 65536. Operators do not behave so.
    C: ``aclFloat16ToFloat``.
    """
    return _machine.aclFloat16ToFloat(value)


def float_to_float16(value: float) -> int:
    """The 16 bits of the half nearest to a float, ties to even.

    As in the vendor's helper Inf, NaN and what is too large give ±65504. Operators do not behave so.
    C: ``aclFloatToFloat16``.
    """
    return _machine.aclFloatToFloat16(value)


def data_type_size(data_type: int) -> int:
    """The bytes of one element of an ``aclDataType``; 0 for an unknown one.

    Packed types count whole bytes: 1 for int4 and uint1, 8 for 4- and 6-bit floats, as documented.
    C: ``aclDataTypeSize``.
    """
    return _machine.aclDataTypeSize(data_type)


def create_data_buffer(data: int, size: int) -> int:
    """A data buffer over ``size`` bytes at address ``data``: its handle.

    Nothing is checked or copied; the memory stays the caller's. ``(0, 0)``, or ``([], 0)``, stands for a tensor that
    is left out or const. C: ``aclCreateDataBuffer``.
    """
    return _machine.aclCreateDataBuffer(data, size)


def destroy_data_buffer(data_buffer: int) -> int:
    """Ends a data buffer, not its memory; the code.

    100000 for 0 or a handle that is no live data buffer. C: ``aclDestroyDataBuffer``.
    """
    return _machine.aclDestroyDataBuffer(data_buffer)


def update_data_buffer(data_buffer: int, data: int, size: int) -> int:
    """Puts another address and size (bytes) into a data buffer; the code.

    C: ``aclUpdateDataBuffer``.
    """
    return _machine.aclUpdateDataBuffer(data_buffer, data, size)


def get_data_buffer_addr(data_buffer: int) -> int:
    """The address of a data buffer; 0 for a handle that is no live data buffer.

    C: ``aclGetDataBufferAddr``.
    """
    return _machine.aclGetDataBufferAddr(data_buffer)


def get_data_buffer_size(data_buffer: int) -> int:
    """The size of a data buffer in bytes, modulo 2**32; use ``get_data_buffer_size_v2``.

    C: ``aclGetDataBufferSize``.
    """
    return _machine.aclGetDataBufferSize(data_buffer)


def get_data_buffer_size_v2(data_buffer: int) -> int:
    """The size of a data buffer in bytes; 0 for a handle that is no live data buffer.

    C: ``aclGetDataBufferSizeV2``.
    """
    return _machine.aclGetDataBufferSizeV2(data_buffer)


def get_cann_attribute_list() -> tuple[list[int], int, int]:
    """The attributes that ``get_cann_attribute`` knows: ``(list, number, ret)``.

    C: ``aclGetCannAttributeList``.
    """
    return _machine.aclGetCannAttributeList()


def get_cann_attribute(attr: int) -> tuple[int, int]:
    """Whether this CANN has an attribute: ``(value, ret)``, value 0 or 1.

    ``attr``: 0 INF_NAN, 1 BF16, 2 JIT_COMPILE. C: ``aclGetCannAttribute``.
    """
    return _machine.aclGetCannAttribute(attr)


def get_device_capability(device_id: int, device_info: int) -> tuple[int, int]:
    """A figure of a device: ``(value, ret)``.

    ``device_info``: 0 AI cores, 1 vector cores, 2 bytes of the L2 cache. C: ``aclGetDeviceCapability``.
    """
    return _machine.aclGetDeviceCapability(device_id, device_info)


def set_compileopt(opt: int, value: str) -> int:
    """Sets a compile option (``aclCompileOpt``); the code.

    Options are kept and given back; they never change a result. 500000 for an unknown one. C: ``aclSetCompileopt``.
    """
    return _machine.aclSetCompileopt(opt, value)


def get_compileopt_size(opt: int) -> int:
    """The bytes that the value of a compile option takes, with its end mark.

    C: ``aclGetCompileoptSize``.
    """
    return _machine.aclGetCompileoptSize(opt)


def get_compileopt(opt: int) -> tuple[str, int]:
    """The value of a compile option: ``(value, ret)``.

    C: ``aclGetCompileopt``.
    """
    return _machine.aclGetCompileopt(opt)
