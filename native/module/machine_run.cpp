// The hooks by which the core runs operators: a request into Python objects, a plan's function over arrays.
#include "module/machine_run.hpp"

#include "core/execute.hpp"
#include "core/inject.hpp"
#include "core/lifecycle.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/passed_over.hpp"
#include "core/saturation.hpp"
#include "module/crossing.hpp"
#include "module/numpy_table.hpp"
#include "module/python.hpp"

#include <vector>

namespace hostacl {
namespace {

// ---- plans -------------------------------------------------------------------------------------------------------

struct ArraySpec {
    Ref descr;                 // a numpy.dtype; null for a tensor left out
    std::vector<int64_t> dims;
    Ref constant;              // an array used as it is
};

struct PythonPlan : Plan {
    Ref function, label;
    std::vector<ArraySpec> inputs, outputs;
    // Of each output, then each updated input, its aclDataType when it is looked at for overflow, else -1; empty: none is.
    std::vector<int64_t> watched;
    bool saturates = false;
};

void release_plan(Plan* plan) {
    Crossing crossing;
    if (!crossing) return; // the interpreter is gone and took the objects with it
    delete static_cast<PythonPlan*>(plan);
}

bool read_dims(PyObject* shape, std::vector<int64_t>* dims) {
    Py_ssize_t count = PyTuple_Size(shape);
    for (Py_ssize_t i = 0; i < count; i++) dims->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i)));
    return !PyErr_Occurred();
}

bool read_specs(PyObject* list, std::vector<ArraySpec>* specs) {
    Ref fast = Ref::take(PySequence_Tuple(list));
    if (!fast) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fast.get()); i++) {
        PyObject* item = PyTuple_GET_ITEM(fast.get(), i);
        ArraySpec spec;
        if (PyTuple_Check(item)) {
            spec.descr = Ref::share(PyTuple_GetItem(item, 0));
            if (!spec.descr || !read_dims(PyTuple_GetItem(item, 1), &spec.dims)) return false;
        } else if (item != Py_None) {
            spec.constant = Ref::share(item);
        }
        specs->push_back(std::move(spec));
    }
    return true;
}

PythonPlan* read_plan(PyObject* object) {
    auto plan = std::make_unique<PythonPlan>();
    plan->function = Ref::take(PyObject_GetAttrString(object, "function"));
    plan->label = Ref::take(PyObject_GetAttrString(object, "label"));
    Ref inputs = Ref::take(PyObject_GetAttrString(object, "inputs"));
    Ref outputs = Ref::take(PyObject_GetAttrString(object, "outputs"));
    Ref shapes = Ref::take(PyObject_GetAttrString(object, "shapes"));
    Ref model = Ref::take(PyObject_GetAttrString(object, "model"));
    Ref in_place = Ref::take(PyObject_GetAttrString(object, "in_place"));
    if (PyErr_Occurred()) return nullptr;
    plan->shapes = static_cast<Shapes>(PyLong_AsLong(shapes.get()));
    plan->model = PyLong_AsUnsignedLongLong(model.get());
    plan->in_place = in_place.get() == Py_True;
    Ref watched = Ref::take(PyObject_GetAttrString(object, "watched"));
    Ref saturates = Ref::take(PyObject_GetAttrString(object, "saturates"));
    Ref updated = Ref::take(PyObject_GetAttrString(object, "updated"));
    if (!watched || !saturates || !read_dims(watched.get(), &plan->watched)) return nullptr;
    if (!updated || !read_dims(updated.get(), &plan->updated)) return nullptr;
    plan->saturates = saturates.get() == Py_True;
    Ref read = Ref::take(PyObject_GetAttrString(object, "read"));
    std::vector<int64_t> pairs;
    if (!read || !read_dims(read.get(), &pairs)) return nullptr;
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) plan->read.push_back({pairs[i], pairs[i + 1]});
    if (!read_specs(inputs.get(), &plan->inputs) || !read_specs(outputs.get(), &plan->outputs)) return nullptr;
    return plan.release();
}

// ---- a request as Python objects ---------------------------------------------------------------------------------

Ref int_tuple(const std::vector<int64_t>& values) {
    Ref tuple = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; tuple && i < values.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
    return tuple;
}

Ref range_tuple(const std::vector<std::array<int64_t, 2>>& ranges) {
    Ref tuple = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(ranges.size())));
    for (size_t i = 0; tuple && i < ranges.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                         Py_BuildValue("(LL)", static_cast<long long>(ranges[i][0]), static_cast<long long>(ranges[i][1])));
    return tuple;
}

