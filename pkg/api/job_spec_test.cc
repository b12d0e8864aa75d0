#include "pkg/api/job_spec.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/base/random.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using workload::Enforcement;
using workload::GroupPolicy;
using workload::Parallelism;
using workload::TopologyLevel;

Parallelism Sizes(int tensor, int context, int expert, int data, int pipeline) {
  Parallelism p;
  p.tensor = tensor;
  p.context = context;
  p.expert = expert;
  p.data = data;
  p.pipeline = pipeline;
  return p;
}

TEST(JobSpecTest, DerivedDataFillsTheWorldWhereTheOtherSizesDivideIt) {
  int divided = 0;
  for (int world = 1; world <= 48; ++world) {
    for (int tensor : {1, 2, 3, 8}) {
      for (int context : {1, 2}) {
        for (int pipeline : {1, 3, 4}) {
          Parallelism p = Sizes(tensor, context, 1, 77, pipeline);
          const int others = tensor * context * pipeline;
          p.data = DerivedData(p, world);
          EXPECT_EQ(p.world() == world, world % others == 0) << world << " / " << others;
          EXPECT_TRUE(world % others == 0 || p.data == 1) << world << " / " << others;
          divided += world % others == 0;
        }
      }
    }
  }
  EXPECT_GT(divided, 100);
}

JobSpec Job(int workers, int gpus_per_worker, Parallelism parallelism) {
  JobSpec job;
  job.workers = workers;
  job.gpus_per_worker = gpus_per_worker;
  job.parallelism = parallelism;
  job.parallelism_given = true;
  return job;
}

TEST(JobSpecTest, AJobOfAnotherSizeIsValidAndKeepsTheAxesThatStillFit) {
  const JobSpec job = Job(8, 4, Sizes(2, 2, 2, 4, 2));
  int kept = 0, replaced = 0;
  for (int workers = 1; workers <= 64; ++workers) {
    const JobSpec other = WithWorkers(job, workers);
    const Parallelism& p = other.parallelism;
    EXPECT_EQ(other.workers, workers);
    EXPECT_EQ(p.world(), std::int64_t{4} * workers);
    EXPECT_EQ(p.data % p.expert, 0);
    // Sizes other than data take 8 GPUs, and an even data size is needed for the experts.
    if (workers % 4 == 0) {
      EXPECT_EQ(p, Sizes(2, 2, 2, workers / 2, 2)) << workers;
      ++kept;
    } else {
      EXPECT_EQ(p, Sizes(1, 1, 1, 4 * workers, 1)) << workers;
      ++replaced;
    }
  }
  EXPECT_EQ(kept, 16);
  EXPECT_EQ(replaced, 48);
  EXPECT_EQ(WithWorkers(job, 8), job);
}

TEST(JobSpecTest, AJobThatContradictsItselfStaysAsItIsAtItsOwnSize) {
  const JobSpec job = Job(8, 4, Sizes(5, 1, 3, 4, 1));
  EXPECT_EQ(WithWorkers(job, 8), job);
}

workload::PlacementPolicy Resolved(const PlacementSpec& spec, const Parallelism& p,
                                   int gpus_per_worker = 8, int gpus_per_host = 8) {
  return ResolvePlacement(spec, p, gpus_per_worker, gpus_per_host);
}

TEST(JobSpecTest, APlaceWithoutAModeIsRequiredAndAModeWithoutAPlaceKeepsTheDefault) {
  PlacementSpec spec;
  spec.data.within = TopologyLevel::kSegment;
  spec.expert.mode = Enforcement::kPreferred;
  spec.pipeline = {TopologyLevel::kFabricPod, Enforcement::kPreferred};
  spec.max_stages_per_segment = 3;
  const workload::PlacementPolicy policy = Resolved(spec, Sizes(8, 1, 1, 2, 1));
  EXPECT_EQ(policy.data, (GroupPolicy{TopologyLevel::kSegment, Enforcement::kRequired}));
  EXPECT_EQ(policy.expert, (GroupPolicy{TopologyLevel::kFabricPod, Enforcement::kPreferred}));
  EXPECT_EQ(policy.pipeline, (GroupPolicy{TopologyLevel::kFabricPod, Enforcement::kPreferred}));
  EXPECT_EQ(policy.max_stages_per_segment, 3);
}

