#include "pkg/workload/job.h"

#include "pkg/base/strings.h"

namespace yardmaster::workload {

namespace {

// A Required group that is larger than a host can never lie within one.
void CheckHostGroup(const GroupPolicy& policy, std::int64_t size, int gpus_per_host,
                    const char* name, std::vector<std::string>& out) {
  if (policy.mode != Enforcement::kRequired || policy.within != TopologyLevel::kHost ||
      size <= gpus_per_host) {
    return;
  }
  out.push_back(StrCat("spec.placement.", name, ".within: Host is Required for a group of ", size,
                       " GPUs and a host has ", gpus_per_host,
                       "; use Segment, or mode: Preferred, or smaller groups"));
}

}  // namespace

const ResourceList& Job::RequestsOf(int rank) const {
  const ResourceList* requests = &this->requests;
  for (const Role& role : roles) {
    if (role.first_rank > rank) break;
    requests = &role.requests;
  }
  return *requests;
}

std::vector<std::string> Problems(const Job& job, int gpus_per_host) {
  std::vector<std::string> out;
  if (job.workers < 1 || job.workers > 1'000'000) {
    out.push_back(StrCat("spec.workers: is ", job.workers, "; give a number from 1 to 1000000"));
  }
  if (job.gpus_per_worker < 1 || job.gpus_per_worker > 1024) {
    out.push_back(
        StrCat("spec.gpusPerWorker: is ", job.gpus_per_worker, "; give a number from 1 to 1024"));
  }
  if (!out.empty()) return out;
  const Parallelism& p = job.parallelism;
  if (absl::Status status =
          ValidateParallelism(p, job.workers, job.gpus_per_worker, "spec.parallelism");
      !status.ok()) {
    out.push_back(MessageOf(status));
    return out;
  }
  if (job.model) out = ModelProblems(*job.model, p, "spec.model");
  const PlacementPolicy& place = job.placement;
  CheckHostGroup(place.tensor, p.tensor, gpus_per_host, "tensor", out);
  CheckHostGroup(place.context, p.context, gpus_per_host, "context", out);
  CheckHostGroup(place.expert, p.expert, gpus_per_host, "expert", out);
  CheckHostGroup(place.data, std::int64_t{1} * p.data * p.context, gpus_per_host, "data", out);
  CheckHostGroup(place.pipeline, p.pipeline, gpus_per_host, "pipeline", out);
  if (place.max_stages_per_segment < 0) {
    out.push_back("spec.placement.maxStagesPerSegment: is negative; use 0 for no limit");
  }
  return out;
}

}  // namespace yardmaster::workload
