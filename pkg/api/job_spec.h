// What planning needs to know of a job, as TrainingJobs and Gangs both write it: size, parallelism,
// placement, profile, model, priority. A Gang carries it whole, so that the next leader can plan
// it without the object it came from.
//
// Defaults. `parallelism` left out: one data group over all GPUs. `data` left out beside other
// sizes: what the other sizes leave of workers * gpusPerWorker, where they divide it. Placement:
// tensor and context groups inside a host where they fit, else inside a segment; expert and data
// groups inside a fabric pod; pipeline anywhere.
//
// Thread safety: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/api/field_visitor.h"
#include "pkg/api/model_spec.h"
#include "pkg/api/names.h"
#include "pkg/api/node_constraints.h"
#include "pkg/workload/job.h"

namespace yardmaster::api {

// The most workers that a job may have.
inline constexpr int kMaxJobWorkers = 1'000'000;

inline constexpr std::string_view kWithinNames[] = {"Host", "Domain", "Segment", "FabricPod",
                                                    "Fabric"};
inline constexpr std::string_view kEnforcementNames[] = {"Required", "Preferred"};

// `within` or `mode` may be left out on its own: the group's default and Required.
struct GroupPolicySpec {
  std::optional<workload::TopologyLevel> within;
  std::optional<workload::Enforcement> mode;
  bool operator==(const GroupPolicySpec&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Enum("within", within, kWithinNames,
                "The smallest place the group must, or should, lie in.");
    fields.Enum("mode", mode, kEnforcementNames,
                "Required is a limit that is never crossed; Preferred says what to try first. "
                "Default Required when within is given.");
  }
};

struct PlacementSpec {
  GroupPolicySpec tensor;
  GroupPolicySpec context;
  GroupPolicySpec expert;
  GroupPolicySpec data;
  GroupPolicySpec pipeline;
  int max_stages_per_segment = 0;
  int domain_unit = 0;
  bool operator==(const PlacementSpec&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Object("tensor", tensor,
                  "GPUs that differ only in tp. Default: Host where they fit, else Segment.");
    fields.Object("context", context,
                  "GPUs that differ only in cp. Default: Host where they fit, else Segment.");
    fields.Object("expert", expert, "GPUs that differ only in ep. Default: FabricPod.");
    fields.Object("data", data, "GPUs that differ only in dp and cp. Default: FabricPod.");
    fields.Object("pipeline", pipeline, "GPUs that differ only in pp. Default: Fabric, Preferred.");
    fields.Int("maxStagesPerSegment", max_stages_per_segment, 0, workload::kMaxDegree,
               About("At most this many pipeline stages in one segment; 0: no limit.").OmitAt(0));
    fields.Int("domainUnit", domain_unit, 0, workload::kMaxDegree,
               About("Hosts that the gang takes of each domain that it uses, for consecutive "
                     "ranks; 0: any number.")
                   .OmitAt(0));
  }
};

struct JobSpec {
  int workers = 1;
  int gpus_per_worker = 8;
  std::string gpu_resource = kGpuResource;  // what gpus_per_worker counts
  workload::Parallelism parallelism;
  bool parallelism_given = false;
  PlacementSpec placement;
  workload::Profile profile;
  std::optional<ModelSpec> model;
  int priority = 0;
  bool preemptible = false;
  bool may_preempt = true;  // preemptionPolicy: PreemptLowerPriority, or Never
  bool mixed_gpu_models = false;
  std::optional<double> run_seconds;
  std::optional<double> reserve_after_seconds;
  bool operator==(const JobSpec&) const = default;

  // Fields of a `spec` with others beside them. Sizes of parallelism whose product no number of
  // workers and GPUs can equal are an error, so that the product of a job without errors fits an
  // int. Where the rule `sizes_differ` (CEL) holds, the sizes need not come out even.
  void Describe(FieldVisitor& spec, const char* sizes_differ = "");
};

workload::PlacementPolicy ResolvePlacement(const PlacementSpec& spec,
                                           const workload::Parallelism& parallelism,
                                           int gpus_per_worker, int gpus_per_host);

// The job as the pure layers see it. It may contradict itself: see workload::Problems.
workload::Job ToJob(const JobSpec& spec, NamespacedName key, std::string uid,
                    std::int64_t created_ms, int gpus_per_host);

// The size of a data axis that was not given: `world` over the other sizes, or 1 when they do not
// divide it (workload::Problems then says so).
int DerivedData(const workload::Parallelism& parallelism, std::int64_t world);

// The job with that many workers: the data axis takes what the other sizes leave. Where they do not
// divide the new number of GPUs, or the expert size does not divide the new data size, all other
// sizes become 1 and the data size is the number of GPUs. Unchanged if it has that many workers.
JobSpec WithWorkers(JobSpec spec, int workers);

}  // namespace yardmaster::api
