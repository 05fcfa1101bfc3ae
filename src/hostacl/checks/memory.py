"""HA2xx: allocations, copies and pointers."""

from hostacl.checks.rule import Rule


class ZeroSize(Rule, code="HA201", title="allocation of 0 bytes", returns="100000"):
    """An allocation needs at least 1 byte. For a tensor without elements use acl.create_data_buffer(0, 0).

    The sizes of a program come out as 0 where a dim is 0; a pointer to nothing would then be given to copies and operators.

    Wrong:  acl.rt.malloc(0, 0)
    Right:  acl.create_data_buffer(0, 0) for no elements, else acl.rt.malloc(size, 0)

    From: the reference page of aclrtMalloc.
    """


class NoRoom(Rule, code="HA202", title="device memory used up", returns="207001", answer=True):
    """The device has no room for this size. Free blocks, or set HOSTACL_DEVICE_MEMORY (32 GiB, or what the machine has).

    A device has no swap: what does not fit fails, also when the machine's own memory would do.

    Wrong:  a new acl.rt.malloc for each step of a loop
    Right:  acl.rt.free(ptr) at the end of each step, or one block for all of them

    From: the reference (ACL_ERROR_RT_MEMORY_ALLOCATION).
    """


class NullPointer(Rule, code="HA203", title="free of null", returns="100000"):
    """A null pointer was to be freed: the allocation failed, or its result was never stored.

    What was really allocated is never freed then, so a loop uses up the device.

    Wrong:  ptr = acl.rt.malloc(64, 0)          # a tuple
    Right:  ptr, ret = acl.rt.malloc(64, 0)

    From: our choice.
    """


class Freed(Rule, code="HA204", title="memory already freed", returns="107000 or 100000"):
    """A pointer is freed again, or used, after its block was freed; the text says where that was.

    On a card it may pass, crash, or hit another tensor's memory.

    Wrong:  acl.rt.free(ptr); acl.rt.free(ptr)
    Right:  acl.rt.free(ptr); ptr = 0

    From: our choice; reports of double free.
    """


class OtherFree(Rule, code="HA205", title="freed by the wrong function", returns="107000"):
    """Device memory is freed by acl.rt.free, pinned host memory by acl.rt.free_host.

    The two kinds of memory come from two places; the wrong one may take a block for free that is still in use.

    Wrong:  ptr, ret = acl.rt.malloc_host(64); acl.rt.free(ptr)
    Right:  acl.rt.free_host(ptr)

    From: the reference pages of the two.
    """


class GuardDamaged(Rule, code="HA206", title="written past the end", returns="0", severity="undefined"):
    """The bytes behind a block were changed: something wrote past its end. The text names the block and where it was made.

    They are looked at when the block is freed and at finalize; with HOSTACL_STRICT=1 at every synchronize; and by
    `hostacl run --check` before and after each operator, which is named.

    Wrong:  an operator of one's own that writes 20 bytes into a block of 16
    Right:  acl.rt.malloc(20, 0)

    From: our choice.
    """


class UnknownPointer(Rule, code="HA207", title="free of unknown memory", returns="107000"):
    """The address was not given by the matching malloc: a host array, another library's memory, or a handle.

    A card's runtime may take the address for one of its own, and free what another part of the program uses.

    Wrong:  acl.rt.free(acl.util.numpy_to_ptr(array))
    Right:  ptr, ret = acl.rt.malloc(64, 0); acl.rt.free(ptr)

    From: our choice.
    """


class InsidePointer(Rule, code="HA208", title="free of an address inside a block", returns="107000"):
    """The address lies inside a live block, but is not its start. Free the address that malloc gave.

    The block would never be freed: it goes by its start.

    Wrong:  acl.rt.free(ptr + 64)
    Right:  acl.rt.free(ptr)

    From: our choice.
    """


class PastTheEnd(Rule, code="HA209", title="access past the end of a block", returns="107000"):
    """A copy or a set would go beyond the end of the allocation; nothing was copied. The text has both sizes.

    Behind the block lies another tensor, which a card would overwrite without a word.

    Wrong:  acl.rt.memcpy(dst, 128, src, 128, 3) into a block of 64
    Right:  allocate 128

    From: our choice.
    """


class CountAboveMax(Rule, code="HA210", title="count above the destination's size", returns="107000"):
    """The number of bytes to copy or set is larger than the size given for the destination.

    The size given for the destination is the last guard against writing past it.

    Wrong:  acl.rt.memcpy(dst, 64, src, 128, 3)
    Right:  acl.rt.memcpy(dst, 128, src, 128, 3)

    From: the reference page of aclrtMemcpy.
    """


class CopyKind(Rule, code="HA211", title="copy kind is not what the pointers are", returns="0", severity="portability"):
    """The kind says host to device (or another), but the pointers are of other memory. Here the pointers decide; a card may
    fail.

    On a card the two memories are far apart: a copy in the wrong direction fails, or moves nothing.

    Wrong:  acl.rt.memcpy(device, 64, host, 64, 2)
    Right:  acl.rt.memcpy(device, 64, host, 64, 1)

    From: our choice; a frequent report.
    """


