"""HA4xx: descriptors, data buffers, attributes and the arguments of calls."""

from hostacl.checks.rule import Rule


class NullArgument(Rule, code="HA401", title="null argument", returns="100000"):
    """A handle, array or name that must be given is null (0, or NULL in C).

    Often the call that should have made it failed before, and its return code was not read.

    Wrong:  desc = 0; acl.set_tensor_format(desc, 2)
    Right:  desc = acl.create_tensor_desc(0, [4], 2); acl.set_tensor_format(desc, 2)

    From: the API's error table (ACL_ERROR_INVALID_PARAM).
    """


class DeadHandle(Rule, code="HA402", title="dead handle", returns="100000"):
    """A descriptor, buffer, attribute or operator handle is used, or destroyed again, after it was destroyed.

    A card reads freed memory here: it may crash, or pass and give wrong values. hostacl knows every handle it made and says
    where.

    Wrong:  acl.destroy_tensor_desc(desc); acl.destroy_tensor_desc(desc)
    Right:  acl.destroy_tensor_desc(desc); desc = 0

    From: our choice; reports of crashes after a second destroy.
    """


class WrongKind(Rule, code="HA403", title="wrong kind of handle", returns="100000"):
    """A handle of one kind stands where another kind belongs, such as a data buffer in the list of descriptors.

    All handles are plain numbers, so nothing else notices. execute_v2 takes descriptors first, then buffers, for inputs and
    then outputs.

    Wrong:  acl.op.execute_v2("Abs", [x_buffer], [x_desc], [y_buffer], [y_desc], attr, stream)
    Right:  acl.op.execute_v2("Abs", [x_desc], [x_buffer], [y_desc], [y_buffer], attr, stream)

    From: our choice; a frequent report.
    """


class ForeignHandle(Rule, code="HA404", title="foreign handle", returns="100000"):
    """The number was never a handle of this process.

    Creators with several results return a tuple that ends in the return code: the handle is its first part.

    Wrong:  handle = acl.op.create_handle("Abs", [x], [y], attr)
    Right:  handle, ret = acl.op.create_handle("Abs", [x], [y], attr)

    From: our choice.
    """


class BadDims(Rule, code="HA405", title="bad number of dims", returns="100000, or NULL for a creator"):
    """The number of dims is negative, dims are null though the number is not 0, or the number is not the length of the list.

    A scalar has no dims: 0 and an empty list.

    Wrong:  acl.create_tensor_desc(0, 3, [2, 4], 2)
    Right:  acl.create_tensor_desc(0, [2, 4], 2)

    From: the reference pages of create_tensor_desc, which show both forms.
    """


class DimIndex(Rule, code="HA406", title="dim index out of range", returns="100000, or -1 for an old getter"):
    """A getter was asked for a dim that the descriptor does not have.

    Dims count from 0. A descriptor of unknown rank (first dim -2) has none to ask for.

    Wrong:  for axis in range(1, acl.get_tensor_desc_num_dims(desc) + 1): ...
    Right:  for axis in range(acl.get_tensor_desc_num_dims(desc)): ...

    From: our choice, after the getters' pages.
    """


class DifferentNumbers(Rule, code="HA407", title="descriptors and buffers differ in number", returns="100000"):
    """There are more descriptors than data buffers, or fewer: they correspond one by one.

    An input that is left out keeps its place in both lists, by an UNDEFINED descriptor and an empty buffer.

    Wrong:  acl.op.execute_v2("Add", [x1, x2], [x1_buffer], [y], [y_buffer], attr, stream)
    Right:  acl.op.execute_v2("Add", [x1, x2], [x1_buffer, x2_buffer], [y], [y_buffer], attr, stream)

    From: the reference page of aclopExecuteV2.
    """


class NullElement(Rule, code="HA408", title="null array or element", returns="100000"):
    """A count is negative, an array with a count above 0 is null, or one of its elements is.

    The element's place is in the text: inputDesc[1]. Creating it failed, or its variable was never set.

    Wrong:  acl.op.execute_v2("Add", [x1, 0], ...)
    Right:  create the second descriptor; for an optional input use acl.create_tensor_desc(-1, [], -1)

    From: the API's error table.
    """


class NullData(Rule, code="HA409", title="null data with a size", returns="100000"):
    """A data buffer has a size, but its data is null.

    (0, 0) is legal for a const input, for an input left out, and for a tensor without elements. A size needs memory.

    Wrong:  acl.create_data_buffer(0, 64)
    Right:  ptr, ret = acl.rt.malloc(64, 0); acl.create_data_buffer(ptr, 64)

    From: our choice.
    """


