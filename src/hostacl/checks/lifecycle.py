"""HA1xx: initialisation, devices, contexts, settings, and what the whole library cannot do."""

from hostacl.checks.rule import Rule


class NoContext(Rule, code="HA101", title="no context in this thread", returns="107002"):
    """The thread has no context: a context belongs to a thread, and a new thread has none, whatever the main thread set.

    Every call that allocates, copies or runs needs one; on a card the thread's first call fails, and what follows fails for
    want of its result.

    Wrong:  acl.rt.set_device(0) in the main thread only; a worker calls acl.rt.malloc
    Right:  the worker begins with acl.rt.set_device(0), or acl.rt.set_context(context) of the main thread

    From: the reference (ACL_ERROR_RT_CONTEXT_NULL); a frequent report.
    """


class NoDevice(Rule, code="HA102", title="no device of this number", returns="107001"):
    """Devices are numbered from 0. HOSTACL_DEVICES says how many there are (1 unless set).

    A program written for eight cards meets this on a machine with one; every later call of the thread then has no context.

    Wrong:  acl.rt.set_device(1) where get_device_count gives 1
    Right:  acl.rt.set_device(0), or HOSTACL_DEVICES=2

    From: the reference (ACL_ERROR_RT_INVALID_DEVICEID).
    """


class NoConfigFile(Rule, code="HA103", title="configuration file not found", returns="100003"):
    """The path given to acl.init cannot be read. Give none, "" or the path of an acl.json; a relative one starts at the working
    directory.

    Without its file the program would run with other settings than it was tested with, so init refuses instead.

    Wrong:  acl.init("acl.json") in another working directory
    Right:  acl.init(str(Path(__file__).parent / "acl.json"))

    From: the reference page of aclInit.
    """


class BadConfig(
    Rule, code="HA104", title="configuration file malformed", returns="100006, 100000, or 148048 for max_opqueue_num"
):
    """acl.json is not JSON, is nested more than 10 deep, or holds a value that its key cannot have. `{}` is fine.

    A value that is dropped silently would change the limits of the program, so init refuses the whole file.

    Wrong:  {"err_msg_mode": }
    Right:  {"err_msg_mode": "1", "max_opqueue_num": "10000"}

    From: the reference on acl.json.
    """


class BadSetting(Rule, code="HA105", title="setting", returns="100000"):
    """A setting of hostacl has a value that is none of those allowed, by hostacl.settings or in the `hostacl` object of
    acl.json; the text lists them. A HOSTACL_… variable with such a value is ignored, and stderr says so.

    A setting that is ignored silently would let a program be judged under other rules than those that were asked for.

    Wrong:  {"hostacl": {"check": "freed"}}, or hostacl.settings(scheduler="late")
    Right:  {"hostacl": {"check": "HA204"}}, hostacl.settings(scheduler="deferred")

    From: our choice.
    """


class DeadContext(Rule, code="HA106", title="dead context", returns="107000"):
    """A context was destroyed, its device was reset, or the number never was a context.

    What was made in the context ended with it: its streams, and with the device its memory.

    Wrong:  acl.rt.reset_device(0); acl.rt.set_context(context)
    Right:  acl.rt.set_device(0) makes a new one

    From: our choice of code.
    """


class PrimaryContext(Rule, code="HA107", title="primary context destroyed by hand", returns="107000"):
    """The context that set_device made belongs to the device: reset_device ends it, destroy_context is for those of
    create_context.

    Other threads that set the same device share this context and would lose it.

    Wrong:  context, ret = acl.rt.get_context(); acl.rt.destroy_context(context)
    Right:  acl.rt.reset_device(0)

    From: the reference page of aclrtDestroyContext.
    """


class PendingAtEnd(Rule, code="HA108", title="tasks pending at finalize", returns="0", severity="undefined"):
    """acl.finalize or a reset came while work was queued; its results may never be there. Synchronize first.

    Whoever copied the results before that has read memory that nobody had written yet.

    Wrong:  execute_v2(..., stream); acl.finalize()
    Right:  execute_v2(..., stream); acl.rt.synchronize_stream(stream); acl.finalize()

    From: the reference page of aclFinalize.
    """