Ref text(const std::string& value) {
    return Ref::take(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape"));
}

Ref bytes_or_none(bool present, const void* data, size_t size) {
    if (!present) return Ref::share(Py_None);
    return Ref::take(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size)));
}

// TensorSpec(dtype, shape, format, storage_format, storage_shape, name, ranges, const, placement, dynamic_input)
Ref spec_of(PyObject* type, const TensorDesc& desc, const Ref& constant) {
    Ref shape = int_tuple(desc.dims);
    Ref storage = desc.has_storage_shape ? int_tuple(desc.storage_dims) : Ref::share(Py_None);
    Ref name = text(desc.name), ranges = range_tuple(desc.ranges), dynamic = text(desc.dynamic_input);
    if (PyErr_Occurred()) return Ref();
    return Ref::take(PyObject_CallFunction(type, "iOiiOOOOiO", desc.dtype, shape.get(), desc.format, desc.storage_format, storage.get(),
                                           name.get(), ranges.get(), constant.get(), desc.placement, dynamic.get()));
}

Ref spec_type() { return import_attr("hostacl.tensors.spec", "TensorSpec"); }

Ref specs_of(const std::vector<TensorDesc>& list) {
    Ref type = spec_type();
    Ref result = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
    for (size_t i = 0; type && result && i < list.size(); i++) {
        Ref constant = bytes_or_none(list[i].is_const, list[i].const_data.data(), list[i].const_data.size());
        Ref spec = constant ? spec_of(type.get(), list[i], constant) : Ref();
        if (!spec) return Ref();
        PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), spec.release());
    }
    return type ? std::move(result) : Ref();
}

struct ToPython {
    Ref operator()(int64_t value) const { return Ref::take(PyLong_FromLongLong(value)); }
    Ref operator()(float value) const { return Ref::take(PyFloat_FromDouble(static_cast<double>(value))); }
    Ref operator()(const std::string& value) const { return text(value); }
    template <class T> Ref operator()(const std::vector<T>& values) const {
        Ref list = Ref::take(PyList_New(static_cast<Py_ssize_t>(values.size())));
        for (size_t i = 0; list && i < values.size(); i++) {
            Ref item = (*this)(values[i]);
            if (!item) return Ref();
            PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item.release());
        }
        return list;
    }
};

const char* attr_kind_name(AttrKind kind) {
    static const char* const names[] = {"",           "bool",     "int",        "float",       "string",         "data_type",
                                        "list_bool",  "list_int", "list_float", "list_string", "list_data_type", "list_list_int"};
    return names[static_cast<int>(kind)];
}

Ref attr_dict(const OpAttr& attr) {
    Ref dict = Ref::take(PyDict_New());
    for (const auto& entry : attr.values) {
        Ref value = std::visit(ToPython(), entry.second.value);
        if (value && entry.second.kind == AttrKind::Bool)
            value = Ref::share(std::get<int64_t>(entry.second.value) ? Py_True : Py_False);
        Ref name = text(entry.first);
        Ref pair = value && name ? Ref::take(Py_BuildValue("(sO)", attr_kind_name(entry.second.kind), value.get())) : Ref();
        if (!pair || PyDict_SetItem(dict.get(), name.get(), pair.get()) < 0) return Ref();
    }
    return dict;
}

const char* via_name(Via via) {
    switch (via) {
    case Via::Execute: return "execute";
    case Via::ExecuteV2: return "execute_v2";
    case Via::Handle: return "execute_with_handle";
    case Via::CompileAndExecute: return "compile_and_execute";
    case Via::CompileAndExecuteV2: return "compile_and_execute_v2";
    case Via::Compile: return "compile";
    case Via::CreateHandle: return "create_handle";
    case Via::InferShape: return "infer_shape";
    }
    return "";
}

Failure no_python(const char* op) { return {500000, std::string("HA110 ") + op + ": Python has ended; no operator can run"}; }

Failure prepare(Request& request) {
    Crossing crossing;
    if (!crossing) return no_python(request.op);
    Ref function = import_attr("hostacl.singleop.execute", "prepare");
    Ref inputs = specs_of(request.input_descs), outputs = specs_of(request.output_descs), attrs = attr_dict(request.attr);
    Ref op = text(request.op);
    if (!function || !inputs || !outputs || !attrs || !op) return failure_from_exception(500002);
    Quiet quiet;
    Ref made = Ref::take(PyObject_CallFunction(function.get(), "sOOOOO", via_name(request.via), op.get(), inputs.get(), outputs.get(),
                                               attrs.get(), request.saturate ? Py_True : Py_False));
    if (!made) return failure_from_exception(500002);
    if (made.get() == Py_None) return {};
    PythonPlan* plan = read_plan(made.get());
    if (!plan) return failure_from_exception(500000);
    request.plan = own_plan(plan);
    return {};
}