class SmallBuffer(Rule, code="HA410", title="buffer smaller than its descriptor", returns="145000"):
    """A data buffer holds fewer bytes than its descriptor describes. Nothing was run or written.

    The bytes needed are elements times bytes of the data type, of what lies in memory (the storage shape of a private format).
    Both are rounded up to 32 bytes, as device memory is.

    Wrong:  float16 [64, 64] in acl.create_data_buffer(ptr, 64 * 64)
    Right:  acl.create_data_buffer(ptr, 64 * 64 * 2), or acl.get_tensor_desc_size(desc)

    From: our choice; the reference documents the rounding.
    """


class ShortBuffer(Rule, code="HA411", title="buffer a little smaller than its descriptor", returns="0", severity="portability"):
    """The buffer's size is below the descriptor's, but within the same 32-byte block of a known allocation.

    It works, on a card too; a size that agrees costs nothing and survives the next change of the shape.

    Wrong:  float32 [5] in acl.create_data_buffer(ptr, 16)
    Right:  acl.create_data_buffer(ptr, 20)

    From: our choice.
    """


class UnknownFormat(Rule, code="HA413", title="format that cannot be used here", returns="100000"):
    """A format is not an aclFormat, or the conversion between two formats is not there.

    Formats are numbers: 0 NCHW, 1 NHWC, 2 ND, 3 NC1HWC0, 4 FRACTAL_Z, 29 FRACTAL_NZ ...

    Wrong:  acl.create_tensor_desc(2, [4], 0)   # data type and format in the wrong order
    Right:  acl.create_tensor_desc(0, [4], 2)

    From: aclFormat.
    """


class EmptyConst(
    Rule, code="HA414", title="const data missing or of the wrong length", returns="100000 when set, 500002 when built"
):
    """set_tensor_const got a null pointer or no bytes, or fewer bytes than the descriptor describes.

    The bytes are copied at the call; the source may go afterwards.

    Wrong:  acl.set_tensor_const(desc, ptr, 0)
    Right:  acl.set_tensor_const(desc, acl.util.numpy_to_ptr(axes), axes.nbytes)

    From: our choice, after the reference page of set_tensor_const.
    """


class BadAttribute(Rule, code="HA417", title="bad attribute", returns="100000"):
    """An attribute was set with a null name or value, or with a list of negative length. pyACL raises a TypeError instead.

    Without it the attribute has its default, and the operator computes something else.

    Wrong:  aclopSetAttrInt(attr, NULL, 1)
    Right:  aclopSetAttrInt(attr, "axis", 1)

    From: our choice.
    """


class BadRange(Rule, code="HA420", title="bad shape range", returns="100000"):
    """A range of a dim is not (min, max) with 0 <= min <= max (max -1: no bound), or there is no range at the index.

    The memory and the model are made for the bounds: a wrong one gives a model that no call fits.

    Wrong:  acl.set_tensor_shape_range(desc, [[8, 1]])
    Right:  acl.set_tensor_shape_range(desc, [[1, 8]])

    From: the reference page of aclSetTensorShapeRange.
    """


class StorageDiffers(Rule, code="HA421", title="storage too small for its tensor", returns="500002, or 507018 at synchronize"):
    """Two descriptors of a conversion do not fit each other, or a storage shape cannot hold the origin shape.

    TransData between formats keeps the data type and the origin shape; the private format's shape is padded to whole blocks.

    Wrong:  TransData of float16 [1, 16, 2, 2] into NC1HWC0 storage [1, 1, 2, 2, 8]
    Right:  storage [1, 1, 2, 2, 16]

    From: our choice, after the published layouts.
    """


class ArgumentValue(Rule, code="HA422", title="argument not among the allowed values", returns="100000"):
    """A number is none of those that the argument can have; the text lists them.

    Matrix calls: m, n, k above 0; transposition N, T or NZ; leading dimensions -1 or the dense one; alpha and beta not null.

    Wrong:  acl.blas.hgemm(0, 0, 0, 0, n, k, ...)
    Right:  every size above 0

    From: the API reference of the function named.
    """


class GivenThoughAbsent(Rule, code="HA412", title="optional tensor in a wrong form", returns="0", severity="portability"):
    """A tensor is described as left out (UNDEFINED), but has a buffer with data. The data is not read.

    It often means that the descriptor was to be another one; the result is that of a call without the tensor.

    Wrong:  acl.create_tensor_desc(-1, [], -1) with acl.create_data_buffer(ptr, 64)
    Right:  acl.create_tensor_desc(-1, [], -1) with acl.create_data_buffer(0, 0)

    From: the reference page of aclopExecuteV2.
    """


class ConstChanged(Rule, code="HA415", title="const data changed", returns="0", severity="undefined"):
    """The buffer of a const input holds other bytes than set_tensor_const was given. Those of set_tensor_const are used: they
    are part of the model.

    Found by `hostacl run --check`; the text says where the first byte differs.

    Wrong:  acl.set_tensor_const(desc, axes, 8); change axes; execute with a buffer of axes
    Right:  a new descriptor, or set_tensor_const again and compile

    From: the reference page of aclopExecuteV2: the same bytes every time.
    """
