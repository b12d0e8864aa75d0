#include "pkg/api/job_spec.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using workload::Enforcement;
using workload::kMaxDegree;
using workload::TopologyLevel;

constexpr std::string_view kPreemptionNames[] = {"PreemptLowerPriority", "Never"};
enum class PreemptionPolicy { kPreemptLowerPriority, kNever };
constexpr TextRule kOrderText = {.max_length = 32,
                                 .pattern = "^(tp|cp|ep|dp|pp)(-(tp|cp|ep|dp|pp)){0,4}$"};
constexpr int kMaxGpusPerWorker = 1024;
// Products of degrees stay below 2^31.
constexpr int kMaxJobGpus = kMaxJobWorkers * kMaxGpusPerWorker;
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

void DeriveData(FieldReader& in, JobSpec& job) {
  workload::Parallelism& p = job.parallelism;
  if (p.data == 0) p.data = DerivedData(p, std::int64_t{1} * job.workers * job.gpus_per_worker);
  if (p.world() > kMaxJobGpus) {
    in.errors().Add(in.path(),
                    StrCat("expected at most ", kMaxJobGpus,
                           " GPUs, got tensor*context*data*pipeline = ", p.tensor, "*", p.context,
                           "*", p.data, "*", p.pipeline),
                    "make the product equal to workers*gpusPerWorker");
  }
}

void ReadOrder(FieldReader& in, workload::AxisOrder& out) {
  const std::string order =
      in.String("order", TextRule{32}, workload::FormatOrder(workload::kMegatronOrder));
  absl::StatusOr<workload::AxisOrder> parsed = workload::ParseOrder(order);
  if (parsed.ok()) {
    out = *parsed;
  } else {
    in.errors().AddLine(in.PathOf("order") + ": " + MessageOf(parsed.status()));
  }
}

void DescribeParallelism(FieldVisitor& fields, JobSpec& job) {
  workload::Parallelism& p = job.parallelism;
  const auto degree = [&](const char* key, int& value, const About& about) {
    fields.Int(key, value, 1, kMaxDegree, about);
  };
  degree("tensor", p.tensor, Defaulted("Tensor parallel size."));
  degree("context", p.context, Defaulted("Context parallel size."));
  degree("expert", p.expert, Defaulted("Expert parallel size, inside data parallelism."));
  degree("pipeline", p.pipeline, Defaulted("Pipeline stages."));
  degree("virtualPipeline", p.virtual_pipeline, Defaulted("Model chunks per stage."));
  fields.Check([&](FieldReader&) { p.data = 0; });
  degree("data", p.data,
         "Data parallel size, expert parallelism included. Left out: what the other sizes leave of "
         "workers*gpusPerWorker.");
  fields.Check([&](FieldReader& in) { DeriveData(in, job); });
  fields.Parsed(
      "order", kOrderText,
      Defaulted("Order of the axes over ranks, fastest first. Axes left out follow in the default "
                "order."),
      [&](FieldReader& in) { ReadOrder(in, p.order); },
      [&] { return workload::FormatOrder(p.order); });
  fields.Rule(
      "!has(self.data) || self.data % self.expert == 0",
      "expert must divide data, because expert parallelism lies inside data parallelism; use "
      "a divisor of data",
      ".expert");
}

void DescribeJobRules(FieldVisitor& spec, const char* sizes_differ) {
  spec.Rule(
      "!has(self.parallelism) || (has(self.parallelism.data) ? double(self.parallelism.tensor) * "
      "double(self.parallelism.context) * double(self.parallelism.data) * "
      "double(self.parallelism.pipeline) == double(self.workers) * double(self.gpusPerWorker) : "
      "double(self.parallelism.tensor) * double(self.parallelism.context) * "
      "double(self.parallelism.pipeline) <= double(self.workers) * double(self.gpusPerWorker) && "
      "(self.workers * self.gpusPerWorker) % (self.parallelism.tensor * self.parallelism.context * "
      "self.parallelism.pipeline) == 0)",
      "tensor*context*data*pipeline must equal workers*gpusPerWorker; change one of them until the "
      "products are equal",
      ".parallelism", sizes_differ);
  spec.Rule(
      "!has(self.model) || !has(self.parallelism) || !has(self.model.attentionHeads) || "
      "self.model.attentionHeads % self.parallelism.tensor == 0",
      "parallelism.tensor must divide model.attentionHeads; change one of them until it does",
      ".model.attentionHeads");
  spec.Rule(
      "!has(self.model) || !has(self.parallelism) || self.parallelism.expert == 1 || "
      "(has(self.model.experts) && self.model.experts % self.parallelism.expert == 0)",
      "parallelism.expert must divide model.experts; change one of them until it does", ".model");
  spec.Rule(
      "!has(self.model) || !has(self.parallelism) || !has(self.model.layers) || "
      "double(self.model.layers) >= double(self.parallelism.pipeline) * "
      "double(self.parallelism.virtualPipeline)",
      "every chunk of a pipeline stage needs a layer; use fewer stages or chunks", ".model.layers");
}

