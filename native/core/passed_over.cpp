#include "core/passed_over.hpp"

#include "core/execute.hpp"
#include "core/memory.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace hostacl {
namespace {

constexpr size_t kMost = 64, kMostBytes = 256 << 20; // results, and what to look at them may cost

struct List {
    std::mutex mutex;
    std::vector<PassedOver> results;
    size_t bytes = 0;
    bool gone = false;
};

List& list() {
    static List& one = *new List;
    return one;
}

void drop(List& all, std::vector<PassedOver>::iterator at) { // its mutex held
    all.bytes -= at->bytes;
    all.results.erase(at);
    all.gone = true;
}

void drop_meeting(List& all, const void* start, size_t size) { // its mutex held
    auto from = reinterpret_cast<uintptr_t>(start), to = from + size;
    for (size_t i = all.results.size(); i-- > 0;) {
        auto at = reinterpret_cast<uintptr_t>(all.results[i].data);
        if (at < to && from < at + all.results[i].bytes) drop(all, all.results.begin() + static_cast<ptrdiff_t>(i));
    }
}

} // namespace

void pass_over(PassedOver result) {
    List& all = list();
    std::lock_guard lock(all.mutex);
    drop_meeting(all, result.data, result.bytes);
    if (result.block.expired() || result.bytes > kMostBytes) {
        all.gone = true;
        return;
    }
    while (all.results.size() >= kMost || all.bytes + result.bytes > kMostBytes) drop(all, all.results.begin());
    all.bytes += result.bytes;
    all.results.push_back(std::move(result));
    any_passed_over = true;
}

std::vector<PassedOver> take_passed_over(bool* gone) {
    List& all = list();
    std::lock_guard lock(all.mutex);
    any_passed_over = false;
    all.bytes = 0;
    *gone = std::exchange(all.gone, false);
    return std::exchange(all.results, {});
}

void forget_passed_over() {
    bool gone = false;
    take_passed_over(&gone);
}

void drop_passed_over(const void* start, size_t size) {
    List& all = list();
    std::lock_guard lock(all.mutex);
    drop_meeting(all, start, size);
}

void written_over_by(const Request& request) {
    if (!any_passed_over) return;
    for (const Argument& output : request.outputs) {
        bool in_place = std::any_of(request.inputs.begin(), request.inputs.end(), [&](const Argument& input) {
            return input.data == output.data && input.bytes == output.bytes;
        });
        if (!in_place && output.data && !output.absent) written_over(output.data, output.bytes);
    }
}

} // namespace hostacl
