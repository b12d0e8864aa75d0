// One object of each kind of yardmaster.dev that an API server accepts, for tests to change.
// TESTONLY. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace yardmaster::testing {

nlohmann::json JobObject();
nlohmann::json FabricObject();
nlohmann::json GangObject();
nlohmann::json PoolObject();
// spec.roles of a TrainingJob.
nlohmann::json RolesNamed(const std::vector<std::string>& names);

}  // namespace yardmaster::testing
