"""HA6xx: models, how calls find them, their files, and handles."""

from hostacl.checks.rule import Rule


class NoModel(Rule, code="HA601", title="no model matches", returns="100024"):
    """No model that was compiled or loaded fits the call; the text gives the nearest one and the first thing that differs.

    A call finds its model by operator type, number of tensors, each tensor's data type, format, shape (or range), const bytes
    and placement,
    and the attributes set: names, kinds and values. An attribute set to its default does not match a model without it.

    Wrong:  a model for [8, 16], a call with [8, 17]
    Right:  make a model for that shape (`atc`, acl.op.compile), or one with ranges; or HOSTACL_AUTO_COMPILE=1

    From: the reference (ACL_ERROR_OP_NOT_FOUND); what counts in the match is our choice.
    """


class UnknownDim(Rule, code="HA602", title="unknown dim at execute", returns="100000"):
    """A descriptor of an execute call has a dim of -1 or an unknown rank (-2).

    Such a descriptor is for compiling. When it runs, every dim is known: call acl.op.infer_shape first, then describe.

    Wrong:  acl.op.execute_v2("Cast", [desc of (-1,)], ...)
    Right:  acl.op.execute_v2("Cast", [desc of (4,)], ...)

    From: our choice, after the reference on dynamic shapes.
    """


class VendorModel(Rule, code="HA603", title="model file that is not hostacl's", returns="100013"):
    """The bytes are a model made for a card, or no model at all. A card's model holds its machine code, which cannot run here.

    Wrong:  acl.op.load of an .om that was made for a card
    Right:  hostacl atc --singleop=ops.json --output=op_models      (the JSON it was made from; `atc` under hostacl run is the
    same)

    From: our choice; the code is ACL_ERROR_PARSE_MODEL.
    """


class CutModel(Rule, code="HA604", title="model of wrong length", returns="100013"):
    """The model was cut off, or the size given to acl.op.load is not that of the file.

    A part of a model cannot be told from another model, so nothing of it is used.

    Wrong:  acl.op.load(ptr, 1024)
    Right:  acl.op.load(ptr, os.path.getsize(path))

    From: ACL_ERROR_PARSE_MODEL.
    """


class UnreadableModel(Rule, code="HA605", title="model unreadable inside", returns="100012"):
    """The container is hostacl's, but its checksum or content is damaged. Make the file anew with `hostacl atc`.

    A model that was changed could give wrong values without a word; its checksum tells.

    Wrong:  an .om that was edited, or copied as text
    Right:  hostacl atc --singleop=ops.json --output=op_models

    From: ACL_ERROR_DESERIALIZE_MODEL.
    """


class IncompleteModel(Rule, code="HA606", title="model lacks a field", returns="100016"):
    """A field that every model has is missing: operator type, inputs, outputs or attributes. Make the file anew with `hostacl
    atc`.

    Without it the model cannot be matched with a call.

    Wrong:  an .om whose content was changed by hand
    Right:  hostacl atc --singleop=ops.json --output=op_models

    From: ACL_ERROR_MODEL_MISSING_ATTR.
    """


class NoModelDir(Rule, code="HA607", title="model dir not found", returns="100014"):
    """The path of set_model_dir is no folder. A relative path starts at the working directory, not at the program.

    Every later call would find no model (HA601), far from the cause.

    Wrong:  acl.op.set_model_dir("op_models")
    Right:  acl.op.set_model_dir(str(Path(__file__).parent / "op_models"))

    From: the reference (ACL_ERROR_READ_MODEL_FAILURE).
    """


class ModelDirTwice(Rule, code="HA608", title="model dir set twice", returns="100002", answer=True):
    """set_model_dir was called before; it counts once for a process, until acl.finalize. The first folder stays.

    Put all models below one folder (three levels are read), or load others with acl.op.load.

    Wrong:  acl.op.set_model_dir("a"); acl.op.set_model_dir("b")
    Right:  acl.op.set_model_dir("models") with a and b below it

    From: the reference page of aclopSetModelDir.
    """


class SkippedModel(Rule, code="HA609", title="model file skipped", returns="0", severity="portability"):
    """A file of the model dir cannot be read as a model and is skipped; calls that need it will find no model (HA601).

    Wrong:  a model dir in which the .om files of a card lie beside those of hostacl
    Right:  a folder that holds hostacl's own only

    From: our choice.
    """


class DynamicHandle(Rule, code="HA610", title="handle for a dynamic shape", returns="148050"):
    """A handle cannot be made of a model or descriptors with unknown dims: its shapes are fixed.

    Each call would need another operator than the one that the handle stands for.

    Wrong:  acl.op.create_handle("Add", [desc of (-1, 16)], ...)
    Right:  acl.op.execute_v2, which takes dynamic models

    From: the reference page of aclopExecWithHandle.
    """


