// What the operator's writes have in common. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"
#include "pkg/kube/client.h"

namespace yardmaster::op {

// The manager's name in metadata.managedFields.
inline constexpr char kFieldManager[] = "yardmaster-operator";

// An object in the job's namespace; without a name, those of the kind.
inline kube::Target TargetOf(const kube::Resource& resource, const api::TrainingJob& job,
                             std::string name = "") {
  return {resource, job.metadata.namespace_name, std::move(name), ""};
}

// Whether `object`, as the API server has it, names the job among its owners.
inline bool IsOwnedBy(const nlohmann::json& object, const api::TrainingJob& job) {
  const nlohmann::json owners =
      object.value("/metadata/ownerReferences"_json_pointer, nlohmann::json::array());
  return std::any_of(owners.begin(), owners.end(), [&](const nlohmann::json& owner) {
    return owner.value("uid", "") == job.metadata.uid;
  });
}

}  // namespace yardmaster::op
