#include "pkg/workload/job.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::workload {

namespace {

// Groups are listed GPU by GPU: this many take up to a quarter of a GiB, and no fabric has more.
constexpr std::int64_t kMaxGpus = 1 << 20;

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

int Job::GpusOf(int rank) const {
  std::optional<int> gpus;
  for (const Role& role : roles) {
    if (role.first_rank > rank) break;
    gpus = role.gpus;
  }
  return gpus.value_or(gpus_per_worker);
}

bool Job::gpus_differ() const {
  return std::any_of(roles.begin(), roles.end(), [this](const Role& role) {
    return role.gpus.value_or(gpus_per_worker) != gpus_per_worker;
  });
}

namespace {

std::vector<WorkerRun> RunsOf(const Job& job) {
  if (!job.gpus_differ()) return {{job.workers, job.gpus_per_worker}};
  std::vector<WorkerRun> runs;
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    const int end =
        i + 1 < job.roles.size() ? std::min(job.roles[i + 1].first_rank, job.workers) : job.workers;
    const int first = std::min(job.roles[i].first_rank, end);
    runs.push_back({end - first, job.roles[i].gpus.value_or(job.gpus_per_worker)});
  }
  return runs;
}

}  // namespace

std::int64_t Job::gpus() const { return GpuNumbers(RunsOf(*this)).world(); }

GpuNumbers Job::numbers() const {
  std::vector<WorkerRun> runs = RunsOf(*this);
  GpuNumbers all(runs);
  if (runs.size() < 2 || all.world() == parallelism.world()) return all;
  for (WorkerRun& run : runs) {
    if (run.gpus < gpus_per_worker) run.gpus = 0;
  }
  GpuNumbers largest(runs);
  return largest.world() == parallelism.world() ? largest : all;
}

WorkerGroups GroupsOf(const Job& job) { return GroupsOf(job.parallelism, job.numbers()); }

namespace {

absl::Status CheckSize(const Job& job) {
  constexpr char kField[] = "spec.parallelism";
  if (!job.gpus_differ()) {
    return ValidateParallelism(job.parallelism, job.workers, job.gpus_per_worker, kField);
  }
  for (const Role& role : job.roles) {
    const int gpus = role.gpus.value_or(job.gpus_per_worker);
    if (gpus >= 0 && gpus <= job.gpus_per_worker) continue;
    return FieldError("spec.roles",
                      StrCat("the role from rank ", role.first_rank, " on asks for ", gpus,
                             " GPUs and gpusPerWorker is ", job.gpus_per_worker),
                      "gpusPerWorker is the most that any role asks for");
  }
  return ValidateParallelism(job.parallelism, job.numbers().world(),
                             "what its roles ask for together", kField);
}

}  // namespace

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
  if (const std::int64_t gpus = job.gpus(); gpus > kMaxGpus) {
    out.push_back(StrCat("spec.workers: its ", Count(job.workers, "worker"), " ask for ", gpus,
                         " GPUs together, more than ", kMaxGpus, "; split the job"));
    return out;
  }
  const Parallelism& p = job.parallelism;
  if (absl::Status status = CheckSize(job); !status.ok()) {
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
  if (place.domain_unit < 0) {
    out.push_back("spec.placement.domainUnit: is negative; use 0 for any number of hosts");
  }
  return out;
}

}  // namespace yardmaster::workload
