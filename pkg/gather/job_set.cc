#include "pkg/gather/job_set.h"

#include <algorithm>

#include "pkg/api/gang.h"

namespace yardmaster::gather {

void ForEachReplicatedJob(JsonView jobset, const std::function<void(const ReplicatedJob&)>& visit) {
  std::int64_t first = 0;
  jobset.At({"spec", "replicatedJobs"}).ForEachElement([&](JsonView object) {
    const JsonView replicas = object["replicas"];
    const bool is_said = replicas.present() && !replicas.is_null();
    const auto number = is_said ? replicas.WholeNumber() : 1;
    ReplicatedJob job{object, first, 1, false};
    job.jobs = std::clamp<std::int64_t>(number.value_or(1), 0, api::kMaxListedRanks);
    job.is_valid = number == job.jobs;
    visit(job);
    first += job.jobs;
  });
}

}  // namespace yardmaster::gather
