// A call of an operator: what it is described with, the plan that runs it, and the task that a stream holds.
#pragma once

#include "core/desc.hpp"
#include "core/hooks.hpp"
#include "core/memory.hpp"
#include "core/stream.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace hostacl {

enum class Via : uint8_t { Execute, ExecuteV2, Handle, CompileAndExecute, CompileAndExecuteV2, Compile, CreateHandle, InferShape };

// When the shapes of the outputs are known.
enum class Shapes : uint8_t {
    Exact,  // from the descriptors and const data: the call is asynchronous
    Values, // from the values of inputs in device or host memory
    Data    // only by computing (NonZero)
};

// How much of an input is read, where that is not all of it.
struct Read {
    int64_t input;
    int64_t how;                        // kNothing, kParts, or the place of its factor, which leaves it out by being 0
    static constexpr int64_t kNothing = -1, kParts = -2;
};

// Everything needed to run a matched call again. Owned by Python's side (release_plan gives it back).
struct Plan {
    Shapes shapes = Shapes::Exact;
    uint64_t model = 0;                 // the number of its model, for dropping
    bool in_place = false;              // an output may be an input
    std::vector<int64_t> updated;       // inputs that are written, too, though no output stands for them
    std::vector<Read> read;             // inputs that are not read whole
    uint64_t last_use = 0;              // on a clock that counts uses; machine lock held
    bool updates(size_t input) const {
        return std::find(updated.begin(), updated.end(), static_cast<int64_t>(input)) != updated.end();
    }
    virtual ~Plan() = default;
};
using PlanPtr = std::shared_ptr<Plan>;
HACL_API PlanPtr own_plan(Plan* plan);  // a shared owner that ends through hooks().release_plan

struct Argument {
    void* data = nullptr;
    size_t size = 0;                    // of the buffer
    size_t bytes = 0;                   // of the tensor that its descriptor describes
    Handle desc = 0;                    // the caller's descriptor, for writing back
    bool absent = false;                // an optional tensor left out
    bool is_const = false;
    bool host = false;                  // placed in host memory: copied before the call returns
    bool empty = false;                 // some dim is 0
    std::vector<uint8_t> copy;          // that copy, when the call had to be queued
    std::shared_ptr<Block> block;       // keeps the memory of a queued call
};

struct Request {
    Via via = Via::Execute;
    const char* op = "";                // valid while the call lasts; op_owned afterwards
    std::string op_owned;
    const char* function = "";          // the public function, for texts
    std::string site;
    std::vector<Argument> inputs, outputs;
    PlanPtr plan;
    // Only for a call without a plan yet:
    std::vector<TensorDesc> input_descs, output_descs;
    OpAttr attr;
    std::string op_path;
    Code injected = 0;     // the failure that a test asked for in its place
    bool saturate = false; // the device's aclrtFloatOverflowMode
    bool unwatched = false; // the stream's overflow switch is off
    // Answers:
    std::vector<std::vector<int64_t>> true_shapes;
    std::vector<TensorDesc> inferred;
    bool compiles() const { return via == Via::CompileAndExecute || via == Via::CompileAndExecuteV2 || via == Via::Compile; }
    bool writes_back() const { return via == Via::ExecuteV2 || via == Via::CompileAndExecuteV2; }
};

// One of the two lists of tensors of a call, as the caller gave it. buffers may be null where a call has none.
struct TensorList {
    int count;
    const void* const* descs;
    const void* const* buffers;
    const char* count_name;   // "numInputs"
    const char* desc_name;    // "inputDesc"
    const char* buffer_name;  // "inputs"
    bool has_buffers;
};

struct CallArguments {
    Via via;
    const char* op;
    TensorList inputs, outputs;
    const void* attr;
    const void* stream;
    int engine = 0;
    int flag = 0;
    const char* op_path = nullptr;
};

// Runs an operator by description: aclopExecute, aclopExecuteV2, aclopCompileAndExecute[V2].
HACL_API Code execute(const CallArguments& call);
// Builds its model only: aclopCompile.
HACL_API Code compile(const CallArguments& call);
// Writes the outputs' dtype, format, dims and ranges: aclopInferShape.
HACL_API Code infer_shape(const CallArguments& call);

HACL_API Code create_handle(const CallArguments& call, Handle* handle);
HACL_API void destroy_handle(Handle handle);
HACL_API Code execute_handle(Handle handle, const TensorList& inputs, const TensorList& outputs, const void* stream);

// Makes the hooks usable, starting Python if need be; else a code and a text that names `what`. No lock held.
HACL_API Code need_python(const char* what);

// Plans of a model that was dropped, or all of them (0). No lock held.
HACL_API void drop_plans(uint64_t model);
// The latest use of any plan of a model, for ageing; 0 when none is cached. The clock counts uses: next_use() is now.
HACL_API uint64_t plan_last_use(uint64_t model);
HACL_API uint64_t next_use();
HACL_API size_t live_handles();
HACL_API void clear_handles(); // all operator handles are dead then

} // namespace hostacl
