"""HA1xx: initialisation, devices, contexts, settings, and what the whole library cannot do."""

from hostacl.checks.rule import Rule


class NoContext(Rule, code="HA101", title="no context in this thread", returns="107002"):
    """The thread has no context: a context belongs to a thread, and a new thread has none, whatever the main thread set.

    Wrong:  acl.rt.set_device(0) in the main thread only; a worker calls acl.rt.malloc
    Right:  the worker begins with acl.rt.set_device(0), or acl.rt.set_context(context) of the main thread

    From: the reference (ACL_ERROR_RT_CONTEXT_NULL); a frequent report.
    """


class NoDevice(Rule, code="HA102", title="no device of this number", returns="107001"):
    """Devices are numbered from 0. HOSTACL_DEVICES says how many there are (1 unless set).

    From: the reference (ACL_ERROR_RT_INVALID_DEVICEID).
    """


class NoConfigFile(Rule, code="HA103", title="configuration file not found", returns="100003"):
    """The path given to acl.init cannot be read. Give none, "" or the path of an acl.json; a relative one starts at the working
    directory.

    From: the reference page of aclInit.
    """


class BadConfig(Rule, code="HA104", title="configuration file malformed", returns="100006, or 148048 for max_opqueue_num"):
    """acl.json is not JSON, is nested more than 10 deep, or holds a value that its key cannot have. `{}` is fine.

    Right:  {"err_msg_mode": "1", "max_opqueue_num": "10000"}

    From: the reference on acl.json.
    """


class BadSetting(Rule, code="HA105", title="setting or limit", returns="100000 or 107001"):
    """A setting of hostacl, or a number of a device list, is none of those allowed; the text lists them.

    From: our choice.
    """


class DeadContext(Rule, code="HA106", title="dead context", returns="107000"):
    """A context was destroyed, its device was reset, or the number never was a context.

    Wrong:  acl.rt.reset_device(0); acl.rt.set_context(context)
    Right:  acl.rt.set_device(0) makes a new one

    From: our choice of code.
    """


class PrimaryContext(Rule, code="HA107", title="primary context destroyed by hand", returns="107000"):
    """The context that set_device made belongs to the device: reset_device ends it, destroy_context is for those of
    create_context.

    From: the reference page of aclrtDestroyContext.
    """


class PendingAtEnd(Rule, code="HA108", title="tasks pending at finalize", returns="0", severity="undefined"):
    """acl.finalize or a reset came while work was queued; its results may never be there. Synchronize first.

    From: the reference page of aclFinalize.
    """


class NotSupported(Rule, code="HA109", title="not supported", returns="200001"):
    """The function exists, but hostacl does not do what it does: single operators are its purpose.

    docs/c-functions.md says for each name whether it works.

    From: our choice (ACL_ERROR_API_NOT_SUPPORT).
    """


class NoPython(Rule, code="HA110", title="Python is not there", returns="500000"):
    """Operators are computed in Python, and it has ended, or could not be started in a C program.

    A C program needs the shared libpython that hostacl was installed for; `hostacl doctor` names the package. Calls from exit
    handlers come too late.

    From: our choice.
    """


class InitTwice(Rule, code="HA111", title="init twice", returns="100002", answer=True):
    """acl.init was called before in this process. Harmless: take 100002 as success. Only the first configuration counts.

    From: the reference (ACL_ERROR_REPEAT_INITIALIZE); two libraries in one process do this.
    """


class FinalizeTwice(Rule, code="HA112", title="finalize without init", returns="100037"):
    """acl.finalize was called before, or acl.init never was.

    From: the reference (ACL_ERROR_REPEAT_FINALIZE).
    """


class OutOfHostMemory(Rule, code="HA113", title="out of host memory", returns="200000"):
    """The process has no memory left for the call. Device memory is host memory here; HOSTACL_DEVICE_MEMORY bounds it.

    From: ACL_ERROR_BAD_ALLOC.
    """


class Internal(Rule, code="HA114", title="internal error", returns="500000"):
    """An error that no check foresaw: a fault of hostacl, not of your program. Please report it with the text.

    From: our choice.
    """


class OtherConfig(Rule, code="HA115", title="init with another configuration", returns="100002", severity="portability"):
    """acl.init was called again with another configuration than the first time. It is ignored until acl.finalize.

    From: the reference page of aclInit.
    """


class StreamConfig(Rule, code="HA116", title="configuration value", returns="100000 or 107000"):
    """A value is none of those that its attribute, flag or option can have, or is not of its size; the text says what is.

    From: the reference page of aclrtSetStreamConfigOpt.
    """


class PeerDevices(Rule, code="HA117", title="peer of itself", returns="107000"):
    """Access between two devices was asked for with one and the same device.

    From: the reference page of aclrtDeviceCanAccessPeer.
    """


class DeviceAttribute(Rule, code="HA118", title="unknown device attribute", returns="207000"):
    """The attribute is none of those that are answered here; the text lists them.

    From: our choice.
    """


class ParameterNotSet(Rule, code="HA119", title="system parameter never set", returns="107021"):
    """A system parameter was read that was never set.

    From: the reference (ACL_ERROR_RT_SYSPARAMOPT_NOT_SET).
    """


class OverflowMode(
    Rule, code="HA120", title="overflow mode that this product does not have", returns="0", severity="portability"
):
    """The product that is played (HOSTACL_SOC) has one overflow mode only; the call is accepted and changes nothing.

    From: our choice, after the reference page of aclrtSetDeviceSatMode.
    """


class OverflowPassedOver(
    Rule, code="HA123", title="large results came before the overflow status was asked for", returns="0", severity="portability"
):
    """Results of more than 4096 bytes are looked at for overflow once a program has touched the overflow status:
    aclrtResetOverflowStatus, aclrtGetOverflowStatus, a stream's overflow switch, or an operator of the NPU…FloatStatus family.
    The text says that some came before; reset the status before the operators that it is to tell of.

    From: our choice: to look at every result costs time that nearly no program wants to spend.
    """


class EmptyGroupInfo(Rule, code="HA121", title="group info not filled", returns="107014"):
    """The group info was created, but aclrtGetAllGroupInfo did not fill it.

    From: the reference (ACL_ERROR_RT_GROUP_NOT_CREATE).
    """


class Injected(Rule, code="HA122", title="injected failure", returns="the code asked for, such as 507035", answer=True):
    """A test asked for this failure with hostacl.testing.inject: the call, or the operator, did nothing and failed as asked.

    From: our own; a card cannot be made to fail on purpose.
    """


class NotInitialized(Rule, code="HA124", title="used outside of init and finalize", returns="0", severity="portability"):
    """acl.init was not called before, or acl.finalize was. It works here; a card answers 100001 or 507000, or crashes.

    Wrong:  acl.rt.set_device(0) as the first call
    Right:  acl.init(); acl.rt.set_device(0)

    From: the reference page of aclInit.
    """