TEST(JobSpecTest, ContextGroupsStayInAHostOnlyWhereTheirTensorGroupsFitBesideThem) {
  const auto context = [](const Parallelism& p, int gpus_per_worker, int gpus_per_host) {
    return Resolved({}, p, gpus_per_worker, gpus_per_host).context.within;
  };
  EXPECT_EQ(context(Sizes(4, 2, 1, 1, 1), 8, 8), TopologyLevel::kHost);
  EXPECT_EQ(context(Sizes(8, 2, 1, 1, 1), 8, 8), TopologyLevel::kSegment);
  EXPECT_EQ(context(Sizes(8, 2, 1, 1, 1), 8, 16), TopologyLevel::kHost);
  EXPECT_EQ(context(Sizes(2, 3, 1, 4, 1), 8, 8), TopologyLevel::kSegment) << "6 of 8 GPUs";
  EXPECT_EQ(context(Sizes(16, 1, 1, 1, 1), 8, 8), TopologyLevel::kHost) << "no context groups";
  Parallelism context_later = Sizes(2, 2, 1, 2, 1);
  context_later.order = workload::ParseOrder("tp-dp-cp").value();
  EXPECT_EQ(context(context_later, 8, 8), TopologyLevel::kSegment);
}

GroupPolicySpec RandomGroup(Random& random) {
  GroupPolicySpec out;
  if (random.Below(2) == 0) out.within = static_cast<TopologyLevel>(random.Below(5));
  if (random.Below(2) == 0) out.mode = static_cast<Enforcement>(random.Below(2));
  return out;
}

JobSpec RandomSpec(Random& random) {
  auto below = [&](int bound) { return static_cast<int>(random.Below(bound)); };
  JobSpec job = Job(1 + below(1'000'000), 1 + below(1024),
                    Sizes(1 + below(64), 1 + below(8), 1 + below(8), 1 + below(64), 1 + below(16)));
  random.Shuffle(job.parallelism.order);
  job.parallelism.virtual_pipeline = 1 + below(4);
  if (below(2) == 0) job.gpu_resource = "amd.com/gpu";
  PlacementSpec& placement = job.placement;
  for (GroupPolicySpec* group : {&placement.tensor, &placement.context, &placement.expert,
                                 &placement.data, &placement.pipeline}) {
    *group = RandomGroup(random);
  }
  placement.max_stages_per_segment = below(3);
  workload::Profile& profile = job.profile;
  for (double* amount :
       {&profile.flop_per_iteration, &profile.compute_seconds, &profile.communication_start,
        &profile.data_bytes, &profile.expert_data_bytes, &profile.pipeline_bytes,
        &profile.tensor_bytes, &profile.context_bytes, &profile.expert_bytes}) {
    if (below(3) > 0) *amount = random.Unit();
  }
  profile.measured = below(2) == 0;
  job.priority = below(3) - 1;
  job.preemptible = below(2) == 0;
  job.may_preempt = below(2) == 0;
  job.mixed_gpu_models = below(2) == 0;
  if (below(2) == 0) job.run_seconds = random.Unit() * 1e6;
  if (below(2) == 0) job.reserve_after_seconds = below(2) * 60.5;
  return job;
}

JobSpec ReadBack(const json& spec, FieldErrors& errors) {
  return DecodeObject<JobSpec>({&spec, "spec", UnknownFields::kReject, &errors});
}

TEST(JobSpecTest, WhatIsWrittenReadsBackEqual) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const JobSpec job = RandomSpec(random);
    const json spec = EncodeObject(job);
    FieldErrors errors;
    EXPECT_EQ(ReadBack(spec, errors), job) << spec.dump();
    EXPECT_TRUE(errors.empty()) << errors.status();
  }
}

TEST(JobSpecTest, ParallelismThatWasNotGivenIsNotWrittenAndFollowsAgain) {
  FieldErrors errors;
  const JobSpec job = ReadBack({{"workers", 3}, {"gpusPerWorker", 4}}, errors);
  EXPECT_EQ(job.parallelism, Sizes(1, 1, 1, 12, 1));
  const json spec = EncodeObject(job);
  EXPECT_FALSE(spec.contains("parallelism"));
  EXPECT_EQ(ReadBack(spec, errors), job);
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(JobSpecTest, TheJobOfThePlannersHasTheWaitInMilliseconds) {
  JobSpec spec = Job(2, 8, Sizes(8, 1, 1, 2, 1));
  spec.reserve_after_seconds = 0.25;
  spec.run_seconds = 3600;
  spec.priority = -4;
  spec.may_preempt = false;
  const workload::Job job = ToJob(spec, {"team", "a"}, "uid", 17, 8);
  EXPECT_EQ(job.reserve_after_ms, std::optional<std::int64_t>(250));
  EXPECT_EQ(job.run_seconds, std::optional<double>(3600));
  EXPECT_EQ(job.priority, -4);
  EXPECT_FALSE(job.may_preempt);
  EXPECT_FALSE(job.mixed_gpu_models);
  EXPECT_EQ(job.gpus(), 16);
  EXPECT_EQ(job.created_ms, 17);
  spec.reserve_after_seconds.reset();
  EXPECT_FALSE(ToJob(spec, {}, "", 0, 8).reserve_after_ms.has_value());
}

}  // namespace
}  // namespace yardmaster::api