// ---- running -----------------------------------------------------------------------------------------------------

constexpr size_t kFewTensors = 8;

// The arrays of one run, as the arguments of one vectorcall.
class Arrays {
  public:
    explicit Arrays(size_t count) : many_(count > kFewTensors ? count + 1 : 0), items_(many_.empty() ? few_ : many_.data()) {}
    ~Arrays() {
        for (size_t i = 1; i <= count_; i++) Py_DECREF(items_[i]);
    }
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;
    bool add(const ArraySpec& spec, void* data, bool writable) {
        PyObject* item;
        if (spec.descr)
            item = make_array(spec.descr.get(), static_cast<int>(spec.dims.size()), spec.dims.data(), data, nullptr, writable);
        else
            item = Py_NewRef(spec.constant ? spec.constant.get() : Py_None);
        if (!item) return false;
        items_[++count_] = item;
        return true;
    }
    PyObject* call(PyObject* function) {
        return PyObject_Vectorcall(function, items_ + 1, count_ | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    }
    // An array that the function kept must not outlive its memory.
    bool hold_kept(const Request& request) {
        size_t i = 1;
        for (const auto* list : {&request.inputs, &request.outputs})
            for (const Argument& argument : *list)
                if (!hold(items_[i++], argument)) return false;
        return true;
    }

  private:
    static bool hold(PyObject* array, const Argument& argument) {
        if (array == Py_None || argument.is_const || Py_REFCNT(array) == 1 || !argument.block) return true;
        PyObject* base = make_block(argument.block);
        return base && set_array_base(array, base);
    }
    PyObject* few_[kFewTensors + 1];
    std::vector<PyObject*> many_;
    PyObject** items_;
    size_t count_ = 0;
};

bool read_shapes(PyObject* result, Request* request) {
    if (result == Py_None) return true;
    Ref shapes = Ref::take(PySequence_Tuple(result));
    if (!shapes) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shapes.get()); i++) {
        request->true_shapes.emplace_back();
        Ref shape = Ref::take(PySequence_Tuple(PyTuple_GET_ITEM(shapes.get(), i)));
        if (!shape || !read_dims(shape.get(), &request->true_shapes.back())) return false;
    }
    return true;
}

std::string label_of(const PythonPlan& plan) {
    const char* label = PyUnicode_AsUTF8(plan.label.get());
    return label ? label : "?";
}

Failure failed(const PythonPlan& plan) {
    Failure failure = failure_from_exception(507015);
    failure.text += " [in " + label_of(plan) + "]";
    return failure;
}

size_t product(const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (int64_t dim : dims) count *= static_cast<size_t>(dim);
    return count;
}

// Notes an overflow among the results: of an output whose size depends on the data, among those that were written.
void look_at_results(const PythonPlan& plan, const Request& request) {
    constexpr size_t kLarge = 1 << 18; // from here on other threads may run meanwhile
    for (size_t i = 0; i < plan.watched.size(); i++) {
        bool is_output = i < plan.outputs.size();
        size_t place = is_output ? i : static_cast<size_t>(plan.updated[i - plan.outputs.size()]);
        const Argument& result = is_output ? request.outputs[place] : request.inputs[place];
        if (plan.watched[i] < 0 || !result.data || result.absent) continue;
        const auto& dims = is_output ? plan.outputs[place].dims : plan.inputs[place].dims;
        size_t count = product(is_output && i < request.true_shapes.size() ? request.true_shapes[i] : dims);
        PyThreadState* state = count > kLarge ? PyEval_SaveThread() : nullptr;
        look_for_overflow(result.data, count, static_cast<int32_t>(plan.watched[i]), plan.saturates, result.block);
        if (state) PyEval_RestoreThread(state);
    }
}

Failure run(Request& request) {
    Crossing crossing;
    if (!crossing) return no_python(request.op);
    auto& plan = static_cast<PythonPlan&>(*request.plan);
    if (request.injected) return {request.injected, "HA122 " + injected_text(request.injected, label_of(plan))};
    Arrays arrays(request.inputs.size() + request.outputs.size());
    for (size_t i = 0; i < request.inputs.size(); i++)
        if (!arrays.add(plan.inputs[i], request.inputs[i].data, false)) return failed(plan);
    for (size_t i = 0; i < request.outputs.size(); i++)
        if (!arrays.add(plan.outputs[i], request.outputs[i].data, true)) return failed(plan);
    written_over_by(request);
    Ref result;
    {
        Quiet quiet;
        result = Ref::take(arrays.call(plan.function.get()));
    }
    if (!result || (plan.shapes != Shapes::Exact && !read_shapes(result.get(), &request)) || !arrays.hold_kept(request))
        return failed(plan);
    if (!plan.watched.empty() && !request.unwatched) look_at_results(plan, request);
    return {};
}

