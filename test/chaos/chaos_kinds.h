// The five kinds of jobs of a history, as their controllers and API servers have them: labels and
// controllers of pods, and owners that say their size. Thread safety: pure functions.
#pragma once

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/kube/resource.h"

namespace yardmaster::chaos {

inline constexpr char kNamespace[] = "team";
inline constexpr const char* kKinds[] = {"TrainingJob", "Job", "JobSet", "PyTorchJob", "MPIJob"};

// Labels by which pods of the kind carry their job and rank.
nlohmann::json LabelsOf(const std::string& kind, const std::string& job, int rank);
// What makes the pod of a rank: the job itself, or what its controller makes for that.
nlohmann::json ControllerOf(const std::string& kind, const std::string& job, int rank);
// Where the owner of a job of the kind lies.
kube::Resource OwnersOf(const std::string& kind);
// The owner's spec: how many pods it wants.
nlohmann::json SpecOf(const std::string& kind, int workers);

}  // namespace yardmaster::chaos
