// The plans of calls that were made before, by the call's key.
#pragma once

#include "core/execute.hpp"

namespace hostacl {

// Notes that the plan is used now. Lock held, as for the next two.
void use_plan(const PlanPtr& plan);
PlanPtr find_plan(const std::string& key); // null when there is none

// Keeps a plan unless another thread was faster with this key.
void keep_plan(const std::string& key, const PlanPtr& plan);

// Forgets all when there are too many. No lock held.
void limit_plans();

} // namespace hostacl
