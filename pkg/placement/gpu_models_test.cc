#include "pkg/placement/gpu_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/placement/replacement.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kA100[] = "NVIDIA-A100", kH100[] = "NVIDIA-H100";

void SetModels(Cluster& cluster, const std::vector<std::uint8_t>& model_of_host) {
  cluster.gpu_models =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{kA100, kH100});
  for (std::size_t h = 0; h < model_of_host.size(); ++h) {
    cluster.hosts[h].gpu_model = model_of_host[h];
  }
}

// One segment of six hosts: two A100, then four H100.
Case MixedCase(int workers) {
  Case c = MakeCase(MakeCluster({{6}}), MakeJob(8, 1, 1, workers, 1));
  SetModels(c.cluster, {0, 0, 1, 1, 1, 1});
  return c;
}

TEST(GpuModelsTest, AGangGetsHostsOfOneModel) {
  const Case c = MixedCase(4);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_THAT(GpuModelsOf(c.cluster, c.job, plan.host_of_rank), ElementsAre(1));
}

TEST(GpuModelsTest, AGangThatNoModelCanHoldIsToldTheModelsAndWhatWouldHelp) {
  Case c = MixedCase(5);
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  ASSERT_FALSE(plan.reasons.empty());
  EXPECT_EQ(plan.reasons[0].code, ReasonCode::kGpuModelsDiffer);
  EXPECT_THAT(plan.reasons[0].message, HasSubstr("NVIDIA-H100 (4 hosts), NVIDIA-A100 (2 hosts)"));
  ASSERT_FALSE(plan.relaxations.empty());
  EXPECT_EQ(plan.relaxations[0], (Relaxation{"mixedGpuModels: true", Outcome::kPlaced}));
  c.job.mixed_gpu_models = true;
  EXPECT_EQ(PlanGang(c.cluster, c.request()).outcome, Outcome::kPlaced);
}

TEST(GpuModelsTest, AGangWaitsForTheModelThatCanHoldIt) {
  Case c = MixedCase(4);
  c.cluster.hosts[5].free_gpus = 0;
  const GangPlan plan = PlanGang(c.cluster, c.request());
  EXPECT_EQ(plan.outcome, Outcome::kNotNow);
  EXPECT_THAT(plan.reasons[0].message, HasSubstr("what follows counts hosts with NVIDIA-H100"));
}

TEST(GpuModelsTest, AModelThatNoHostHasIsAnsweredWithThoseThereAre) {
  Case c = MixedCase(1);
  c.job.gpu_model = "H100";
  const std::vector<std::uint8_t> none(6, 0);
  GangRequest request = c.request();
  request.eligible = &none;
  const GangPlan plan = PlanGang(c.cluster, request);
  EXPECT_EQ(plan.outcome, Outcome::kNever);
  EXPECT_EQ(plan.reasons[0].message,
            "no host has GPU model H100; here: NVIDIA-H100 (4 hosts), NVIDIA-A100 (2 hosts)");
}

TEST(GpuModelsTest, HostsWithoutGpusAreOfNoModel) {
  Case c = MixedCase(4);
  c.cluster.hosts[0].gpus = c.cluster.hosts[0].free_gpus = 0;
  EXPECT_THAT(GpuModelsOf(c.cluster, c.job, {HostId(0), HostId(2)}), ElementsAre(1));
  EXPECT_EQ(HostsOfModel(c.cluster, c.request(), 1)[0], 1);
}

// Of three workers the first asks for no GPU, and fits beside the others on no host.
TEST(GpuModelsTest, AWorkerWithoutGpusMayHaveAHostOfAnotherModel) {
  Case c = MixedCase(2);
  c.job.workers = 3;
  c.job.roles = {{0, {}, 0}, {1, {}, 8}};
  c.groups = GroupsOf(c.job);
  EXPECT_THAT(GpuModelsOf(c.cluster, c.job, {HostId(0), HostId(2), HostId(3)}), ElementsAre(1));
  const std::vector<std::uint8_t> allowed = {1, 0, 1, 1, 0, 0};
  GangRequest request = c.request();
  request.eligible = &allowed;
  c.cluster.hosts[2].free_gpus = c.cluster.hosts[3].free_gpus = 8;
  EXPECT_EQ(PlanGang(c.cluster, request).outcome, Outcome::kPlaced);
  EXPECT_EQ(HostsForRanks(c.cluster, c.request(), {HostId(0), HostId(2), HostId(3)}, {1}),
            HostsOfModel(c.cluster, c.request(), 1));
}

TEST(GpuModelsTest, ALostHostIsReplacedByOneOfTheGangsModel) {
  Case c = MixedCase(2);
  SetModels(c.cluster, {1, 1, 0, 0, 0, 1});
  c.cluster.hosts[1].unavailable = Unavailability::kNotReady;
  c.cluster.hosts[0].free_gpus = 0;
  const fabric::BackupPolicy policy{1, true, true, false};
  const GangPlan plan = ReplaceHosts(c.cluster, c.request(), {HostId(0), HostId(1)}, {1}, policy);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[1], HostId(5));
  c.cluster.hosts[5].free_gpus = 0;
  EXPECT_NE(ReplaceHosts(c.cluster, c.request(), {HostId(0), HostId(1)}, {1}, policy).outcome,
            Outcome::kPlaced);
}

TEST(GpuModelsTest, ARankThatJoinsGetsAHostOfTheGangsModel) {
  Case c = MixedCase(3);
  SetModels(c.cluster, {1, 1, 0, 0, 0, 1});
  for (const int held : {0, 1}) c.cluster.hosts[held].free_gpus = 0;
  const auto all = [](const std::vector<HostId>&) { return absl::OkStatus(); };
  const GangPlan plan = GrowGang(c.cluster, c.request(), {HostId(0), HostId(1)}, {}, all);
  ASSERT_EQ(plan.outcome, Outcome::kPlaced);
  EXPECT_EQ(plan.host_of_rank[2], HostId(5));
}

// The least objective over the models, each searched exhaustively by itself.
TEST(GpuModelsTest, MatchesTheBestModelByBruteForce) {
  Random random(31);
  int mixed_would_do = 0, placed = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    Case c = RandomCase(random, {6, 4});
    std::vector<std::uint8_t> models;
    for (std::size_t h = 0; h < c.cluster.hosts.size(); ++h) {
      models.push_back(static_cast<std::uint8_t>(random.Below(2)));
    }
    SetModels(c.cluster, models);
    std::optional<Objective> best;
    for (const std::uint8_t model : {0, 1}) {
      Case alone = c;
      for (std::size_t h = 0; h < models.size(); ++h) {
        if (models[h] != model) alone.cluster.hosts[h].free_gpus = 0;
      }
      const auto found = BruteForce(alone);
      if (found && (!best || *found < *best)) best = found;
    }
    const GangPlan plan = PlanGang(c.cluster, c.request(), {2'000'000, false});
    ASSERT_EQ(plan.outcome == Outcome::kPlaced, best.has_value()) << Describe(c);
    mixed_would_do += !best && BruteForce(c).has_value();
    if (!best) continue;
    ++placed;
    ASSERT_EQ(plan.objective, *best) << Describe(c);
    ASSERT_EQ(GpuModelsOf(c.cluster, c.job, plan.host_of_rank).size(), 1U) << Describe(c);
  }
  EXPECT_GT(placed, MoreThan(200));
  EXPECT_GT(mixed_would_do, MoreThan(20));
}

}  // namespace
}  // namespace yardmaster::placement
