#include "pkg/api/job_spec.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;
using workload::Enforcement;
using workload::kMaxDegree;
using workload::TopologyLevel;

constexpr std::string_view kWithinNames[] = {"Host", "Segment", "FabricPod", "Fabric"};
constexpr std::string_view kModeNames[] = {"Required", "Preferred"};
constexpr std::string_view kPreemptionNames[] = {"PreemptLowerPriority", "Never"};
enum class PreemptionPolicy { kPreemptLowerPriority, kNever };
constexpr int kMaxGpusPerWorker = 1024;
// Products of degrees stay below 2^31.
constexpr int kMaxJobGpus = kMaxJobWorkers * kMaxGpusPerWorker;
constexpr double kMaxFlop = 1e30;
constexpr double kMaxBytes = 1e18;
constexpr double kMaxDurationSeconds = 1e9;

struct NamedGroup {
  const char* name;
  GroupPolicySpec PlacementSpec::*spec;
  workload::GroupPolicy workload::PlacementPolicy::*policy;
};
constexpr NamedGroup kGroups[] = {
    {"tensor", &PlacementSpec::tensor, &workload::PlacementPolicy::tensor},
    {"context", &PlacementSpec::context, &workload::PlacementPolicy::context},
    {"expert", &PlacementSpec::expert, &workload::PlacementPolicy::expert},
    {"data", &PlacementSpec::data, &workload::PlacementPolicy::data},
    {"pipeline", &PlacementSpec::pipeline, &workload::PlacementPolicy::pipeline}};

void ReadParallelism(FieldReader& spec, JobSpec& job) {
  FieldReader in = spec.Object("parallelism");
  workload::Parallelism& p = job.parallelism;
  job.parallelism_given = in.present();
  p.tensor = in.Int("tensor", 1, 1, kMaxDegree);
  p.context = in.Int("context", 1, 1, kMaxDegree);
  p.expert = in.Int("expert", 1, 1, kMaxDegree);
  p.pipeline = in.Int("pipeline", 1, 1, kMaxDegree);
  p.virtual_pipeline = in.Int("virtualPipeline", 1, 1, kMaxDegree);
  p.data = in.Int("data", 0, 1, kMaxDegree);
  if (p.data == 0) p.data = DerivedData(p, std::int64_t{1} * job.workers * job.gpus_per_worker);
  if (p.world() > kMaxJobGpus) {
    in.errors().Add(in.path(),
                    StrCat("expected at most ", kMaxJobGpus,
                           " GPUs, got tensor*context*data*pipeline = ", p.tensor, "*", p.context,
                           "*", p.data, "*", p.pipeline),
                    "make the product equal to workers*gpusPerWorker");
  }
  const std::string order =
      in.String("order", TextRule{32}, workload::FormatOrder(workload::kMegatronOrder));
  absl::StatusOr<workload::AxisOrder> parsed = workload::ParseOrder(order);
  if (parsed.ok()) {
    p.order = *parsed;
  } else {
    in.errors().AddLine(in.PathOf("order") + ": " + MessageOf(parsed.status()));
  }
  in.Close();
}

void ReadPlacement(FieldReader& spec, PlacementSpec& placement) {
  FieldReader in = spec.Object("placement");
  for (const NamedGroup& group : kGroups) {
    FieldReader policy = in.Object(group.name);
    GroupPolicySpec& out = placement.*group.spec;
    if (policy.has("within"))
      out.within = policy.Enum("within", kWithinNames, TopologyLevel::kFabric);
    if (policy.has("mode")) out.mode = policy.Enum("mode", kModeNames, Enforcement::kRequired);
    policy.Close();
  }
  placement.max_stages_per_segment = in.Int("maxStagesPerSegment", 0, 0, kMaxDegree);
  in.Close();
}

