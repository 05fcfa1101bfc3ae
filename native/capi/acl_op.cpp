// acl_op.h and acl_op_compiler.h: operators by name and by handle, models, compile options.
#include "capi/acl_op.hpp"

#include "capi/guard.hpp"
#include "core/execute.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/reading.hpp"

#include <cstring>
#include <functional>

using namespace hostacl;

namespace {

TensorList inputs_of(int count, const void* const* descs, const void* const* buffers) {
    return {count, descs, buffers, "numInputs", "inputDesc", "inputs", true};
}
TensorList outputs_of(int count, const void* const* descs, const void* const* buffers) {
    return {count, descs, buffers, "numOutputs", "outputDesc", "outputs", true};
}
TensorList only_descs(TensorList list) {
    list.has_buffers = false;
    return list;
}

bool is_readable(const void* address, size_t size) {
    Lock lock = lock_machine();
    return is_live(reinterpret_cast<uintptr_t>(address), size);
}

Code answer(const Failure& failure) { return failure.code ? fail_verbatim(failure.code, named(Entry::name(), failure.text)) : 0; }

} // namespace

aclError hacl_aclopExecute(const char* opType, int numInputs, const void* const inputDesc[], const void* const inputs[], int numOutputs,
                           const void* const outputDesc[], void* const outputs[], const void* attr, void* stream) noexcept {
    return guarded("aclopExecute", [&] {
        return execute({Via::Execute, opType, inputs_of(numInputs, inputDesc, inputs), outputs_of(numOutputs, outputDesc, outputs), attr,
                        stream});
    });
}

aclError hacl_aclopExecuteV2(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs, void* outputDesc[],
                             void* outputs[], void* attr, void* stream) noexcept {
    return guarded("aclopExecuteV2", [&] {
        return execute({Via::ExecuteV2, opType, inputs_of(numInputs, inputDesc, inputs), outputs_of(numOutputs, outputDesc, outputs), attr,
                        stream});
    });
}

aclError hacl_aclopCompileAndExecute(const char* opType, int numInputs, const void* const inputDesc[], const void* const inputs[],
                                     int numOutputs, const void* const outputDesc[], void* const outputs[], const void* attr,
                                     int engineType, int compileFlag, const char* opPath, void* stream) noexcept {
    return guarded("aclopCompileAndExecute", [&] {
        return execute({Via::CompileAndExecute, opType, inputs_of(numInputs, inputDesc, inputs),
                        outputs_of(numOutputs, outputDesc, outputs), attr, stream, engineType, compileFlag, opPath});
    });
}

aclError hacl_aclopCompileAndExecuteV2(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs,
                                       void* outputDesc[], void* outputs[], void* attr, int engineType, int compileFlag,
                                       const char* opPath, void* stream) noexcept {
    return guarded("aclopCompileAndExecuteV2", [&] {
        return execute({Via::CompileAndExecuteV2, opType, inputs_of(numInputs, inputDesc, inputs),
                        outputs_of(numOutputs, outputDesc, outputs), attr, stream, engineType, compileFlag, opPath});
    });
}

aclError hacl_aclopCompile(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                           const void* const outputDesc[], const void* attr, int engineType, int compileFlag,
                           const char* opPath) noexcept {
    return guarded("aclopCompile", [&] {
        return compile({Via::Compile, opType, only_descs(inputs_of(numInputs, inputDesc, nullptr)),
                        only_descs(outputs_of(numOutputs, outputDesc, nullptr)), attr, nullptr, engineType, compileFlag, opPath});
    });
}

aclError hacl_aclopInferShape(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs, void* outputDesc[],
                              void* attr) noexcept {
    return guarded("aclopInferShape", [&] {
        return infer_shape({Via::InferShape, opType, inputs_of(numInputs, inputDesc, inputs),
                            only_descs(outputs_of(numOutputs, outputDesc, nullptr)), attr, nullptr});
    });
}

aclError hacl_aclopCreateHandle(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                                const void* const outputDesc[], const void* opAttr, void** handle) noexcept {
    return guarded("aclopCreateHandle", [&]() -> Code {
        Handle made = 0;
        Code code = create_handle({Via::CreateHandle, opType, only_descs(inputs_of(numInputs, inputDesc, nullptr)),
                                   only_descs(outputs_of(numOutputs, outputDesc, nullptr)), opAttr, nullptr},
                                  handle ? &made : nullptr);
        if (!code) *handle = as_pointer(made);
        return code;
    });
}