class UnknownKind(Rule, code="HA212", title="unknown copy kind", returns="100000"):
    """Kinds are 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 by the pointers.

    It is often an argument too few: a stream or a size stands in the place of the kind.

    Wrong:  acl.rt.memcpy(dst, 64, src, 64, 9)
    Right:  acl.rt.memcpy(dst, 64, src, 64, 1)

    From: aclrtMemcpyKind.
    """


class CopyNull(Rule, code="HA213", title="copy from or to null", returns="100000"):
    """The source or the destination of a copy or a set is null, and the count is above 0.

    A failed allocation shows here first, when its code was not read.

    Wrong:  acl.rt.memcpy(0, 64, src, 64, 1)
    Right:  ptr, ret = acl.rt.malloc(64, 0); acl.rt.memcpy(ptr, 64, src, 64, 1)

    From: our choice.
    """


class CopyOverlaps(Rule, code="HA214", title="copy overlaps itself", returns="0", severity="undefined"):
    """Source and destination share bytes. Here it is as if the source were copied first; on a card the result is undefined.

    Parts may be copied that the copy itself has written.

    Wrong:  acl.rt.memcpy(ptr + 32, 64, ptr, 64, 3)
    Right:  a copy to another block, and back

    From: our choice.
    """


class AsyncHostToHost(
    Rule, code="HA215", title="asynchronous copy from host to host", returns="207000, from CANN 8.0.RC3 at the call"
):
    """An asynchronous copy has one end on the device. Use acl.rt.memcpy.

    The stream's engine has no part in it, so a card takes the call and fails later, or at once, by its version.

    Wrong:  acl.rt.memcpy_async(host, 64, other_host, 64, 0, stream)
    Right:  acl.rt.memcpy(host, 64, other_host, 64, 0)

    From: the reference page of aclrtMemcpyAsync.
    """


class Pageable(Rule, code="HA216", title="asynchronous copy with pageable memory", returns="0", severity="portability"):
    """The host end is memory that malloc_host did not give: before CANN 9.0 unpredictable, from 9.0 the call waits for the
    copy.

    The host's pages may move or be swapped out while the engine reads them; and a copy that waits is not asynchronous.

    Wrong:  acl.rt.memcpy_async(device, size, acl.util.numpy_to_ptr(array), size, 1, stream)
    Right:  ptr, ret = acl.rt.malloc_host(size)

    From: the reference page of aclrtMemcpyAsync.
    """


class FreedWhilePending(Rule, code="HA225", title="freed while a task is pending", returns="0", severity="undefined"):
    """Memory is freed that a task not yet run still needs. Here it is kept until then; a card may read other data. Synchronize
    first.

    Wrong:  execute_v2(..., stream); acl.rt.free(ptr)
    Right:  execute_v2(..., stream); acl.rt.synchronize_stream(stream); acl.rt.free(ptr)

    From: reports of wrong results that came and went.
    """


class AddressMapping(Rule, code="HA226", title="addresses and memory that do not fit", returns="107000"):
    """Physical memory is mapped as a whole, to a free place at a multiple of the granularity inside reserved addresses. It is
    unmapped before its addresses are released, and neither with aclrtFree.

    Wrong:  aclrtReserveMemAddress(&ptr, ...); aclrtReleaseMemAddress(ptr + 64)
    Right:  aclrtReserveMemAddress, aclrtMallocPhysical, aclrtMapMem … aclrtUnmapMem, aclrtFreePhysical, aclrtReleaseMemAddress

    From: the reference pages of these functions.
    """


class DeadMemory(Rule, code="HA218", title="not live memory", returns="107000; 100000 for an argument of an operator; 507015"):
    """The address belongs to no live allocation and to no memory of this process; or it did, and was freed before a queued copy
    or operator that uses it ran (507015 at synchronize).

    Wrong:  acl.rt.memcpy(dst, 64, 4096, 64, 1)
    Right:  the address of an array that is still alive: keep the array in a variable

    From: our choice.
    """


class Pitch(Rule, code="HA219", title="bad pitch", returns="107000"):
    """In a 2-D copy each pitch is at least the width, and width times height is real memory.

    Rows would overlap, or the last one end outside of the memory.

    Wrong:  acl.rt.memcpy2d(dst, 32, src, 64, 64, 2, 3)
    Right:  acl.rt.memcpy2d(dst, 64, src, 64, 64, 2, 3)

    From: the reference page of aclrtMemcpy2d.
    """


class HostRegister(Rule, code="HA220", title="host memory cannot be registered", returns="100000 or 107000"):
    """host_register takes host memory of at least 1 byte that is not registered yet; host_unregister takes its start.

    Pages that are locked twice are unlocked once too often, or never.

    Wrong:  acl.rt.host_register(ptr, 64, 0); acl.rt.host_unregister(ptr + 8)
    Right:  acl.rt.host_register(ptr, 64, 0); acl.rt.host_unregister(ptr)

    From: the reference page of aclrtHostRegister.
    """


