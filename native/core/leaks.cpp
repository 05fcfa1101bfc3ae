#include "core/leaks.hpp"

#include "core/checks.hpp"
#include "core/context.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/origins.hpp"
#include "core/stream_state.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace hostacl {
namespace {

constexpr size_t kMostSites = 8;
constexpr int kMemory = 100; // with a Space added: a kind that is no handle

struct Kept {
    size_t count = 0, bytes = 0;
};

struct Leak {
    const char* rule;
    const char* name;   // of one
    const char* ending; // what gives it back
    std::map<std::string, Kept> sites;
};

// In the order in which a program gives them back.
std::map<int, Leak> no_leaks() {
    auto of = [](Kind kind) { return static_cast<int>(kind); };
    return {{of(Kind::TensorDesc), {"HA901", "tensor descriptor", "aclDestroyTensorDesc", {}}},
            {of(Kind::DataBuffer), {"HA902", "data buffer", "aclDestroyDataBuffer", {}}},
            {of(Kind::OpAttr), {"HA903", "operator attribute object", "aclopDestroyAttr", {}}},
            {of(Kind::OpHandle), {"HA904", "operator handle", "aclopDestroyHandle", {}}},
            {of(Kind::Stream), {"HA905", "stream", "aclrtDestroyStream", {}}},
            {of(Kind::Event), {"HA906", "event", "aclrtDestroyEvent", {}}},
            {of(Kind::Context), {"HA907", "context", "aclrtDestroyContext", {}}},
            {kMemory + static_cast<int>(Space::Device), {"HA908", "block of device memory", "aclrtFree", {}}},
            {kMemory + static_cast<int>(Space::PinnedHost), {"HA909", "block of pinned host memory", "aclrtFreeHost", {}}},
            {kMemory + static_cast<int>(Space::Registered), {"HA910", "range of registered host memory", "aclrtHostUnregister", {}}},
            {of(Kind::PhysicalMemory), {"HA911", "physical memory", "aclrtFreePhysical", {}}},
            {of(Kind::GroupInfo), {"HA912", "group info", "aclrtDestroyGroupInfo", {}}},
            {of(Kind::Addresses), {"HA913", "range of reserved addresses", "aclrtReleaseMemAddress", {}}},
            {of(Kind::StreamConfig), {"HA914", "stream configuration", "aclrtDestroyStreamConfigHandle", {}}}};
}

// The program made it, and it is of the device where one is asked for. Lock held.
bool counts(Handle handle, int32_t device) {
    switch (static_cast<Kind>(handle >> 56)) {
    case Kind::Stream: {
        StreamPtr* stream = streams().find(handle);
        return stream && !(*stream)->is_default && (device < 0 || (*stream)->device == device);
    }
    case Kind::Context: {
        Context* context = find_context(handle);
        return context && !context->primary && (device < 0 || context->device == device);
    }
    default: return device < 0;
    }
}

std::string plural(size_t count, const char* name) {
    std::string one = name;
    size_t of = std::min(one.find(" of "), one.size());
    if (count != 1 && one != "physical memory") one.insert(of, "s");
    return std::to_string(count) + " " + one;
}

std::string text_of(const Leak& leak) {
    Kept all;
    for (const auto& [site, kept] : leak.sites) all.count += kept.count, all.bytes += kept.bytes;
    std::string text = plural(all.count, leak.name) + (all.bytes ? format(" (%zu bytes)", all.bytes) : "") +
                       (all.count == 1 ? " was" : " were") + " never given back";
    size_t told = 0;
    for (const auto& [site, kept] : leak.sites) {
        if (site.empty()) continue;
        if (told++ == kMostSites) return text + format("; and at %zu more places", leak.sites.size() - kMostSites);
        text += told == 1 ? ": " : ", ";
        text += leak.sites.size() > 1 ? format("%zu made at ", kept.count) + site : "made at " + site;
    }
    return text + "; " + leak.ending + " does it";
}

} // namespace

size_t report_leaks(int32_t device) {
    if (!checking(kLeaks)) return 0;
    std::map<int, Leak> leaks = no_leaks();
    {
        Lock lock = lock_machine();
        each_living([&](Handle handle, const std::string& made) {
            auto found = leaks.find(static_cast<int>(handle >> 56));
            if (found != leaks.end() && counts(handle, device)) found->second.sites[made].count++;
        });
    }
    each_block([&](const Block& block) {
        if (block.pages || (device >= 0 && (block.space != Space::Device || block.device != device))) return;
        Kept& kept = leaks.at(kMemory + static_cast<int>(block.space)).sites[block.site];
        kept.count++;
        kept.bytes += block.size;
    });
    size_t kinds = 0;
    for (const auto& [kind, leak] : leaks) {
        if (leak.sites.empty()) continue;
        report(leak.rule, text_of(leak));
        kinds++;
    }
    return kinds;
}

} // namespace hostacl