class NotSupported(Rule, code="HA109", title="not supported", returns="200001"):
    """The function exists, but hostacl does not do what it does: single operators are its purpose.

    docs/c-functions.md says for each name whether it works.

    The answer is a card's for what it lacks, so a program that can do without goes on, and one that cannot says so at once.

    Wrong:  acl.mdl.load_from_file("model.om")
    Right:  call its operators one by one, or run the model in an inference engine

    From: our choice (ACL_ERROR_API_NOT_SUPPORT).
    """


class NoPython(Rule, code="HA110", title="Python is not there", returns="500000"):
    """Operators are computed in Python, and it has ended, or could not be started in a C program.

    A C program needs the shared libpython that hostacl was installed for; `hostacl doctor` names the package. Calls from exit
    handlers come too late.

    Wrong:  atexit(run_an_operator) in a C program, or a Python without libpython
    Right:  run it before main returns; HOSTACL_PYTHON=/usr/bin/python3 of the Python that hostacl is installed for

    From: our choice.
    """


class InitTwice(Rule, code="HA111", title="init twice", returns="100002", answer=True):
    """acl.init was called before in this process. Harmless: take 100002 as success. Only the first configuration counts.

    acl.get_recent_err_msg has this text until the thread's next call ends; after it, an operator is not blamed for it.

    Wrong:  assert acl.init() == 0 in a library
    Right:  assert acl.init() in (0, 100002)

    From: the reference (ACL_ERROR_REPEAT_INITIALIZE); two libraries in one process do this.
    """


class FinalizeTwice(Rule, code="HA112", title="finalize without init", returns="100037"):
    """acl.finalize was called before, or acl.init never was.

    It tells of an end that is reached twice, such as an exit handler after a regular end; what the handler does next finds
    nothing.

    Wrong:  acl.finalize(); acl.finalize()
    Right:  acl.init(); ...; acl.finalize(), once for each init that gave 0

    From: the reference (ACL_ERROR_REPEAT_FINALIZE).
    """


class OutOfHostMemory(Rule, code="HA113", title="out of host memory", returns="200000"):
    """The process has no memory left for the call. Device memory is host memory here; HOSTACL_DEVICE_MEMORY bounds it.

    A card would have refused the allocation; here it may come as late as inside an operator that needs room for its work.

    Wrong:  one Add on tensors larger than the machine's memory
    Right:  the same in parts, or HOSTACL_DEVICE_MEMORY=8G, so that malloc refuses first

    From: ACL_ERROR_BAD_ALLOC.
    """


class Internal(Rule, code="HA114", title="internal error", returns="500000"):
    """An error that no check foresaw: a fault of hostacl, not of your program. Please report it with the text.

    Or what hostacl called back did not return as it must: a C++ function let an exception out, or the function of
    acl.util.start_thread does not end.

    The code alone tells nothing, so the text holds all that is known of the place.

    Wrong:  a C++ host function out of which an exception comes
    Right:  one that catches it and keeps it for the caller

    From: our choice.
    """


class OtherConfig(Rule, code="HA115", title="init with another configuration", returns="100002", severity="portability"):
    """acl.init was called again with another configuration than the first time. It is ignored until acl.finalize.

    Settings that a program believes in are not in force; two libraries in one process do this to each other.

    Wrong:  acl.init("a.json"); acl.init("b.json")
    Right:  acl.init("a.json"); ...; acl.finalize(); acl.init("b.json")

    From: the reference page of aclInit.
    """


class StreamConfig(Rule, code="HA116", title="configuration value", returns="100000 or 107000"):
    """A value is none of those that its attribute, flag or option can have, or is not of its size; the text says what is.

    A later version may know the number, and mean something else by it.

    Wrong:  acl.rt.get_mem_info(99)
    Right:  acl.rt.get_mem_info(1)

    From: the reference page of aclrtSetStreamConfigOpt.
    """


