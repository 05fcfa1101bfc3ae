// acl_op.h and acl_op_compiler.h: operators by name and by handle, models, compile options.
#include "capi/acl_op.hpp"
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclopStartDumpArgs, uint32_t, const char*)
DECLARE(int32_t, aclopStopDumpArgs, uint32_t)

namespace hostacl {
namespace {

// One side of a call: descriptors and buffers, corresponding one by one.
struct Side {
    Numbers<void*> descs, buffers;
    Side(const Args& args, int index) : descs(args.addresses(index)), buffers(args.addresses(index + 1)) {}
};

Code check_lengths(const char* desc_name, int desc_count, const char* buffer_name, int buffer_count) {
    if (desc_count == buffer_count) return 0;
    return fail(100000, "HA407", format("%s has %d data buffers, but %s has %d descriptors; allowed: one data buffer for each descriptor",
                                        buffer_name, buffer_count, desc_name, desc_count));
}

Code check_lengths(Side& inputs, Side& outputs) {
    if (Code code = check_lengths("input_desc", inputs.descs.count(), "inputs", inputs.buffers.count())) return code;
    return check_lengths("output_desc", outputs.descs.count(), "outputs", outputs.buffers.count());
}

PyObject* execute_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Side inputs(args, 1), outputs(args, 3);
    void *attr = args.address(5), *stream = args.address(6);
    if (Code code = check_lengths(inputs, outputs)) return to_python(code);
    return to_python(hacl_aclopExecute(op, inputs.descs.count(), inputs.descs.data(), inputs.buffers.data(), outputs.descs.count(),
                                       outputs.descs.data(), outputs.buffers.data(), attr, stream));
}

PyObject* execute_v2_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Side inputs(args, 1), outputs(args, 3);
    void *attr = args.address(5), *stream = args.address(6);
    if (Code code = check_lengths(inputs, outputs)) return to_python(code);
    return to_python(hacl_aclopExecuteV2(op, inputs.descs.count(), inputs.descs.data(), inputs.buffers.data(), outputs.descs.count(),
                                         outputs.descs.data(), outputs.buffers.data(), attr, stream));
}

PyObject* execute_handle_call(const Row&, const Args& args) {
    void* handle = args.address(0);
    Numbers<void*> inputs = args.addresses(1), outputs = args.addresses(2);
    return to_python(hacl_aclopExecWithHandle(handle, inputs.count(), inputs.data(), outputs.count(), outputs.data(), args.address(3)));
}

// compile_and_execute and its V2 differ only in the C function.
template <class Function> PyObject* compile_and_execute(const Args& args, Function function) {
    const char* op = args.text(0);
    Side inputs(args, 1), outputs(args, 3);
    void* attr = args.address(5);
    auto engine = args.integer<int32_t>(6), flag = args.integer<int32_t>(7);
    const char* path = args.text_or_none(8);
    void* stream = args.address(9);
    if (Code code = check_lengths(inputs, outputs)) return to_python(code);
    return to_python(function(op, inputs.descs.count(), inputs.descs.data(), inputs.buffers.data(), outputs.descs.count(),
                              outputs.descs.data(), outputs.buffers.data(), attr, engine, flag, path, stream));
}

PyObject* compile_and_execute_call(const Row&, const Args& args) { return compile_and_execute(args, hacl_aclopCompileAndExecute); }
PyObject* compile_and_execute_v2_call(const Row&, const Args& args) { return compile_and_execute(args, hacl_aclopCompileAndExecuteV2); }

PyObject* compile_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Numbers<void*> inputs = args.addresses(1), outputs = args.addresses(2);
    void* attr = args.address(3);
    auto engine = args.integer<int32_t>(4), flag = args.integer<int32_t>(5);
    return to_python(hacl_aclopCompile(op, inputs.count(), inputs.data(), outputs.count(), outputs.data(), attr, engine, flag,
                                       args.text_or_none(6)));
}

PyObject* create_handle_call(const Row&, const Args& args) {
    const char* op = args.text(0);
    Numbers<void*> inputs = args.addresses(1), outputs = args.addresses(2);
    void* handle = nullptr;
    Code code = hacl_aclopCreateHandle(op, inputs.count(), inputs.data(), outputs.count(), outputs.data(), args.address(3), &handle);
    return tuple_of({to_python(handle), to_python(code)});
}

// infer_shape(op_type, input_desc, inputs, num_outputs, output_desc, attr); num_outputs may be left out.
PyObject* infer(const Args& args, int outputs_at) {
    const char* op = args.text(0);
    Side inputs(args, 1);
    int number = outputs_at == 4 ? args.integer<int32_t>(3) : -1;
    Numbers<void*> outputs = args.addresses(outputs_at);
    void* attr = args.address(outputs_at + 1);
    if (Code code = check_lengths("input_desc", inputs.descs.count(), "inputs", inputs.buffers.count())) return to_python(code);
    if (number >= 0 && number != outputs.count())
        return to_python(fail(100000, "HA407", format("num_outputs = %d, but len(output_desc) = %d; allowed: the list's length", number,
                                                      outputs.count())));
    return to_python(hacl_aclopInferShape(op, inputs.descs.count(), inputs.descs.data(), inputs.buffers.data(), outputs.count(),
                                          outputs.data(), attr));
}

