#include "core/plans.hpp"

#include "core/machine.hpp"

#include <unordered_map>

namespace hostacl {
namespace {

constexpr size_t kMaxPlans = 40000; // of dynamic models there may be one for each shape

// Lock held; never destroyed, for late callers may come.
std::unordered_map<std::string, PlanPtr>& plans() {
    static auto* map = new std::unordered_map<std::string, PlanPtr>;
    return *map;
}
std::unordered_map<uint64_t, std::vector<std::string>>& models() { // the keys of a model's plans
    static auto* map = new std::unordered_map<uint64_t, std::vector<std::string>>;
    return *map;
}
uint64_t clock_now = 0;

// Takes plans out of the cache. Ending one enters Python, so the caller ends them without the lock.
std::vector<PlanPtr> take_all() {
    std::vector<PlanPtr> taken;
    for (auto& entry : plans()) taken.push_back(std::move(entry.second));
    plans().clear();
    models().clear();
    return taken;
}

std::vector<PlanPtr> take(uint64_t model) {
    std::vector<PlanPtr> taken;
    auto found = models().find(model);
    if (found == models().end()) return taken;
    for (const std::string& key : found->second) {
        auto plan = plans().find(key);
        if (plan == plans().end()) continue;
        taken.push_back(std::move(plan->second));
        plans().erase(plan);
    }
    models().erase(found);
    return taken;
}

} // namespace

PlanPtr own_plan(Plan* plan) {
    return PlanPtr(plan, [](Plan* dead) {
        if (hooks().release_plan) hooks().release_plan(dead);
    });
}

void use_plan(const PlanPtr& plan) { plan->last_use = ++clock_now; }

PlanPtr find_plan(const std::string& key) {
    auto found = plans().find(key);
    return found == plans().end() ? nullptr : found->second;
}

void keep_plan(const std::string& key, const PlanPtr& plan) {
    if (plans().emplace(key, plan).second) models()[plan->model].push_back(key);
}

void drop_plans(uint64_t model) {
    std::vector<PlanPtr> dropped;
    Lock lock = lock_machine();
    dropped = model ? take(model) : take_all();
    lock.unlock();
}

void limit_plans() {
    std::vector<PlanPtr> dropped;
    Lock lock = lock_machine();
    if (plans().size() > kMaxPlans) dropped = take_all();
    lock.unlock();
}

uint64_t next_use() {
    Lock lock = lock_machine();
    return ++clock_now;
}

uint64_t plan_last_use(uint64_t model) {
    Lock lock = lock_machine();
    auto found = models().find(model);
    uint64_t latest = 0;
    if (found == models().end()) return latest;
    for (const std::string& key : found->second)
        if (PlanPtr plan = find_plan(key)) latest = std::max(latest, plan->last_use);
    return latest;
}

} // namespace hostacl
