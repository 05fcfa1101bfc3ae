"""HA5xx: operators, their tensors, attributes and values."""

from hostacl.checks.rule import Rule


class UnknownOperator(Rule, code="HA501", title="unknown operator", returns="500002 compiled, 100024 executed"):
    """No operator of this name is known; the text gives the nearest names. Names are case-sensitive: MatMul, not Matmul.

    `hostacl ops` lists all; `hostacl.op(...)` registers one of your own.

    Wrong:  acl.op.compile("Matmul", ...)
    Right:  acl.op.compile("MatMul", ...)

    From: the prototypes that the headers declare.
    """


class DtypeNotSupported(Rule, code="HA502", title="dtype not supported", returns="500002"):
    """A tensor's data type is not among those of the operator's prototype; the text lists them.

    HOSTACL_DTYPES=permissive computes whatever can be computed exactly; a card would still refuse.

    Wrong:  Add on uint64
    Right:  Cast to int64, Add, Cast back

    From: the prototypes; reports of a bare 500002.
    """


class DtypesDiffer(Rule, code="HA503", title="dtypes differ", returns="500002"):
    """Tensors that share one data type in a call were given different ones. Nothing is promoted silently.

    A card takes the bytes of one type for those of the other, or refuses with a bare 500002.

    Wrong:  Div of a float16 tensor by a float32 scalar
    Right:  describe the scalar as float16, or Cast one of them first

    From: the prototypes (tensors with equal lists share one type).
    """


class ShapesDoNotFit(Rule, code="HA504", title="shapes do not fit", returns="500002"):
    """The input shapes do not go together: they do not broadcast, inner dims differ, channels do not divide by groups ...

    Broadcasting pairs dims from the last one; each pair is equal or one of it is 1.

    Wrong:  MatMul of [2, 3] and [2, 3]
    Right:  the same with attribute transpose_x2 = true

    From: the operator's definition.
    """


class AttributeMissing(Rule, code="HA505", title="attribute missing", returns="500002"):
    """An attribute that has no default was not set; the text says its name and kind.

    There is no value that would be right for every network, so none is guessed.

    Wrong:  Conv2D without strides
    Right:  acl.op.set_attr_list_int(attr, "strides", [1, 1, 1, 1])

    From: the prototypes (REQUIRED_ATTR).
    """


class AttributeKind(Rule, code="HA506", title="attribute of another kind", returns="500002"):
    """An attribute was set by the setter of another kind than the prototype's. int and data type are one kind.

    A card reads the value as its own kind: 1.0 set as a float is no 1.

    Wrong:  acl.op.set_attr_int(attr, "keep_dims", 1)
    Right:  acl.op.set_attr_bool(attr, "keep_dims", True)

    From: the prototypes; reports where only the setter was wrong.
    """


class AttributeUnknown(Rule, code="HA507", title="attribute unknown", returns="0", severity="portability"):
    """No prototype of the operator has an attribute of this name. It is dropped when the model is built, but counts in the
    match.

    Look at the spelling: axis and axes, keep_dims and keepdims are different names.

    Wrong:  Abs with acl.op.set_attr_int(attr, "keepdims", 1)
    Right:  ReduceSum with acl.op.set_attr_bool(attr, "keep_dims", True)

    From: our choice; published programs send such attributes.
    """


class AttributeValue(Rule, code="HA508", title="attribute value", returns="500002"):
    """The attribute has the right kind, but a value that the operator does not take; the text lists what it takes.

    Values look alike from framework to framework, and differ in letters or order.

    Wrong:  padding = "same"
    Right:  padding = "SAME"

    From: the operator's definition.
    """


class AxisOutOfRange(Rule, code="HA509", title="axis out of range", returns="500002, or 507018 when it is read while running"):
    """An axis or perm entry is outside of [-rank, rank), or comes twice. Negative axes count from the end.

    Another axis would be computed without a word where the length happens to fit.

    Wrong:  axis = 2 on a tensor of rank 2
    Right:  axis = 1, or -1

    From: the operator's definition.
    """