class PeerDevices(Rule, code="HA117", title="peer of itself", returns="107000"):
    """Access between two devices was asked for with one and the same device.

    It usually comes from a loop over pairs of devices that forgot to leave out the pair of one.

    Wrong:  acl.rt.device_can_access_peer(0, 0)
    Right:  acl.rt.device_can_access_peer(0, 1)

    From: the reference page of aclrtDeviceCanAccessPeer.
    """


class DeviceAttribute(Rule, code="HA118", title="unknown device attribute", returns="207000"):
    """The attribute is none of those that are answered here; the text lists them.

    A number made up here could send a program the wrong way, so there is none.

    Wrong:  acl.rt.get_device_info(0, 99)
    Right:  acl.rt.get_device_info(0, 101)

    From: our choice.
    """


class ParameterNotSet(Rule, code="HA119", title="system parameter never set", returns="107021"):
    """A system parameter was read that was never set.

    A parameter that was not set has no value that a program could rely on; a default is not documented.

    Wrong:  acl.rt.ctx_get_sys_param_opt(0)
    Right:  acl.rt.ctx_set_sys_param_opt(0, 1); acl.rt.ctx_get_sys_param_opt(0)

    From: the reference (ACL_ERROR_RT_SYSPARAMOPT_NOT_SET).
    """


class OverflowMode(
    Rule, code="HA120", title="overflow mode that this product does not have", returns="0", severity="portability"
):
    """The product that is played (HOSTACL_SOC) has one overflow mode only; the call is accepted and changes nothing.

    A program that counts on saturation, or on infinities, gets the other there.

    Wrong:  acl.rt.set_device_sat_mode(1) with HOSTACL_SOC=Ascend310P3
    Right:  leave it out there, or play an Ascend910B1

    From: our choice, after the reference page of aclrtSetDeviceSatMode.
    """


class OverflowPassedOver(
    Rule, code="HA123", title="large results gone before the overflow status was asked for", returns="0", severity="portability"
):
    """Results of more than 4096 bytes are looked at for overflow once a program has touched the overflow status:
    aclrtResetOverflowStatus, aclrtGetOverflowStatus, a stream's overflow switch, or an operator of the NPU…FloatStatus family.
    Earlier ones are looked at then, if they are still there: the last 64, not freed and not written over. The text says that
    some were not; reset the status before the operators that it is to tell of.

    Wrong:  execute_v2 of a large Add; execute_v2 of a Sub into the same memory; acl.rt.get_overflow_status(...)
    Right:  acl.rt.reset_overflow_status(stream); execute_v2; acl.rt.get_overflow_status(...)

    From: our choice: to look at every result costs time that nearly no program wants to spend.
    """


class EmptyGroupInfo(Rule, code="HA121", title="group info not filled", returns="107014"):
    """The group info was created, but aclrtGetAllGroupInfo did not fill it.

    Its numbers would be whatever its memory held.

    Wrong:  info = acl.rt.create_group_info(); acl.rt.get_group_info_detail(info, 0, 1)
    Right:  info = acl.rt.create_group_info(); acl.rt.get_all_group_info(info); acl.rt.get_group_info_detail(info, 0, 1)

    From: the reference (ACL_ERROR_RT_GROUP_NOT_CREATE).
    """


class Injected(Rule, code="HA122", title="injected failure", returns="the code asked for, such as 507035", answer=True):
    """A test asked for this failure with hostacl.testing.inject: the call, or the operator, did nothing and failed as asked.

    What a program does after a failure is seldom tested, since a card seldom fails when it is wanted.

    Wrong:  with inject(507035, call="acl.rt.memcpy"): a program that ignores return codes
    Right:  the program reads each code; leave the inject away

    From: our own; a card cannot be made to fail on purpose.
    """


class NotInitialized(Rule, code="HA124", title="used outside of init and finalize", returns="0", severity="portability"):
    """acl.init was not called before, or acl.finalize was. It works here; a card answers 100001 or 507000, or crashes.

    Programs of several libraries meet it when one of them ends the interface that the others still use.

    Wrong:  acl.rt.set_device(0) as the first call
    Right:  acl.init(); acl.rt.set_device(0)

    From: the reference page of aclInit.
    """
