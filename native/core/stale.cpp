#include "core/stale.hpp"

#include "core/message.hpp"

#include <algorithm>
#include <utility>

namespace hostacl {
namespace {

constexpr size_t kMostResults = 1024; // of a stream; older ones are taken for awaited

bool meets(const Result& result, uintptr_t start, uintptr_t end) { return result.start < end && start < result.end; }

} // namespace

void note_results(Stream& stream, const Request& request) {
    for (const Argument& output : request.outputs) {
        auto start = reinterpret_cast<uintptr_t>(output.data);
        if (!output.absent && output.bytes) stream.results.push_back({start, start + output.bytes, request.op, request.site});
    }
    while (stream.results.size() > kMostResults) stream.results.pop_front();
}

void note_order(Stream& stream, const StreamPtr& before) {
    if (!before) stream.after_all = true;
    else if (before.get() != &stream) stream.after.push_back(before);
}

void waited_for(Stream& stream) {
    if (stream.results.empty() && stream.after.empty() && !stream.after_all) return;
    stream.results.clear();
    std::vector<std::weak_ptr<Stream>> before;
    before.swap(stream.after);
    if (std::exchange(stream.after_all, false)) streams().each([](Handle, const StreamPtr& other) { other->results.clear(); });
    for (const std::weak_ptr<Stream>& one : before)
        if (StreamPtr other = one.lock()) waited_for(*other);
}

void forget_results(uintptr_t start, uintptr_t end) {
    streams().each([&](Handle, const StreamPtr& stream) {
        auto& all = stream->results;
        all.erase(std::remove_if(all.begin(), all.end(), [&](const Result& one) { return meets(one, start, end); }), all.end());
    });
}

std::string describe_unawaited(uintptr_t start, uintptr_t end) {
    std::string found;
    streams().each([&](Handle, const StreamPtr& stream) {
        for (const Result& result : stream->results)
            if (found.empty() && meets(result, start, end)) found = "operator " + result.op + submitted_at(result.site);
    });
    return found;
}

} // namespace hostacl