// Whether blocks of `block` consecutive ranks, in which each group lies, stay inside one host.
bool FitsHost(std::int64_t block, int gpus_per_worker, int gpus_per_host) {
  if (block <= gpus_per_worker) return gpus_per_worker % block == 0;
  return block <= gpus_per_host && block % gpus_per_worker == 0;
}

}  // namespace

void Describe(FieldVisitor& fields, workload::Profile& profile) {
  const auto bytes = [&](const char* key, double& value, const char* meaning) {
    fields.Number(key, value, 0, kMaxBytes, meaning);
  };
  fields.Number("flopPerIteration", profile.flop_per_iteration, 0, 1e30,
                "Floating-point operations of the whole job.");
  fields.Number("computeSeconds", profile.compute_seconds, 0, kMaxDurationSeconds,
                "Time of an iteration without waiting.");
  fields.Number("communicationStart", profile.communication_start, 0, 1,
                "Fraction of compute after which communication may begin; 1: no overlap.");
  bytes("dataBytes", profile.data_bytes, "Bytes each GPU sends for data parallelism.");
  bytes("expertDataBytes", profile.expert_data_bytes,
        "Bytes each GPU sends for the gradients of its experts.");
  bytes("pipelineBytes", profile.pipeline_bytes, "Bytes each GPU sends to pipeline neighbours.");
  bytes("tensorBytes", profile.tensor_bytes, "Bytes each GPU sends for tensor parallelism.");
  bytes("contextBytes", profile.context_bytes, "Bytes each GPU sends for context parallelism.");
  bytes("expertBytes", profile.expert_bytes, "Bytes each GPU sends for expert parallelism.");
  fields.Bool("measured", profile.measured, "The numbers were measured, not estimated.");
}

void JobSpec::Describe(FieldVisitor& spec, const char* sizes_differ) {
  spec.Int("workers", workers, 1, kMaxJobWorkers, Defaulted("Workers, one pod each."));
  spec.Int("gpusPerWorker", gpus_per_worker, 1, kMaxGpusPerWorker,
           Defaulted(
               "GPUs of every worker; of a Gang whose roles ask for different numbers, the most."));
  spec.Text("gpuResource", gpu_resource, NotEmpty(kQualifiedName),
            Defaulted("Extended resource that gpusPerWorker counts, for example amd.com/gpu or "
                      "nvidia.com/mig-3g.40gb.")
                .OmitAt(kGpuResource));
  spec.Group("parallelism", parallelism_given,
             "How the model is split over GPUs. Left out: one data group over all of them.",
             [this](FieldVisitor& fields) { DescribeParallelism(fields, *this); });
  spec.Object("placement", placement,
              "Where groups must, or should, lie. Groups are kept as close together as possible, "
              "also where this field sets no limit.");
  spec.Object("profile", profile,
              "What one iteration costs, as far as it is known; the rest is estimated.");
  spec.Object("model", model,
              "The transformer that is trained: what an iteration computes and sends is estimated "
              "from it where profile does not say. Numbers left out are those of common models.");
  spec.Int(
      "priority", priority, INT32_MIN, INT32_MAX,
      Defaulted("Jobs of higher priority are placed first and may stop jobs of lower priority; 0 "
                "takes that of the pods' PriorityClass."));
  spec.Bool("preemptible", preemptible,
            Defaulted("May run on lent backup hosts and is stopped when they are needed."));
  PreemptionPolicy policy =
      may_preempt ? PreemptionPolicy::kPreemptLowerPriority : PreemptionPolicy::kNever;
  spec.Enum("preemptionPolicy", policy, kPreemptionNames,
            About("Never: the job waits and stops no other gang for its place.")
                .OmitAt(PreemptionPolicy::kPreemptLowerPriority));
  spec.Check(
      [&](FieldReader&) { may_preempt = policy == PreemptionPolicy::kPreemptLowerPriority; });
  spec.Bool("mixedGpuModels", mixed_gpu_models,
            Defaulted("The workers may get GPUs of several models; else all get one model.")
                .OmitAt(false));
  spec.Number("runSeconds", run_seconds, 0, kMaxDurationSeconds,
              "Expected run time; lets the job fill gaps before a reserved place.");
  spec.Number("reserveAfterSeconds", reserve_after_seconds, 0, kMaxDurationSeconds,
              "After waiting this long the job reserves its place.");
  DescribeJobRules(spec, sizes_differ);
}

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
  policy.domain_unit = spec.domain_unit;
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

}  // namespace yardmaster::api
