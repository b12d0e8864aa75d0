// What the operator's writes have in common. Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>

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

}  // namespace yardmaster::op
