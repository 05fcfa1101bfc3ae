"""HA9xx: what was never given back. Looked for, when asked, at acl.finalize, and of a device at acl.rt.reset_device."""

from hostacl.checks.rule import Rule


class DescriptorLeak(Rule, code="HA901", title="tensor descriptors left", returns="0", severity="leak"):
    """Tensor descriptors were made and never destroyed. The text says how many, and where each was made.

    In a loop this uses up the process's memory, call by call.

    Wrong:  desc = acl.create_tensor_desc(0, [4], 2); acl.finalize()
    Right:  desc = acl.create_tensor_desc(0, [4], 2); acl.destroy_tensor_desc(desc); acl.finalize()

    From: the reference page of aclCreateTensorDesc.
    """


class BufferLeak(Rule, code="HA902", title="data buffers left", returns="0", severity="leak"):
    """Data buffers were made and never destroyed. Destroying one does not free the memory it points to, and the reverse.

    In a loop this uses up the process's memory, call by call.

    Wrong:  buffer = acl.create_data_buffer(ptr, 64); acl.rt.free(ptr)
    Right:  acl.destroy_data_buffer(buffer); acl.rt.free(ptr)

    From: the reference page of aclCreateDataBuffer.
    """


class AttributeLeak(Rule, code="HA903", title="attribute objects left", returns="0", severity="leak"):
    """Operator attribute objects were made and never destroyed.

    In a loop this uses up the process's memory, call by call.

    Wrong:  attr = acl.op.create_attr() for each call
    Right:  attr = acl.op.create_attr(); acl.op.execute_v2(..., attr, stream); acl.op.destroy_attr(attr)

    From: the reference page of aclopCreateAttr.
    """


class HandleLeak(Rule, code="HA904", title="operator handles left", returns="0", severity="leak"):
    """Operator handles were made and never destroyed.

    Each keeps what it was made of.

    Wrong:  handle, ret = acl.op.create_handle(...); acl.finalize()
    Right:  handle, ret = acl.op.create_handle(...); acl.op.destroy_handle(handle)

    From: the reference page of aclopCreateHandle.
    """


class StreamLeak(Rule, code="HA905", title="streams left", returns="0", severity="leak"):
    """Streams were made and never destroyed. A device has a limited number of them.

    When none is left, create_stream fails in another part of the program.

    Wrong:  stream, ret = acl.rt.create_stream(); acl.rt.reset_device(0)
    Right:  stream, ret = acl.rt.create_stream(); acl.rt.destroy_stream(stream)

    From: the reference page of aclrtCreateStream.
    """


class EventLeak(Rule, code="HA906", title="events left", returns="0", severity="leak"):
    """Events were made and never destroyed. A device has a limited number of them.

    When none is left, create_event fails in another part of the program.

    Wrong:  event, ret = acl.rt.create_event(); acl.finalize()
    Right:  event, ret = acl.rt.create_event(); acl.rt.destroy_event(event)

    From: the reference page of aclrtCreateEvent.
    """


class ContextLeak(Rule, code="HA907", title="contexts left", returns="0", severity="leak"):
    """Contexts of create_context were never destroyed. That of set_device ends with the device.

    Each keeps a default stream and its resources on the device.

    Wrong:  context, ret = acl.rt.create_context(0); acl.rt.reset_device(0)
    Right:  context, ret = acl.rt.create_context(0); acl.rt.destroy_context(context)

    From: the reference page of aclrtCreateContext.
    """


class DeviceMemoryLeak(Rule, code="HA908", title="device memory left", returns="0", severity="leak"):
    """Device memory was allocated and never freed. The text says how many blocks and bytes, and where.

    reset_device gives it back to the device, so it is looked for there, and again at finalize.

    Wrong:  ptr, ret = acl.rt.malloc(64, 0); acl.rt.reset_device(0)
    Right:  ptr, ret = acl.rt.malloc(64, 0); acl.rt.free(ptr); acl.rt.reset_device(0)

    From: the reference page of aclrtMalloc.
    """


class HostMemoryLeak(Rule, code="HA909", title="pinned host memory left", returns="0", severity="leak"):
    """Pinned host memory was allocated and never freed.

    Pinned pages cannot be swapped out: the whole machine has less memory.

    Wrong:  ptr, ret = acl.rt.malloc_host(64); acl.finalize()
    Right:  ptr, ret = acl.rt.malloc_host(64); acl.rt.free_host(ptr)

    From: the reference page of aclrtMallocHost.
    """


class RegisteredLeak(Rule, code="HA910", title="registered host memory left", returns="0", severity="leak"):
    """Host memory was registered and never unregistered: the device may still reach it after its owner has freed it.

    Wrong:  acl.rt.host_register(ptr, 64, 0); acl.finalize()
    Right:  acl.rt.host_register(ptr, 64, 0); acl.rt.host_unregister(ptr)

    From: the reference page of aclrtHostRegister.
    """


class PhysicalLeak(Rule, code="HA911", title="physical memory left", returns="0", severity="leak"):
    """Physical memory of aclrtMallocPhysical was never freed.

    The device has less room, though no address leads there.

    Wrong:  aclrtMallocPhysical(&handle, size, &property, 0); aclFinalize()
    Right:  aclrtMallocPhysical, aclrtMapMem … aclrtUnmapMem, aclrtFreePhysical

    From: the reference page of aclrtMallocPhysical.
    """


class GroupInfoLeak(Rule, code="HA912", title="group infos left", returns="0", severity="leak"):
    """Group infos of create_group_info were never destroyed.

    In a loop this uses up the process's memory, call by call.

    Wrong:  info = acl.rt.create_group_info(); acl.finalize()
    Right:  info = acl.rt.create_group_info(); acl.rt.destroy_group_info(info)

    From: the reference page of aclrtCreateGroupInfo.
    """


class AddressesLeak(Rule, code="HA913", title="reserved addresses left", returns="0", severity="leak"):
    """Addresses of aclrtReserveMemAddress were never released.

    What is never released is lost to later reservations.

    Wrong:  aclrtReserveMemAddress(&address, size, 0, NULL, 0); aclFinalize()
    Right:  aclrtReserveMemAddress(&address, size, 0, NULL, 0); aclrtReleaseMemAddress(address)

    From: the reference page of aclrtReserveMemAddress.
    """


class StreamConfigLeak(Rule, code="HA914", title="stream configurations left", returns="0", severity="leak"):
    """Configurations of aclrtCreateStreamConfigHandle were never destroyed. Streams that were made with one do not need it.

    In a loop this uses up the process's memory, call by call.

    Wrong:  handle = aclrtCreateStreamConfigHandle(); aclFinalize()
    Right:  handle = aclrtCreateStreamConfigHandle(); aclrtDestroyStreamConfigHandle(handle)

    From: the reference page of aclrtCreateStreamConfigHandle.
    """