void ReadProfile(FieldReader& spec, workload::Profile& profile) {
  FieldReader in = spec.Object("profile");
  profile.flop_per_iteration = in.Number("flopPerIteration", 0, 0, kMaxFlop);
  profile.compute_seconds = in.Number("computeSeconds", 0, 0, kMaxDurationSeconds);
  profile.communication_start = in.Number("communicationStart", 0.5, 0, 1);
  profile.data_bytes = in.Number("dataBytes", 0, 0, kMaxBytes);
  profile.expert_data_bytes = in.Number("expertDataBytes", 0, 0, kMaxBytes);
  profile.pipeline_bytes = in.Number("pipelineBytes", 0, 0, kMaxBytes);
  profile.tensor_bytes = in.Number("tensorBytes", 0, 0, kMaxBytes);
  profile.context_bytes = in.Number("contextBytes", 0, 0, kMaxBytes);
  profile.expert_bytes = in.Number("expertBytes", 0, 0, kMaxBytes);
  profile.measured = in.Bool("measured", false);
  in.Close();
}

json EncodePlacement(const PlacementSpec& placement) {
  json out = json::object();
  for (const NamedGroup& group : kGroups) {
    const GroupPolicySpec& policy = placement.*group.spec;
    if (policy.within) {
      out[group.name]["within"] = kWithinNames[static_cast<std::size_t>(*policy.within)];
    }
    if (policy.mode) out[group.name]["mode"] = kModeNames[static_cast<std::size_t>(*policy.mode)];
  }
  if (placement.max_stages_per_segment != 0) {
    out["maxStagesPerSegment"] = placement.max_stages_per_segment;
  }
  return out;
}

json EncodeParallelism(const workload::Parallelism& p) {
  return {{"tensor", p.tensor},
          {"context", p.context},
          {"expert", p.expert},
          {"data", p.data},
          {"pipeline", p.pipeline},
          {"virtualPipeline", p.virtual_pipeline},
          {"order", workload::FormatOrder(p.order)}};
}

json EncodeProfile(const workload::Profile& profile) {
  return {{"flopPerIteration", profile.flop_per_iteration},
          {"computeSeconds", profile.compute_seconds},
          {"communicationStart", profile.communication_start},
          {"dataBytes", profile.data_bytes},
          {"expertDataBytes", profile.expert_data_bytes},
          {"pipelineBytes", profile.pipeline_bytes},
          {"tensorBytes", profile.tensor_bytes},
          {"contextBytes", profile.context_bytes},
          {"expertBytes", profile.expert_bytes},
          {"measured", profile.measured}};
}

// Whether blocks of `block` consecutive ranks, in which each group lies, stay inside one host.
bool FitsHost(std::int64_t block, int gpus_per_worker, int gpus_per_host) {
  if (block <= gpus_per_worker) return gpus_per_worker % block == 0;
  return block <= gpus_per_host && block % gpus_per_worker == 0;
}

}  // namespace

int DerivedData(const workload::Parallelism& p, std::int64_t world) {
  std::int64_t rest = world;
  for (int size : {p.tensor, p.context, p.pipeline}) {
    if (rest % size != 0) return 1;
    rest /= size;
  }
  return static_cast<int>(std::clamp<std::int64_t>(rest, 1, kMaxDegree));
}

workload::PlacementPolicy ResolvePlacement(const PlacementSpec& spec,
                                           const workload::Parallelism& p, int gpus_per_worker,
                                           int gpus_per_host) {
  workload::PlacementPolicy policy;
  policy.max_stages_per_segment = spec.max_stages_per_segment;
  // Groups are consecutive ranks only when their axis is the fastest.
  const bool tensor_first = p.order[0] == workload::Axis::kTensor;
  const bool context_next = tensor_first && p.order[1] == workload::Axis::kContext;
  if (p.tensor == 1 || (tensor_first && FitsHost(p.tensor, gpus_per_worker, gpus_per_host))) {
    policy.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  }
  const std::int64_t block = std::int64_t{1} * p.tensor * p.context;
  if (p.context == 1 || (context_next && FitsHost(block, gpus_per_worker, gpus_per_host))) {
    policy.context = {TopologyLevel::kHost, Enforcement::kRequired};
  }
  for (const NamedGroup& group : kGroups) {
    const GroupPolicySpec& given = spec.*group.spec;
    workload::GroupPolicy& out = policy.*group.policy;
    if (given.within) out = {*given.within, Enforcement::kRequired};
    if (given.mode) out.mode = *given.mode;
  }
  return policy;
}