PyObject* infer_shape_call(const Row&, const Args& args) {
    static const char* const short_names[] = {"op_type", "input_desc", "inputs", "output_desc", "attr"};
    return args.count() == 6 ? infer(args, 4) : infer(args.renamed(short_names), 3);
}

PyObject* get_compileopt_call(const Row&, const Args& args) {
    auto option = args.integer<int32_t>(0);
    std::string value(hacl_aclGetCompileoptSize(option) + 1, '\0');
    Code code = hacl_aclGetCompileopt(option, value.data(), value.size());
    return tuple_of({to_python(static_cast<const char*>(value.c_str())), to_python(code)});
}

void add_execute_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclopExecute", "acl.op.execute", hacl_aclopExecute,
                {"op_type", "input_desc", "inputs", "output_desc", "outputs", "attr", "stream"}, execute_call),
        own_row("aclopExecuteV2", "acl.op.execute_v2", hacl_aclopExecuteV2,
                {"op_type", "input_desc", "inputs", "output_desc", "outputs", "attr", "stream"}, execute_v2_call),
        own_row("aclopExecWithHandle", "acl.op.execute_with_handle", hacl_aclopExecWithHandle, {"handle", "inputs", "outputs", "stream"},
                execute_handle_call),
        row("aclopCast", "acl.op.cast", hacl_aclopCast, {"src_desc", "src_buffer", "dst_desc", "dst_buffer", "truncate", "stream"}),
        row("aclopCreateHandleForCast", "acl.op.create_handle_for_cast", hacl_aclopCreateHandleForCast,
            {"src_desc", "dst_desc", "truncate"}),
        own_row("aclopCreateHandle", "acl.op.create_handle", hacl_aclopCreateHandle, {"op_type", "input_desc", "output_desc", "attr"},
                create_handle_call),
        row("aclopDestroyHandle", "acl.op.destroy_handle", hacl_aclopDestroyHandle, {"handle"}),
        own_row("aclopInferShape", "acl.op.infer_shape", hacl_aclopInferShape,
                {"op_type", "input_desc", "inputs", "num_outputs", "output_desc", "attr"}, infer_shape_call, 5),
    });
}

void add_compile_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclopSetModelDir", "acl.op.set_model_dir", hacl_aclopSetModelDir, {"model_dir"}),
        row("aclopLoad", "acl.op.load", hacl_aclopLoad, {"model", "model_size"}),
        own_row("aclopCompile", "acl.op.compile", hacl_aclopCompile,
                {"op_type", "input_desc", "output_desc", "attr", "engine_type", "compile_flag", "op_path"}, compile_call),
        own_row("aclopCompileAndExecute", "acl.op.compile_and_execute", hacl_aclopCompileAndExecute,
                {"op_type", "input_desc", "inputs", "output_desc", "outputs", "attr", "engine_type", "compile_flag", "op_path", "stream"},
                compile_and_execute_call),
        own_row("aclopCompileAndExecuteV2", "acl.op.compile_and_execute_v2", hacl_aclopCompileAndExecuteV2,
                {"op_type", "input_desc", "inputs", "output_desc", "outputs", "attr", "engine_type", "compile_flag", "op_path", "stream"},
                compile_and_execute_v2_call),
        row("aclopSetMaxOpQueueNum", "acl.op.set_max_op_queue_num", hacl_aclopSetMaxOpQueueNum, {"max_op_num"}),
        row("aclSetCompileopt", "acl.set_compileopt", hacl_aclSetCompileopt, {"opt", "value"}),
        row("aclGetCompileoptSize", "acl.get_compileopt_size", hacl_aclGetCompileoptSize, {"opt"}),
        own_row("aclGetCompileopt", "acl.get_compileopt", hacl_aclGetCompileopt, {"opt"}, get_compileopt_call),
        row("aclopSetCompileFlag", "acl.op.set_compile_flag", hacl_aclopSetCompileFlag, {"flag"}),
        row("aclopStartDumpArgs", "acl.op.start_dump_args", hacl_aclopStartDumpArgs, {"dump_type", "path"}),
        row("aclopStopDumpArgs", "acl.op.stop_dump_args", hacl_aclopStopDumpArgs, {"dump_type"}),
    });
}

} // namespace

void add_op_rows(Rows& rows) {
    add_execute_rows(rows);
    add_compile_rows(rows);
}

} // namespace hostacl