class HandleCounts(
    Rule, code="HA611", title="handle called with other counts", returns="100021 for inputs, 100022 for outputs"
):
    """execute_with_handle got more or fewer data buffers than the handle was made with. An input left out keeps its place.

    Everything behind a missing buffer would be taken for its neighbour.

    Wrong:  a handle made with one input, execute_with_handle(handle, [x, x], [y], stream)
    Right:  execute_with_handle(handle, [x], [y], stream)

    From: our choice of codes.
    """


class CompileFlag(Rule, code="HA612", title="compile flag or engine", returns="200001 or 100000"):
    """Only ACL_COMPILE_SYS (0) compiles; engines are 0 (system), 1 and 2. Operators registered by a compile function are not
    compiled here.

    A flag that is dropped without a word would be believed to be in force.

    Wrong:  acl.op.compile(op_type, ins, outs, attr, 0, 1, None)
    Right:  acl.op.compile(op_type, ins, outs, attr, 0, 0, None)

    From: the reference page of aclopCompile.
    """


class SingleOpJson(Rule, code="HA613", title="single-op JSON", returns="atc ends with 1"):
    """The JSON is no single-op description; the text names the place, such as [0].input_desc[1].type, the value and what is
    allowed.

    The model would be of another operator than the program calls, which is found only when it runs.

    Wrong:  "type": "int33"
    Right:  [{"op": "Add",
              "input_desc": [{"format": "ND", "shape": [8, 16], "type": "int32"}, {"format": "ND", "shape": [8, 16], "type":
              "int32"}],
              "output_desc": [{"format": "ND", "shape": [8, 16], "type": "int32"}],
              "attr": [{"name": "axis", "type": "int", "value": 1}]}]

    From: the reference on single-operator description files.
    """


class AtcOption(Rule, code="HA614", title="atc option", returns="atc ends with 1"):
    """An option of `atc` is missing, its file cannot be read or written, or it asks for a whole network.

    A script that goes on without models fails much later, in the program (HA601).

    Wrong:  atc --singleop=ops.json
    Right:  atc --singleop=ops.json --output=op_models --soc_version=Ascend910B1

    From: the reference on atc.
    """


class EmptyModel(Rule, code="HA615", title="no model given", returns="100000"):
    """acl.op.load got a null pointer or size 0, or set_model_dir a null path.

    Every later call would find no model (HA601), far from the cause.

    Wrong:  acl.op.load(ptr, 0)
    Right:  acl.op.load(ptr, os.path.getsize(path))

    From: the API's error table.
    """


class CompileOption(Rule, code="HA616", title="compile option", returns="500000 or 100000"):
    """The option is not an aclCompileOpt, or its value cannot be stored. Known options are kept and change no result.

    Options decide on a card between speed and precision; one that is not known would be believed to be in force.

    Wrong:  acl.set_compileopt(99, "enable")
    Right:  acl.set_compileopt(6, "enable")

    From: the reference page of aclSetCompileopt.
    """


class QueueLength(Rule, code="HA617", title="model queue length", returns="100000 or 148048"):
    """max_opqueue_num is not a number above 0. It says how many static and how many dynamic models are kept, as a string in
    acl.json.

    With too small a number models are dropped and compiled again and again.

    Wrong:  {"max_opqueue_num": "0"}
    Right:  {"max_opqueue_num": "10000"}

    From: the reference on acl.json (default 20000).
    """


class CompileFunction(Rule, code="HA618", title="compile function", returns="100028, 100030 or what the function returned"):
    """An operator type has one compile function at most (100030), and update_params needs it (100028); what it returns other
    than 0 is update_params' code.

    Such a function chooses among device binaries. An operator that runs on a CPU is a Python function instead.

    Wrong:  acl.op.unregister_compile_func("AddCustom") before register_compile_func
    Right:  @hostacl.op("AddCustom", inputs={"x": "float16", "y": "float16"}, outputs={"z": "float16"})

    From: the reference pages of aclopRegisterCompileFunc and aclopUpdateParams.
    """


class UserKernel(Rule, code="HA619", title="user kernel", returns="100029, 100031 or 100000"):
    """A kernel id is given once for an operator (100031), and a compile function must choose one that was registered (100029).
    The engine is 1 or 2, sizes are above 0, a deallocator is a C function or NULL.

    Wrong:  acl.op.create_kernel(op_type, "k0", name, data, size, 0, 0)
    Right:  acl.op.create_kernel(op_type, "k0", name, data, size, 1, 0)

    From: the reference pages of aclopCreateKernel and aclopUpdateParams; the engines are our choice.
    """


class DeviceBinary(Rule, code="HA620", title="device binary", returns="0", severity="portability"):
    """A kernel was registered as a device binary. It is kept, but cannot run on a CPU: executing its operator finds no model.

    Programs that bring kernels of their own run here only when each has a counterpart in Python.

    Wrong:  acl.op.create_kernel("AddCustom", "k0", name, data, size, 1, 0); execute AddCustom
    Right:  write the same operator as a Python function with hostacl.op, in a file that HOSTACL_OPS names

    From: our choice.
    """
