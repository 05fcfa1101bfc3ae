#include "core/stale.hpp"

#include "core/message.hpp"

#include <algorithm>
#include <utility>

namespace hostacl {
namespace {

constexpr size_t kMostTouched = 1024; // of a stream; older ones are taken for awaited

bool meets(const Touched& one, uintptr_t start, uintptr_t end) { return one.start < end && start < one.end; }

void note(Stream& stream, const Request& request, const Argument& argument, Use use) {
    auto start = reinterpret_cast<uintptr_t>(argument.data);
    if (argument.absent || argument.is_const || argument.host || !argument.bytes) return;
    stream.touched.push_back({start, start + argument.bytes, use, request.op, request.site});
}

} // namespace

void note_touched(Stream& stream, const Request& request) {
    for (size_t i = 0; i < request.inputs.size(); i++)
        note(stream, request, request.inputs[i], request.plan->updates(i) ? kWrites : kReads);
    for (const Argument& output : request.outputs) note(stream, request, output, kWrites);
    while (stream.touched.size() > kMostTouched) stream.touched.pop_front();
}

void note_order(Stream& stream, const StreamPtr& before) {
    if (!before) stream.after_all = true;
    else if (before.get() != &stream) stream.after.push_back(before);
}

void waited_for(Stream& stream) {
    if (stream.touched.empty() && stream.after.empty() && !stream.after_all) return;
    stream.touched.clear();
    std::vector<std::weak_ptr<Stream>> before;
    before.swap(stream.after);
    if (std::exchange(stream.after_all, false)) streams().each([](Handle, const StreamPtr& other) { other->touched.clear(); });
    for (const std::weak_ptr<Stream>& one : before)
        if (StreamPtr other = one.lock()) waited_for(*other);
}

void forget_touched(uintptr_t start, uintptr_t end) {
    streams().each([&](Handle, const StreamPtr& stream) {
        auto& all = stream->touched;
        all.erase(std::remove_if(all.begin(), all.end(), [&](const Touched& one) { return meets(one, start, end); }), all.end());
    });
}

std::string describe_unawaited(uintptr_t start, uintptr_t end, unsigned uses) {
    std::string found;
    streams().each([&](Handle, const StreamPtr& stream) {
        for (const Touched& one : stream->touched)
            if (found.empty() && (one.use & uses) && meets(one, start, end))
                found = format("operator %s of stream %d", one.op.c_str(), stream->id) + submitted_at(one.site) + ", which " + (one.use == kWrites ? "writes" : "reads") + " it";
    });
    return found;
}

} // namespace hostacl