class LastBlock(Rule, code="HA221", title="access within the last 32 bytes", returns="0", severity="portability"):
    """The access ends behind the size that was asked for, but within the block's last 32 bytes, which exist. Ask for what you
    use.

    The bytes belong to nobody: a later version, or a block cut from a pool, may have another tensor there.

    Wrong:  ptr, ret = acl.rt.malloc(60, 0); acl.rt.memcpy(ptr, 64, src, 64, 1)
    Right:  ptr, ret = acl.rt.malloc(64, 0); acl.rt.memcpy(ptr, 64, src, 64, 1)

    From: the reference documents the rounding of aclrtMalloc.
    """


class SourceChanged(Rule, code="HA222", title="source changed while a copy was pending", returns="0", severity="undefined"):
    """The host data of an asynchronous copy were changed before it ran. Which bytes a card copies is a matter of luck.
    Synchronize first.

    Wrong:  memcpy_async(device, n, host, n, 1, stream); write the next batch into host
    Right:  memcpy_async(...); acl.rt.synchronize_stream(stream); write the next batch

    From: reports of tests that fail at random.
    """


class Alignment(Rule, code="HA224", title="asynchronous copy not aligned", returns="0", severity="portability"):
    """Asynchronous copies want addresses at multiples of 64. It works here.

    The reference asks for it; a card may refuse others, or take longer.

    Wrong:  acl.rt.memcpy_async(device + 8, 64, host, 64, 1, stream)
    Right:  acl.rt.memcpy_async(device + 64, 64, host, 64, 1, stream)

    From: the reference page of aclrtMemcpyAsync.
    """


class SharedBytes(Rule, code="HA230", title="write into a shared bytes object", returns="100000"):
    """A bytes object of length 0 or 1 is shared by the whole process; writing into it would change every such object.

    The interpreter uses these objects everywhere, such as for single characters.

    Wrong:  acl.rt.memcpy(acl.util.bytes_to_ptr(b"a"), 1, device, 1, 2)
    Right:  use a longer object, or a NumPy array with acl.util.numpy_to_ptr

    From: our choice.
    """


class MallocPolicy(Rule, code="HA223", title="allocation policy", returns="107018"):
    """The policy is not an aclrtMemMallocPolicy: 0 huge pages first, 1 huge only, 2 normal only, 3 to 5 the same between
    devices.

    The policy decides which pages are used; an unknown one would be a guess about speed and room.

    Wrong:  acl.rt.malloc(64, 77)
    Right:  acl.rt.malloc(64, 0)

    From: the reference page of aclrtMalloc.
    """


class DeviceAsHost(Rule, code="HA231", title="device memory read as host memory", returns="0", severity="portability"):
    """A NumPy array or bytes object is made from a device pointer. It works here; on a card the program crashes.

    Wrong:  acl.util.ptr_to_bytes(device, 64)
    Right:  acl.rt.memcpy to host memory first

    From: our choice.
    """


class NotReadable(Rule, code="HA232", title="memory that cannot be read", returns="100000"):
    """A pointer given to acl.util is null or not live, or more bytes are asked for than lie behind it.

    Python would read foreign memory, or end without a traceback.

    Wrong:  acl.util.ptr_to_bytes(0, 64)
    Right:  ptr, ret = acl.rt.malloc_host(64); acl.util.ptr_to_bytes(ptr, 64)

    From: our choice.
    """


class NeverWritten(Rule, code="HA217", title="memory never written", returns="0", severity="undefined"):
    """An operator, or a copy to the host, reads device memory that nothing has written since it was allocated. On a card it
    holds whatever was there before; here often zeros, which hides the mistake.

    Copies between device blocks carry along what is known, and what the program writes through the pointer itself counts.
    Found by `hostacl run --check`, from the start of the program on.

    Wrong:  x, ret = acl.rt.malloc(16, 0); execute Add on x
    Right:  x, ret = acl.rt.malloc(16, 0); acl.rt.memcpy(x, 16, host, 16, 1); execute Add on x

    From: our choice; reports of wrong values in the first run only.
    """


class HostAsDevice(Rule, code="HA227", title="host memory as device data", returns="0", severity="portability"):
    """The data buffer of a tensor that is not placed in host memory points to host memory. It works here; a card reads other
    memory, or fails.

    Wrong:  acl.create_data_buffer(acl.util.numpy_to_ptr(x), x.nbytes)
    Right:  acl.rt.malloc, acl.rt.memcpy to it, acl.create_data_buffer of that; or acl.set_tensor_place_ment(desc, 1)

    From: the reference page of aclopExecuteV2.
    """


class DeviceAsHostData(Rule, code="HA228", title="device memory as host data", returns="0", severity="portability"):
    """A tensor is placed in host memory by its descriptor, but its buffer points to device memory. It works here; on a card the
    program crashes.

    Wrong:  acl.set_tensor_place_ment(desc, 1) with acl.create_data_buffer(device_ptr, 16)
    Right:  acl.set_tensor_place_ment(desc, 1) with acl.create_data_buffer(host_ptr, 16)

    From: the reference page of aclopExecuteV2.
    """
