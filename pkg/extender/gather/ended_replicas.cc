#include "pkg/extender/gather/ended_replicas.h"

#include <algorithm>
#include <cstdint>

#include "pkg/base/strings.h"

namespace yardmaster::extender {

namespace {

// As status.assignments of a Gang has it.
constexpr int kMaxReplicas = 16'384;

}  // namespace

std::vector<int> ParseIndexes(std::string_view text) {
  std::vector<bool> is_one(kMaxReplicas);
  for (const std::string& part : Split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseNumber<int>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : ParseNumber<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0) continue;
    for (int i = *first; i <= std::min(*last, kMaxReplicas - 1); ++i) {
      is_one[static_cast<std::size_t>(i)] = true;
    }
  }
  std::vector<int> indexes;
  for (int i = 0; i < kMaxReplicas; ++i) {
    if (is_one[static_cast<std::size_t>(i)]) indexes.push_back(i);
  }
  return indexes;
}

std::vector<int> EndedIndexes(JsonView job) {
  const JsonView status = job["status"];
  return ParseIndexes(
      StrCat(status["completedIndexes"].Text(), ",", status["failedIndexes"].Text()));
}

bool SaysEnded(const api::Pod& pod, const api::OwnerReference& owner) {
  // The MPI operator makes a worker only where there is no pod of its name.
  return pod.phase == "Succeeded" || (pod.phase == "Failed" && owner.kind == "MPIJob");
}

std::optional<std::string> JobOfSubgroup(JsonView jobset, std::string_view subgroup) {
  const auto index = ParseNumber<std::int64_t>(subgroup);
  if (!index || *index < 0) return std::nullopt;
  std::optional<std::string> name;
  std::int64_t first = 0;  // of the replicated job
  jobset.At({"spec", "replicatedJobs"}).ForEachElement([&](JsonView job) {
    const std::int64_t replicas =
        std::clamp<std::int64_t>(job["replicas"].WholeNumber().value_or(1), 0, INT32_MAX);
    if (!name && *index >= first && *index - first < replicas) {
      name = StrCat(jobset.At({"metadata", "name"}).Text(), "-", job["name"].Text(), "-",
                    *index - first);
    }
    first += replicas;
  });
  return name;
}

}  // namespace yardmaster::extender
