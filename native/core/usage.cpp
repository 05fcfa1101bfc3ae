#include "core/usage.hpp"

#include "core/message.hpp"
#include "core/schedule.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace hostacl {
namespace {

struct Range {
    uintptr_t start, end;
    bool meets(const Range& other) const { return start < other.end && other.start < end; }
};

Range range_of(const Argument& argument) {
    auto start = reinterpret_cast<uintptr_t>(argument.data);
    return {start, start + argument.bytes};
}

bool lies_in_memory(const Argument& argument) { return !argument.absent && !argument.is_const && !argument.host && argument.bytes > 0; }

} // namespace

void check_thread(Stream& stream, const Request& request) {
    Submitter& last = stream.submitter;
    long thread = ::syscall(SYS_gettid);
    if (last.thread && last.thread != thread)
        report("HA328",
               format("stream = %d: operator %s of thread %ld is submitted while operator %s of thread %ld%s was not synchronized; use a "
                      "stream for each thread",
                      stream.id, request.op, thread, last.op.c_str(), last.thread, submitted_at(last.site).c_str()));
    last = {thread, request.op, request.site};
}

void check_aliases(const Request& request) {
    for (size_t o = 0; o < request.outputs.size(); o++) {
        if (!lies_in_memory(request.outputs[o])) continue;
        Range out = range_of(request.outputs[o]);
        for (size_t i = 0; i < request.inputs.size(); i++) {
            if (!lies_in_memory(request.inputs[i])) continue;
            Range in = range_of(request.inputs[i]);
            bool same = in.start == out.start && in.end == out.end;
            if (!out.meets(in) || (same && request.plan->in_place)) continue;
            report("HA520", format("outputs[%zu]: its %zu bytes at 0x%zx lie over %s inputs[%zu] (%zu bytes at 0x%zx), and %s %s; give it "
                                   "memory of its own",
                                   o, request.outputs[o].bytes, static_cast<size_t>(out.start), same ? "those of" : "a part of", i,
                                   request.inputs[i].bytes, static_cast<size_t>(in.start), request.op,
                                   same ? "does not work in place" : "may read what it has already written"));
        }
    }
}

void check_const(const std::string& place, const TensorDesc& desc, const Argument& argument) {
    size_t size = desc.const_data.size();
    auto address = reinterpret_cast<uintptr_t>(argument.data);
    if (!argument.data || size == 0 || argument.size < size || !is_live(address, size)) return;
    if (!describe_pending(address, address + size, kWrites).empty()) return;
    const auto* bytes = static_cast<const uint8_t*>(argument.data);
    size_t at = 0;
    while (at < size && bytes[at] == desc.const_data[at]) at++;
    if (at < size)
        report("HA415", format("%s: byte %zu of the buffer is 0x%02x; the descriptor's const data has 0x%02x there, and is what is used", place.c_str(),
                               at, bytes[at], desc.const_data[at]));
}

void check_guards_of(const Request& request, When when) {
    const char* who = when == When::Before ? "before operator" : "by operator";
    for (const auto* list : {&request.inputs, &request.outputs})
        for (const Argument& argument : *list) {
            if (!argument.block) continue;
            std::string damage = take_guard_damage(*argument.block);
            if (damage.empty()) continue;
            report_of(request.function, "HA206",
                      format("%s[%zu]: %s, %s %s%s", list == &request.inputs ? "inputs" : "outputs",
                             static_cast<size_t>(&argument - list->data()), damage.c_str(), who, request.op, submitted_at(request.site).c_str()));
        }
}

} // namespace hostacl
