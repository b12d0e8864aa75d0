#include "pkg/api/elastic.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

using workload::kMaxDegree;

std::optional<int> WorkersOf(const JobSpec& job, int data) {
  if (data < 1) return std::nullopt;
  workload::Parallelism p = job.parallelism;
  p.data = data;
  const std::int64_t gpus = p.world();
  if (gpus % job.gpus_per_worker != 0) return std::nullopt;
  return static_cast<int>(std::min<std::int64_t>(gpus / job.gpus_per_worker, kMaxJobWorkers));
}

void SetData(JobSpec& job, int data) {
  job.workers = *WorkersOf(job, data);
  job.parallelism.data = data;
}

int SettledWorkersOf(const JobSpec& job, const ElasticStatus& status) {
  if (status.previous == 0 || status.previous >= status.data) return job.workers;
  return std::min(job.workers, WorkersOf(job, status.previous).value_or(job.workers));
}

int SurplusEndOf(const JobSpec& job, const ElasticStatus& status) {
  if (status.previous <= status.data) return job.workers;
  return std::max(job.workers, WorkersOf(job, status.previous).value_or(job.workers));
}

std::pair<int, int> WorkerBoundsOf(const JobSpec& job, const ElasticPolicy& policy) {
  int smallest = policy.min_data, largest = policy.max_data;
  while (smallest < largest && !WorkersOf(job, smallest)) ++smallest;
  while (largest > smallest && !WorkersOf(job, largest)) --largest;
  return {WorkersOf(job, smallest).value_or(job.workers),
          WorkersOf(job, largest).value_or(job.workers)};
}

std::vector<int> SizesOf(const JobSpec& job, const ElasticPolicy& policy) {
  std::vector<int> sizes;
  for (int data = policy.min_data; data <= policy.wished_data; ++data) {
    if (WorkersOf(job, data)) sizes.push_back(data);
  }
  return sizes;
}

ElasticPolicy ReadElasticPolicy(FieldReader& spec, const JobSpec& job) {
  ElasticPolicy policy;
  FieldReader in = spec.Object("elastic");
  policy.enabled = in.present();
  policy.min_data = in.Int("minData", 1, 1, kMaxDegree);
  policy.max_data = in.Int("maxData", std::max(1, policy.min_data), 1, kMaxDegree);
  policy.shrink_after_seconds =
      in.Int("shrinkAfterSeconds", policy.shrink_after_seconds, 0, kMaxSeconds);
  policy.grow_after_seconds = in.Int("growAfterSeconds", policy.grow_after_seconds, 0, kMaxSeconds);
  in.Close();
  if (!policy.enabled) return policy;
  if (spec.OpenObject("parallelism").has("data")) {
    in.errors().Add(spec.PathOf("parallelism") + ".data", "contradicts spec.elastic",
                    "leave it out: it follows from spec.workers");
  }
  if (policy.min_data > policy.max_data) {
    in.errors().Add(in.PathOf("minData"),
                    StrCat("is ", policy.min_data, " and maxData is ", policy.max_data),
                    "make minData at most maxData");
  }
  policy.wished_workers = job.workers;
  policy.wished_data =
      std::clamp(job.parallelism.data, policy.min_data, std::max(policy.min_data, policy.max_data));
  // The largest size that comes out whole.
  while (policy.wished_data > policy.min_data && !WorkersOf(job, policy.wished_data)) {
    --policy.wished_data;
  }
  if (!WorkersOf(job, policy.wished_data)) {
    in.errors().Add(in.PathOf("minData"),
                    StrCat("no number of data groups from minData to what spec.workers allow fills "
                           "workers of ",
                           job.gpus_per_worker, " GPUs"),
                    "change minData, maxData or gpusPerWorker until one does");
  }
  return policy;
}

void EncodeElasticPolicy(const ElasticPolicy& policy, nlohmann::json& spec) {
  if (!policy.enabled) return;
  spec["workers"] = policy.wished_workers;
  if (spec.contains("parallelism")) spec["parallelism"].erase("data");
  spec["elastic"] = {{"minData", policy.min_data},
                     {"maxData", policy.max_data},
                     {"shrinkAfterSeconds", policy.shrink_after_seconds},
                     {"growAfterSeconds", policy.grow_after_seconds}};
}

ElasticStatus ReadElasticStatus(FieldReader& status) {
  FieldReader in = status.Object("elastic");
  ElasticStatus out;
  out.data = in.Int("data", 0, 0, kMaxDegree);
  out.target = in.Int("targetData", 0, 0, kMaxDegree);
  out.previous = in.Int("previousData", 0, 0, kMaxDegree);
  out.changed_ms = in.TimeMs("changed");
  in.Close();
  return out;
}

nlohmann::json EncodeElasticStatus(const ElasticStatus& status) {
  nlohmann::json out = {
      {"data", status.data}, {"targetData", status.target}, {"previousData", status.previous}};
  EncodeTime("changed", status.changed_ms, out);
  return out;
}

}  // namespace yardmaster::api
