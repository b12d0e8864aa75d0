#include "pkg/api/elastic.h"

#include <algorithm>

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

int WorkersBeforeGrowth(const JobSpec& job, const ElasticStatus& status) {
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

void ElasticPolicy::Describe(FieldVisitor& fields) {
  fields.Int("minData", min_data, 1, kMaxDegree,
             RequiredByServer("The job runs with no fewer data groups; it waits instead."));
  fields.Check([this](FieldReader&) { max_data = std::max(1, min_data); });
  fields.Int(
      "maxData", max_data, 1, kMaxDegree,
      RequiredByServer("The job runs with no more data groups, even where workers allows more."));
  fields.Int(
      "shrinkAfterSeconds", shrink_after_seconds, 0, kMaxSeconds,
      Defaulted("A job that waits this long for a place, or for a substitute of a lost host, "
                "goes on with the largest size that fits."));
  fields.Int("growAfterSeconds", grow_after_seconds, 0, kMaxSeconds,
             Defaulted("A job that has run in full this long at a size grows to the largest that "
                       "fits, if no other gang waits."));
  fields.Rule("self.minData <= self.maxData", "minData must be at most maxData; change one of them",
              ".minData");
}

void ElasticPolicy::Complete(FieldReader& spec, const JobSpec& job) {
  const std::string path = spec.PathOf("elastic");
  if (spec.OpenObject("parallelism").has("data")) {
    spec.errors().Add(spec.PathOf("parallelism") + ".data", "contradicts spec.elastic",
                      "leave it out: it follows from spec.workers");
  }
  if (min_data > max_data) {
    spec.errors().Add(path + ".minData", StrCat("is ", min_data, " and maxData is ", max_data),
                      "make minData at most maxData");
  }
  wished_workers = job.workers;
  wished_data = std::clamp(job.parallelism.data, min_data, std::max(min_data, max_data));
  // The largest size that comes out whole.
  while (wished_data > min_data && !WorkersOf(job, wished_data)) --wished_data;
  if (!WorkersOf(job, wished_data)) {
    spec.errors().Add(
        path + ".minData",
        StrCat("no number of data groups from minData to what spec.workers allow fills "
               "workers of ",
               job.gpus_per_worker, " GPUs"),
        "change minData, maxData or gpusPerWorker until one does");
  }
}

void ElasticStatus::Describe(FieldVisitor& fields) {
  fields.Int("data", data, 0, kMaxDegree, "Data groups of the pods there are.");
  fields.Int(
      "targetData", target, 0, kMaxDegree,
      "The size that the job is going to; its pods end and its hosts are given back first. 0, "
      "none.");
  fields.Int("previousData", previous, 0, kMaxDegree,
             "Of a growth in place that is not complete, the size that runs, less than data; more "
             "than data while pods that found no room are removed again. 0, none.");
  fields.Time("changed", changed_ms, "When that was decided.");
}

}  // namespace yardmaster::api