class IndexOutOfRange(Rule, code="HA510", title="index out of range", returns="507035 at synchronize"):
    """An index in a tensor names a place that is not there. Found when the operator ran; nothing was written.

    Indices are data, so the call itself succeeds; a card returns 507035 here, or reads foreign memory. The text names index,
    place and bound.

    Wrong:  GatherV2 with index 9 along an axis of 4
    Right:  indices from 0 to 3

    From: reports of 507035 far from its cause.
    """


class OutputShape(Rule, code="HA511", title="output shape", returns="500002 or 100022"):
    """The output is described with another shape than the operator gives; the text says both.

    acl.op.infer_shape computes the right one.

    Wrong:  Transpose of [2, 3] by [1, 0] described as [2, 3]
    Right:  described as [3, 2]

    From: our choice; reports of wrong values after such a call.
    """


class OutputDtype(Rule, code="HA512", title="output dtype", returns="500002"):
    """The output is described with a data type that the operator does not give for these inputs.

    The bytes would be taken for another type when they are read.

    Wrong:  Equal of float32 described as float32
    Right:  described as bool

    From: the prototypes.
    """


class NumberOfTensors(Rule, code="HA513", title="number of tensors", returns="500002"):
    """More or fewer inputs or outputs than the prototype takes. Tensors are bound by their place; trailing optional ones may be
    missing.

    Everything behind a missing tensor would be taken for its neighbour.

    Wrong:  Add with one input
    Right:  Add with two

    From: the prototypes.
    """


class DeviceValue(Rule, code="HA514", title="value input in device memory", returns="0", severity="portability"):
    """An axis, shape or similar lies in plain device memory. It is read when the operator runs, and the call may have to wait
    for it.

    Wrong:  Slice whose offsets lie in memory of acl.rt.malloc
    Right:  acl.set_tensor_const(desc, ptr, size), or acl.set_tensor_place_ment(desc, 1) with host data

    From: the reference page of aclopExecuteV2.
    """


class RequiredTensor(Rule, code="HA515", title="required tensor left out", returns="500002"):
    """A tensor that the operator needs is missing or UNDEFINED. Only optional ones may be left out.

    There is nothing that could stand in its place.

    Wrong:  Add with acl.create_tensor_desc(-1, [], -1) in place of x2
    Right:  Add with both inputs

    From: the prototypes.
    """


class RankNotSupported(Rule, code="HA516", title="rank not supported", returns="500002"):
    """The tensor has more or fewer dims than the operator takes.

    Dims have meanings by their place, such as batch and channel; none can be added or dropped by guess.

    Wrong:  MatMul on [2, 3, 4]
    Right:  BatchMatMul

    From: the operator's definition.
    """


class OperatorNotHere(Rule, code="HA518", title="operator known but not here", returns="500002 compiled, 100024 executed"):
    """The operator's prototype is known, but this version of hostacl cannot compute it. A device that lacks it answers alike.

    `hostacl ops` lists what is there; `hostacl.op(...)` registers a Python function for it.

    Wrong:  acl.op.compile of an operator that `hostacl ops` lists as known only
    Right:  compose it of operators that are there, or register it: @hostacl.op(...)

    From: our choice.
    """


class ValueNotAllowed(Rule, code="HA519", title="value not allowed", returns="500002, or 507018 when it is read while running"):
    """A value input (shape, size, k ...) has a value that the operator cannot use: negative, above a length, of wrong count.

    The output's shape follows from it, so it could not even be described.

    Wrong:  Slice with offset + size beyond the dim
    Right:  size -1 for "to the end"

    From: the operator's definition.
    """


class LargerThanDescribed(Rule, code="HA521", title="true shape larger than described", returns="100022"):
    """An output whose size depends on its data came out larger than its descriptor. Nothing was written.

    Describe it by its maximum: acl.op.infer_shape gives a range, get_tensor_desc_dim_range its upper bound.

    Wrong:  NonZero of 4 elements into an output described as [1, 2]
    Right:  an output described as [1, 4], with memory for it

    From: the reference page of aclopExecuteV2.
    """