// ---- shape inference ---------------------------------------------------------------------------------------------

Ref specs_with_data(const Request& request) {
    Ref type = spec_type();
    Ref result = Ref::take(PyTuple_New(static_cast<Py_ssize_t>(request.input_descs.size())));
    for (size_t i = 0; type && result && i < request.input_descs.size(); i++) {
        const TensorDesc& desc = request.input_descs[i];
        const Argument& argument = request.inputs[i];
        bool data = !desc.is_const && argument.data && argument.bytes > 0 && argument.size >= argument.bytes;
        Ref constant = desc.is_const ? bytes_or_none(true, desc.const_data.data(), desc.const_data.size())
                                     : bytes_or_none(data, argument.data, argument.bytes);
        Ref spec = constant ? spec_of(type.get(), desc, constant) : Ref();
        if (!spec) return Ref();
        PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), spec.release());
    }
    return type ? std::move(result) : Ref();
}

bool read_inferred(PyObject* answer, std::vector<TensorDesc>* out) {
    Ref list = Ref::take(PySequence_Tuple(answer));
    for (Py_ssize_t i = 0; list && i < PyTuple_GET_SIZE(list.get()); i++) {
        TensorDesc desc;
        PyObject *shape, *ranges;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list.get(), i), "iiO!O!", &desc.dtype, &desc.format, &PyTuple_Type, &shape, &PyTuple_Type,
                              &ranges))
            return false;
        if (!read_dims(shape, &desc.dims)) return false;
        for (Py_ssize_t r = 0; r < PyTuple_GET_SIZE(ranges); r++) {
            long long low, high;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(ranges, r), "LL", &low, &high)) return false;
            desc.ranges.push_back({low, high});
        }
        out->push_back(std::move(desc));
    }
    return static_cast<bool>(list);
}

Failure infer(Request& request) {
    Crossing crossing;
    if (!crossing) return no_python(request.op);
    Ref function = import_attr("hostacl.singleop.infer", "infer_shape");
    Ref inputs = specs_with_data(request), outputs = specs_of(request.output_descs), attrs = attr_dict(request.attr);
    Ref op = text(request.op);
    if (!function || !inputs || !outputs || !attrs || !op) return failure_from_exception(500002);
    Quiet quiet;
    Ref answer =
        Ref::take(PyObject_CallFunction(function.get(), "OOOO", op.get(), inputs.get(), outputs.get(), attrs.get()));
    if (!answer || !read_inferred(answer.get(), &request.inferred)) return failure_from_exception(500002);
    return {};
}

// ---- models ------------------------------------------------------------------------------------------------------

// Calls a function of singleop/library.py with one argument (stolen; may be null with an exception set).
Failure call_library(const char* name, Ref argument) {
    Ref function = import_attr("hostacl.singleop.library", name);
    if (!function || !argument) return failure_from_exception(500000);
    Ref done = Ref::take(PyObject_CallOneArg(function.get(), argument.get()));
    return done ? Failure{} : failure_from_exception(500000);
}

Failure load(const void* model, size_t size) {
    Crossing crossing;
    if (!crossing) return no_python("aclopLoad");
    return call_library("load", bytes_or_none(true, model, size));
}

Failure set_model_dir(const char* path) {
    Crossing crossing;
    if (!crossing) return no_python("aclopSetModelDir");
    return call_library("set_model_dir", text(path));
}

Failure set_queue_limit(uint64_t count) {
    Crossing crossing;
    if (!crossing) return no_python("aclopSetMaxOpQueueNum");
    return call_library("set_queue_limit", Ref::take(PyLong_FromUnsignedLongLong(count)));
}

void forget_models() {
    Crossing crossing;
    if (!crossing) return;
    Ref modules = Ref::share(PyImport_GetModuleDict());
    if (PyDict_GetItemString(modules.get(), "hostacl.singleop.library"))
        call_library("forget", Ref::share(Py_False));
}

} // namespace

void install_run_hooks() {
    Hooks& all = hooks();
    all.prepare = prepare;
    all.run = run;
    all.infer = infer;
    all.load = load;
    all.set_model_dir = set_model_dir;
    all.set_queue_limit = set_queue_limit;
    all.release_plan = release_plan;
    at_finalize(forget_models);
}

} // namespace hostacl