workload::Job ToJob(const JobSpec& spec, NamespacedName key, std::string uid,
                    std::int64_t created_ms, int gpus_per_host) {
  workload::Job job;
  job.key = std::move(key);
  job.uid = std::move(uid);
  job.created_ms = created_ms;
  job.priority = spec.priority;
  job.preemptible = spec.preemptible;
  job.may_preempt = spec.may_preempt;
  job.mixed_gpu_models = spec.mixed_gpu_models;
  job.run_seconds = spec.run_seconds;
  if (spec.reserve_after_seconds) {
    job.reserve_after_ms = static_cast<std::int64_t>(*spec.reserve_after_seconds * 1000);
  }
  job.workers = spec.workers;
  job.gpus_per_worker = spec.gpus_per_worker;
  job.parallelism = spec.parallelism;
  job.parallelism_given = spec.parallelism_given;
  job.placement =
      ResolvePlacement(spec.placement, spec.parallelism, spec.gpus_per_worker, gpus_per_host);
  job.profile = spec.profile;
  if (spec.model) job.model = ToModel(*spec.model);
  return job;
}

JobSpec WithWorkers(JobSpec spec, int workers) {
  if (spec.workers == workers) return spec;
  spec.workers = workers;
  const std::int64_t world = std::int64_t{1} * workers * spec.gpus_per_worker;
  workload::Parallelism& p = spec.parallelism;
  p.data = DerivedData(p, world);
  if (p.world() != world || p.data % p.expert != 0) {
    p = workload::Parallelism{};
    p.data = DerivedData(p, world);
  }
  return spec;
}

JobSpec ReadJobSpec(FieldReader& spec) {
  JobSpec job;
  job.workers = spec.Int("workers", 1, 1, kMaxJobWorkers);
  job.gpus_per_worker = spec.Int("gpusPerWorker", 8, 1, kMaxGpusPerWorker);
  job.gpu_resource = spec.String("gpuResource", NotEmpty(kQualifiedName), job.gpu_resource);
  ReadParallelism(spec, job);
  ReadPlacement(spec, job.placement);
  ReadProfile(spec, job.profile);
  if (spec.has("model")) job.model = ReadModel(spec.Object("model"));
  job.priority = spec.Int("priority", 0, INT32_MIN, INT32_MAX);
  job.preemptible = spec.Bool("preemptible", false);
  job.may_preempt =
      spec.Enum("preemptionPolicy", kPreemptionNames, PreemptionPolicy::kPreemptLowerPriority) ==
      PreemptionPolicy::kPreemptLowerPriority;
  job.mixed_gpu_models = spec.Bool("mixedGpuModels", false);
  if (spec.has("runSeconds"))
    job.run_seconds = spec.Number("runSeconds", 0, 0, kMaxDurationSeconds);
  if (spec.has("reserveAfterSeconds")) {
    job.reserve_after_seconds = spec.Number("reserveAfterSeconds", 0, 0, kMaxDurationSeconds);
  }
  return job;
}

void EncodeJobSpec(const JobSpec& job, json& spec) {
  spec["workers"] = job.workers;
  spec["gpusPerWorker"] = job.gpus_per_worker;
  if (job.gpu_resource != kGpuResource) spec["gpuResource"] = job.gpu_resource;
  if (job.parallelism_given) spec["parallelism"] = EncodeParallelism(job.parallelism);
  if (job.placement != PlacementSpec{}) spec["placement"] = EncodePlacement(job.placement);
  if (job.profile != workload::Profile{}) spec["profile"] = EncodeProfile(job.profile);
  if (job.model) spec["model"] = EncodeModel(*job.model);
  spec["priority"] = job.priority;
  spec["preemptible"] = job.preemptible;
  if (!job.may_preempt) spec["preemptionPolicy"] = "Never";
  if (job.mixed_gpu_models) spec["mixedGpuModels"] = true;
  if (job.run_seconds) spec["runSeconds"] = *job.run_seconds;
  if (job.reserve_after_seconds) spec["reserveAfterSeconds"] = *job.reserve_after_seconds;
}

}  // namespace yardmaster::api