class CannotWriteBack(Rule, code="HA522", title="output size depends on data", returns="148050"):
    """The operator's true output shape is only known afterwards, and this form of the call cannot write it back.

    The program would read as many elements as it had described, whatever there are.

    Wrong:  acl.op.execute("NonZero", ...)
    Right:  acl.op.execute_v2("NonZero", ...), then read the dims of the output descriptor

    From: the reference page of aclopExecuteV2.
    """


class NameMissing(Rule, code="HA524", title="name missing on a descriptor", returns="100000"):
    """infer_shape of an operator with variadic tensors needs a name on every descriptor: the prototype's, variadic ones
    numbered from 0.

    Wrong:  acl.op.infer_shape of AddN on descriptors without names
    Right:  acl.set_tensor_desc_name(desc, "x0")

    From: the reference page of aclopInferShape.
    """


class OperatorFailed(Rule, code="HA526", title="operator failed inside", returns="507015 at synchronize"):
    """An error inside an operator that no check foresaw: a fault of hostacl, not of your program. Please report it with the
    text.

    The stream keeps it like a failure of a card; other operators are not harmed.

    Wrong:  an operator of one's own that divides by zero
    Right:  one that raises hostacl.errors.Failed with a text for its user

    From: our choice of code.
    """


class DtypeAttribute(Rule, code="HA527", title="dtype attribute against output", returns="500002"):
    """The dtype attribute names another type than the output's descriptor.

    An int64 buffer that holds packed int32 shows every other value, and half of them.

    Wrong:  ArgMaxV2 with dtype = 3 (int32) and an int64 output
    Right:  both 9 (int64), or no attribute: the descriptor decides

    From: our choice; a report of an int64 buffer that held packed int32.
    """


class InferenceData(Rule, code="HA528", title="data missing for inference", returns="100000"):
    """An input of infer_shape has a data buffer that is empty, or smaller than its descriptor says. The data of all inputs lie
    in host memory there; a const input needs no buffer, and a tensor without elements none either.

    Wrong:  acl.op.infer_shape with acl.create_data_buffer(0, 0) for an input of 4 floats
    Right:  a buffer of 16 bytes of host memory

    From: the reference page of aclopInferShape.
    """


class UserOperators(Rule, code="HA529", title="user operators cannot be loaded", returns="500002"):
    """A file of HOSTACL_OPS, or an entry point of the group ``hostacl.ops``, raised an error when it was run. The text names
    file and error; run the file by itself to see all of it.

    Wrong:  HOSTACL_OPS=my_ops.py that imports a package which is not installed
    Right:  python my_ops.py runs without an error

    From: our choice.
    """


class PackageMissing(Rule, code="HA530", title="package not installed", returns="500002"):
    """The call needs a package that this Python does not have. HOSTACL_ENGINE names an engine: ``onnxruntime`` comes with
    ``pip install hostacl[ort]``; without the setting, operators run natively. ``hostacl doctor`` tells which engine is in use.
    DecodeJpeg needs Pillow, which comes with ``pip install hostacl[image]``.

    Wrong:  HOSTACL_ENGINE=onnxruntime in a Python without onnxruntime
    Right:  pip install hostacl[ort], or no HOSTACL_ENGINE

    From: our choice.
    """


class OutputOverInput(Rule, code="HA520", title="output over an input", returns="0", severity="undefined"):
    """An output's memory overlaps an input's. Element-wise operators, and those whose prototype updates an input, may work in
    place, on exactly the same bytes; others read what they have already written. Here the values are right nevertheless.

    Found by `hostacl run --check`.

    Wrong:  MatMul whose output is x1's memory
    Right:  MatMul into memory of its own

    From: our choice; reports of values that change from card to card.
    """


class IntegersCut(Rule, code="HA531", title="integers that do not fit", returns="0", severity="portability"):
    """Cast to a narrower integer, or to one without the sign, met values that the new type does not have. Here the low bits
    stay, as in C and NumPy; another card or version may give the nearest bound.

    Found by `hostacl run --check`.

    Wrong:  Cast of int64 4294967296 to int32, which gives 0
    Right:  ClipByValue first, or a type that has the values

    From: our choice; reports of casts of int64 that wrapped.
    """