void hacl_aclopDestroyHandle(void* handle) noexcept {
    guarded("aclopDestroyHandle", [&]() -> Code {
        destroy_handle(as_handle(handle));
        return 0;
    });
}

aclError hacl_aclopExecWithHandle(void* handle, int numInputs, const void* const inputs[], int numOutputs, void* const outputs[],
                                  void* stream) noexcept {
    return guarded("aclopExecWithHandle", [&] {
        return execute_handle(as_handle(handle), inputs_of(numInputs, nullptr, inputs), outputs_of(numOutputs, nullptr, outputs), stream);
    });
}

namespace {

// The attributes that a cast is matched by: `truncate` and the output's type.
Code with_cast_attr(const void* dst_desc, uint8_t truncate, const std::function<Code(const void*)>& use) {
    Handle attr = 0;
    {
        Lock lock = lock_machine();
        TensorDesc* desc = descs().find(as_handle(dst_desc));
        OpAttr values;
        values.values["truncate"] = {AttrKind::Bool, int64_t{truncate != 0}};
        values.values["dst_type"] = {AttrKind::Int, int64_t{desc ? desc->dtype : kUndefined}};
        attr = attrs().add(std::move(values));
    }
    Code code = use(as_pointer(attr));
    Lock lock = lock_machine();
    attrs().remove(attr);
    return code;
}

TensorList one(const void* const* desc, const void* const* buffer, const char* desc_name, const char* buffer_name) {
    return {1, desc, buffer, "1", desc_name, buffer_name, buffer != nullptr};
}

} // namespace

aclError hacl_aclopCast(const void* srcDesc, const void* srcBuffer, const void* dstDesc, void* dstBuffer, uint8_t truncate,
                        void* stream) noexcept {
    return guarded("aclopCast", [&] {
        const void* output = dstBuffer;
        return with_cast_attr(dstDesc, truncate, [&](const void* attr) {
            return execute({Via::Execute, "Cast", one(&srcDesc, &srcBuffer, "srcDesc", "srcBuffer"),
                            one(&dstDesc, &output, "dstDesc", "dstBuffer"), attr, stream});
        });
    });
}

aclError hacl_aclopCreateHandleForCast(void* srcDesc, void* dstDesc, uint8_t truncate, void** handle) noexcept {
    return guarded("aclopCreateHandleForCast", [&] {
        const void *source = srcDesc, *target = dstDesc;
        return with_cast_attr(dstDesc, truncate, [&](const void* attr) {
            Handle made = 0;
            Code code = create_handle({Via::CreateHandle, "Cast", one(&source, nullptr, "srcDesc", ""),
                                       one(&target, nullptr, "dstDesc", ""), attr, nullptr},
                                      handle ? &made : nullptr);
            if (!code) *handle = as_pointer(made);
            return code;
        });
    });
}

aclError hacl_aclopSetModelDir(const char* modelDir) noexcept {
    return guarded("aclopSetModelDir", [&]() -> Code {
        if (!modelDir) return fail(100000, "HA615", "modelDir = NULL; allowed: the path of a folder");
        if (Code code = need_python("set_model_dir")) return code;
        return answer(hooks().set_model_dir(modelDir));
    });
}

aclError hacl_aclopLoad(const void* model, size_t modelSize) noexcept {
    return guarded("aclopLoad", [&]() -> Code {
        if (!model) return fail(100000, "HA615", "model = NULL; allowed: the address of a model's bytes");
        if (modelSize == 0) return fail(100000, "HA615", "modelSize = 0; allowed: the number of the model's bytes");
        if (!is_readable(model, modelSize))
            return fail(100000, "HA218",
                        format("model = %p: the %zu bytes there are not all live memory; allowed: a model's bytes", model, modelSize));
        if (Code code = need_python("load")) return code;
        return answer(hooks().load(model, modelSize));
    });
}

aclError hacl_aclopSetMaxOpQueueNum(uint64_t maxOpNum) noexcept {
    return guarded("aclopSetMaxOpQueueNum", [&]() -> Code {
        if (maxOpNum == 0) return fail(100000, "HA617", "maxOpNum = 0; allowed: 1 or more");
        if (Code code = need_python("set_max_op_queue_num")) return code;
        return answer(hooks().set_queue_limit(maxOpNum));
    });
}
