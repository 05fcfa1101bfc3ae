#include "core/reading.hpp"

#include "core/message.hpp"
#include "core/usage.hpp"

namespace hostacl {

// A handle that was not found, called by what it is.
Code bad_handle(const std::string& argument, Handle handle, Kind wanted) {
    bool dead = handle >> 56 == static_cast<uint8_t>(wanted); // it was looked up as what it is, and is not there
    return fail(kInvalidParameter, handle_rule(handle, wanted),
                format("%s is %s; allowed: a live %s", argument.c_str(), describe_handle(handle, dead).c_str(), kind_name(wanted)));
}

Code null_argument(const char* name) {
    return fail(kInvalidParameter, "HA401", format("%s = NULL; allowed: a valid pointer", name));
}

// Python's side has put the rule first ("HA502 text"); the function's name goes between.
std::string named(const char* function, const std::string& text) {
    size_t space = text.find(' ');
    if (text.compare(0, 2, "HA") == 0 && space != std::string::npos)
        return text.substr(0, space) + ": " + function + "(): " + text.substr(space + 1);
    return std::string(function) + "(): " + text;
}

namespace {

constexpr Code kBufferTooSmall = 145000, kNotSupported = 200001;
constexpr size_t kBlockBytes = 32; // aclrtMalloc rounds up to whole blocks of this size

std::string place(const char* name, int index) { return format("%s[%d]", name, index); }

int bits_of(int32_t dtype) {
    switch (dtype) {
    case 29: case 40: case 41: case 42: return 4; // int4, float4
    case 31: case 32: return 2;
    case 30: return 1; // uint1
    case 38: case 39: return 6;
    default: return static_cast<int>(dtype_size(dtype)) * 8;
    }
}

size_t bytes_of(const TensorDesc& desc) {
    if (desc.dtype == kUndefined) return 0;
    int64_t count = desc.element_count();
    size_t bits = 0;
    if (count <= 0) return 0;
    if (__builtin_mul_overflow(static_cast<size_t>(count), static_cast<size_t>(bits_of(desc.dtype)), &bits) || bits > SIZE_MAX - 7)
        return SIZE_MAX - kBlockBytes; // more than any memory
    return (bits + 7) / 8;
}

bool has_zero(const std::vector<int64_t>& dims) {
    for (int64_t dim : dims)
        if (dim == 0) return true;
    return false;
}

Code check_list(const TensorList& list) {
    if (list.count < 0) return fail(kInvalidParameter, "HA408", format("%s = %d; allowed: 0 or more", list.count_name, list.count));
    if (list.count > 0 && !list.descs) return null_argument(list.desc_name);
    return check_array(list.desc_name, list.descs, static_cast<size_t>(list.count), sizeof *list.descs);
}

Code find_desc(const TensorList& list, int index, TensorDesc** out) {
    Handle handle = as_handle(list.descs[index]);
    if (!handle) return fail(kInvalidParameter, "HA408", place(list.desc_name, index) + " = NULL; allowed: a tensor descriptor");
    *out = descs().find(handle);
    if (*out) return 0;
    return bad_handle(place(list.desc_name, index), handle, Kind::TensorDesc);
}

Code check_known_dims(const TensorDesc& desc, const TensorList& list, int index) {
    for (size_t dim = 0; dim < desc.dims.size(); dim++)
        if (desc.dims[dim] < 0)
            return fail(kInvalidParameter, "HA602",
                        format("%s.dims[%zu] = %lld; allowed: the real shape (an unknown dim or rank may stand in a model, not in a call)",
                               place(list.desc_name, index).c_str(), dim, static_cast<long long>(desc.dims[dim])));
    return 0;
}

bool runs(Via via) { return via != Via::Compile && via != Via::CreateHandle && via != Via::InferShape; }

// Reads one list: descriptors, then buffers, appending to the key. Lock held.
Code read_list(const TensorList& list, Via via, std::vector<Argument>* arguments, std::string* key) {
    if (Code code = check_list(list)) return code;
    for (int i = 0; i < list.count; i++) {
        TensorDesc* desc = nullptr;
        if (Code code = find_desc(list, i, &desc)) return code;
        if (runs(via))
            if (Code code = check_known_dims(*desc, list, i)) return code;
        describe(*desc, as_handle(list.descs[i]), &arguments->emplace_back());
        key->append(desc->call_key());
        key->push_back('|');
    }
    if (!list.has_buffers) return 0;
    if (list.count > 0 && !list.buffers) return null_argument(list.buffer_name);
    if (Code code = check_array(list.buffer_name, list.buffers, static_cast<size_t>(list.count), sizeof *list.buffers)) return code;
    for (int i = 0; i < list.count; i++) {
        Argument& argument = (*arguments)[static_cast<size_t>(i)];
        if (Code code = read_buffer(list, i, &argument)) return code;
        if (checking(kConst) && argument.is_const) check_const(place(list.buffer_name, i), *descs().find(argument.desc), argument);
    }
    return 0;
}

Code read_attr(const void* attr, const OpAttr** out) {
    static const auto* none = new OpAttr;
    *out = none;
    if (!attr) return 0;
    *out = attrs().find(as_handle(attr));
    if (*out) return 0;
    return bad_handle("attr", as_handle(attr), Kind::OpAttr);
}

Code check_compile(const CallArguments& call) {
    if (call.engine < 0 || call.engine > 2)
        return fail(kInvalidParameter, "HA612", format("engineType = %d; allowed: 0 (ACL_ENGINE_SYS), 1 or 2", call.engine));
    if (call.flag == 0) return 0;
    return fail(kNotSupported, "HA612",
                format("compileFlag = %d; allowed: 0 (ACL_COMPILE_SYS). Register user kernels with hostacl.op instead", call.flag));
}

size_t whole_blocks(size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

Code too_small(const char* list, int index, const Argument& argument, const std::string& more) {
    return fail(kBufferTooSmall, "HA410",
                format("%s[%d] has %zu bytes; its descriptor needs %zu%s", list, index, argument.size, argument.bytes, more.c_str()));
}

void note_given_though_absent(const Argument& argument, const char* list, int index) {
    report("HA412", format("%s[%d] has a buffer of %zu bytes at %p, but its descriptor says that the tensor is left out; allowed: an empty "
                           "buffer (NULL, 0)",
                           list, index, argument.size, argument.data));
}

// Memory of the other side: it works here. Said so often, then no more.
void note_side(const Argument& argument, const char* list, int index) {
    static Throttle throttle;
    const Block* block = argument.block.get();
    bool device = block && block->space == Space::Device;
    if (device != argument.host || !throttle.open()) return;
    std::string what = describe_pointer(reinterpret_cast<uintptr_t>(argument.data));
    const char* text = device ? "the descriptor is placed in host memory" : "the descriptor is not placed in host memory";
    report(device ? "HA228" : "HA227", format("%s[%d] points to %s, but %s", list, index, what.c_str(), text));
}

// The buffer holds what its descriptor says, and known memory ends nowhere before. Lock held.
Code check_buffer(Argument& argument, const char* list, int index) {
    if (argument.absent && (argument.data || argument.size)) note_given_though_absent(argument, list, index);
    if (argument.absent || argument.is_const || argument.bytes == 0) return 0;
    if (whole_blocks(argument.size) < whole_blocks(argument.bytes)) return too_small(list, index, argument, "");
    auto address = reinterpret_cast<uintptr_t>(argument.data);
    argument.block = find_block(address);
    const Block* block = argument.block.get();
    if (block && block->freed)
        return fail(kInvalidParameter, "HA204",
                    format("%s[%d] points to %s; allowed: live memory", list, index, describe_pointer(address).c_str()));
    if ((block && block->space == Space::Device) == argument.host) note_side(argument, list, index);
    bool held = block && address + argument.bytes <= block->start + block->capacity;
    if (block && !held)
        return too_small(list, index, argument, format(" and its memory ends before: %s", describe_pointer(address).c_str()));
    if (!block && !is_live(address, argument.size < argument.bytes ? argument.size : argument.bytes))
        return fail(kInvalidParameter, "HA218",
                    format("%s[%d] points to 0x%zx, %s that is not all there; allowed: the %zu bytes of its descriptor", list, index,
                           static_cast<size_t>(address), describe_pointer(address).c_str(), argument.bytes));
    if (argument.size >= argument.bytes) return 0;
    if (!held) return too_small(list, index, argument, " and lies in memory that is not known to hold them");
    report("HA411", format("%s[%d] has %zu bytes; its descriptor needs %zu (within the same %zu-byte block)", list, index, argument.size,
                           argument.bytes, kBlockBytes));
    return 0;
}

} // namespace

Code read_buffer(const TensorList& list, int index, Argument* argument) {
    Handle handle = as_handle(list.buffers[index]);
    if (!handle) return fail(kInvalidParameter, "HA408", place(list.buffer_name, index) + " = NULL; allowed: a data buffer");
    DataBuffer* buffer = buffers().find(handle);
    if (!buffer)
        return bad_handle(place(list.buffer_name, index), handle, Kind::DataBuffer);
    if (!buffer->data && buffer->size > 0)
        return fail(kInvalidParameter, "HA409",
                    format("%s has data NULL and size %zu; allowed: an address, or NULL with size 0",
                           place(list.buffer_name, index).c_str(), buffer->size));
    argument->data = buffer->data;
    argument->size = buffer->size;
    return 0;
}

void describe(const TensorDesc& desc, Handle handle, Argument* argument) {
    argument->desc = handle;
    argument->absent = desc.absent();
    argument->is_const = desc.is_const;
    argument->host = desc.placement != 0;
    argument->empty = has_zero(desc.dims);
    argument->bytes = bytes_of(desc);
}

// Every argument, left to right, into the request and the key. Lock held.
Code read_call(const CallArguments& call, Request* request, std::string* key, const OpAttr** attr) {
    if (!call.op) return null_argument("opType");
    if (!*call.op) return fail(kInvalidParameter, "HA422", "opType = \"\"; allowed: the name of an operator");
    request->via = call.via;
    request->op = call.op;
    request->function = Entry::name();
    key->assign(call.op);
    key->push_back('\0');
    if (Code code = read_list(call.inputs, call.via, &request->inputs, key)) return code;
    key->push_back('>');
    if (Code code = read_list(call.outputs, call.via, &request->outputs, key)) return code;
    if (Code code = read_attr(call.attr, attr)) return code;
    key->append((*attr)->call_key());
    if (request->compiles())
        if (Code code = check_compile(call)) return code;
    if (call.op_path) request->op_path = call.op_path;
    return 0;
}

void snapshot(const OpAttr& attr, Request* request) {
    for (const Argument& input : request->inputs) request->input_descs.push_back(*descs().find(input.desc));
    for (const Argument& output : request->outputs) request->output_descs.push_back(*descs().find(output.desc));
    request->attr = attr;
}

Code check_buffers(Request* request) {
    for (size_t i = 0; i < request->inputs.size(); i++)
        if (Code code = check_buffer(request->inputs[i], "inputs", static_cast<int>(i))) return code;
    for (size_t i = 0; i < request->outputs.size(); i++)
        if (Code code = check_buffer(request->outputs[i], "outputs", static_cast<int>(i))) return code;
    return 0;
}

Code check_values(Request* request) {
    for (size_t i = 0; i < request->inputs.size(); i++) {
        const Argument& input = request->inputs[i];
        if (input.is_const || !input.data || input.bytes == 0 || input.size < input.bytes) continue;
        auto address = reinterpret_cast<uintptr_t>(input.data);
        if (!is_live(address, input.bytes))
            return fail(kInvalidParameter, "HA218",
                        format("inputs[%zu] points to 0x%zx, %s that is not all there; allowed: the %zu bytes of its descriptor", i,
                               static_cast<size_t>(address), describe_pointer(address).c_str(), input.bytes));
    }
    return 0;
}

} // namespace hostacl
