// acl_op.h: kernels of the user's own, chosen by Python functions.
#include "capi/acl_op_kernel.hpp"
#include "module/crossing.hpp"
#include "module/machine_table.hpp"

#include <map>

namespace hostacl {
namespace {

constexpr Code kRaised = 500000;

std::map<std::string, PyObject*>& functions() { // by operator; needs Python's lock
    static auto* all = new std::map<std::string, PyObject*>;
    return *all;
}

// What a function raised inside update_params, until that call returns and raises it.
struct Raised {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
};
thread_local Raised raised;
thread_local int updating = 0;

void keep_exception(PyObject* function) {
    if (updating == 0) {
        PyErr_WriteUnraisable(function);
        return;
    }
    PyErr_Fetch(&raised.type, &raised.value, &raised.trace);
}

Ref list_of(const void* const* descs, int count) {
    Ref list = Ref::take(PyList_New(count));
    for (int i = 0; list && i < count; i++) PyList_SET_ITEM(list.get(), i, to_python(descs[i]));
    return list;
}

// function(num_inputs, input_desc, num_outputs, output_desc, attr, kernel_desc) → code; None is 0.
Code call(PyObject* function, int num_inputs, const void* const* inputs, int num_outputs, const void* const* outputs, const void* attr,
          void* desc) {
    Ref input_list = list_of(inputs, num_inputs), output_list = list_of(outputs, num_outputs);
    Ref attr_number = Ref::take(to_python(attr)), desc_number = Ref::take(to_python(desc));
    Ref answer = Ref::take(PyErr_Occurred() ? nullptr
                                            : PyObject_CallFunction(function, "iOiOOO", num_inputs, input_list.get(), num_outputs,
                                                                    output_list.get(), attr_number.get(), desc_number.get()));
    if (answer && answer.get() == Py_None) return 0;
    long code = answer ? PyLong_AsLong(answer.get()) : -1;
    if (!PyErr_Occurred()) return static_cast<Code>(code);
    keep_exception(function);
    return kRaised;
}

Code choose(int num_inputs, const void* const* inputs, int num_outputs, const void* const* outputs, const void* attr,
            void* desc) noexcept {
    Crossing python;
    if (!python) return kRaised;
    auto found = functions().find(op_of_kernel_desc(as_handle(desc)));
    if (found == functions().end()) return kRaised;
    Ref function = Ref::share(found->second); // it may unregister itself
    return call(function.get(), num_inputs, inputs, num_outputs, outputs, attr, desc);
}

PyObject* register_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    PyObject* function = args.callable(1);
    Code code = hacl_aclopRegisterCompileFunc(op, choose);
    if (code) return to_python(code);
    PyObject*& kept = functions()[op];
    Ref old = Ref::take(kept); // of before a finalize
    kept = Py_NewRef(function);
    return to_python(code);
}

PyObject* unregister_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Code code = hacl_aclopUnregisterCompileFunc(op);
    auto found = functions().find(op);
    if (code || found == functions().end()) return to_python(code);
    Ref old = Ref::take(found->second);
    functions().erase(found);
    return to_python(code);
}

PyObject* update_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Numbers<void*> inputs = args.addresses(1), outputs = args.addresses(2);
    void* attr = args.address(3);
    updating++;
    Code code = hacl_aclopUpdateParams(op, inputs.count(), inputs.data(), outputs.count(), outputs.data(), attr);
    updating--;
    if (!raised.type) return to_python(code);
    PyErr_Restore(raised.type, raised.value, raised.trace);
    raised = {};
    return nullptr;
}

Code create(const char* op, const char* id, const char* name, void* binary, int size, int engine, void* deallocator) {
    return hacl_aclopCreateKernel(op, id, name, binary, size, engine, reinterpret_cast<Deallocator>(deallocator));
}

// Sizes are an address to Python: the table would take size_t* for an output.
Code set_workspaces(void* desc, int count, void* sizes) {
    return hacl_aclopSetKernelWorkspaceSizes(desc, count, static_cast<size_t*>(sizes));
}

} // namespace

void add_kernel_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclopRegisterCompileFunc", "acl.op.register_compile_func", hacl_aclopRegisterCompileFunc, {"op_type", "func"},
                register_call),
        own_row("aclopUnregisterCompileFunc", "acl.op.unregister_compile_func", hacl_aclopUnregisterCompileFunc, {"op_type"},
                unregister_call),
        row("aclopCreateKernel", "acl.op.create_kernel", create,
            {"op_type", "kernel_id", "kernel_name", "bin_data", "bin_size", "engine_type", "deallocator"}),
        own_row("aclopUpdateParams", "acl.op.update_params", hacl_aclopUpdateParams, {"op_type", "input_desc", "output_desc", "attr"},
                update_call),
        row("aclopSetKernelArgs", "acl.op.set_kernel_args", hacl_aclopSetKernelArgs,
            {"kernel_desc", "kernel_id", "block_dim", "args", "arg_size"}),
        row("aclopSetKernelWorkspaceSizes", "acl.op.set_kernel_workspace_sizes", set_workspaces,
            {"kernel_desc", "num_workspaces", "workspace_sizes"}),
    });
}

} // namespace hostacl
