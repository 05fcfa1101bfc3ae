#include "core/origins.hpp"

#include "core/machine.hpp"
#include "core/message.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace hostacl {
namespace {

constexpr size_t kRemembered = 4096; // objects that have ended

struct Origin {
    std::string made, ended;
    bool alive = true;
};

struct Origins {
    std::map<Handle, Origin> all;
    std::deque<Handle> ended;
};

Origins& origins() { // machine lock
    static Origins& the_origins = *new Origins;
    return the_origins;
}

struct Note {
    Handle handle;
    bool made;
};
thread_local std::vector<Note>* notes = nullptr; // of the call this thread is in; never freed: a late call may come

void note(Handle handle, bool made) {
    if (!notes) notes = new std::vector<Note>;
    notes->push_back({handle, made});
    note_unplaced();
}

} // namespace

void note_made(Handle handle) {
    origins().all[handle] = {};
    note(handle, true);
}

void note_ended(Handle handle) {
    auto found = origins().all.find(handle);
    if (found == origins().all.end() || !found->second.alive) return;
    found->second.alive = false;
    origins().ended.push_back(handle);
    if (origins().ended.size() > kRemembered) {
        origins().all.erase(origins().ended.front());
        origins().ended.pop_front();
    }
    note(handle, false);
}

std::string origin_text(Handle handle) {
    auto found = origins().all.find(handle);
    if (found == origins().all.end()) return "";
    const Origin& origin = found->second;
    std::string text = origin.made.empty() ? "" : " made at " + origin.made;
    return origin.ended.empty() ? text : text + (text.empty() ? "" : ",") + " destroyed at " + origin.ended;
}

void each_living(const std::function<void(Handle, const std::string&)>& visit) {
    for (const auto& [handle, origin] : origins().all)
        if (origin.alive) visit(handle, origin.made);
}

void forget_origins() {
    origins().all.clear();
    origins().ended.clear();
}

void place_origins(const std::string& site) {
    if (!notes || notes->empty()) return;
    std::vector<Note> placed;
    placed.swap(*notes);
    Lock lock = lock_machine();
    for (const Note& one : placed) {
        auto found = origins().all.find(one.handle);
        if (found != origins().all.end()) (one.made ? found->second.made : found->second.ended) = site;
    }
}

} // namespace hostacl
