#include "pkg/gather/ended_replicas.h"

#include <algorithm>
#include <cstdint>

#include "pkg/api/gang.h"
#include "pkg/base/strings.h"
#include "pkg/gather/job_set.h"

namespace yardmaster::gather {

std::vector<int> ParseIndexes(std::string_view text) {
  std::vector<bool> is_one(api::kMaxListedRanks);
  for (const std::string& part : Split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = ParseNumber<int>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : ParseNumber<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0) continue;
    for (int i = *first; i <= std::min(*last, api::kMaxListedRanks - 1); ++i) {
      is_one[static_cast<std::size_t>(i)] = true;
    }
  }
  std::vector<int> indexes;
  for (int i = 0; i < api::kMaxListedRanks; ++i) {
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
  ForEachReplicatedJob(jobset, [&](const ReplicatedJob& job) {
    const std::int64_t number = *index - job.first_job;
    if (name || number < 0 || number >= job.jobs) return;
    name =
        StrCat(jobset.At({"metadata", "name"}).Text(), "-", job.object["name"].Text(), "-", number);
  });
  return name;
}

}  // namespace yardmaster::gather
