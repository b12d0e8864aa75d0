#include "pkg/operator/jobs/move_proposals.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::op {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNowMs = 1'800'000'000'000;

// Two segments of four hosts.
class MoveProposalsTest : public testing::Test {
 protected:
  MoveProposalsTest() {
    auto fabric = std::make_shared<api::Fabric>();
    fabric->metadata.name = "f";
    fabric->spec = fabric::SmallHpn(1, 2, 4);
    fabric->spec.backup = {};
    fabric->spec.backup.hosts_per_segment = 0;
    cluster_.fabrics.Put(std::move(fabric));
    for (const char* segment : {"a", "b"}) {
      for (int i = 0; i < 4; ++i) {
        auto node = std::make_shared<api::Node>();
        node->metadata.name = StrCat(segment, i);
        node->metadata.labels = {{api::kFabricPodLabel, "p"}, {api::kSegmentLabel, segment}};
        workload::SetAmount(node->allocatable, api::kGpuResource, 8);
        node->ready = true;
        cluster_.nodes.Put(std::move(node));
      }
    }
  }

  static std::shared_ptr<api::TrainingJob> Job(const std::string& name, int workers) {
    auto job = std::make_shared<api::TrainingJob>();
    job->metadata.name = name;
    job->metadata.namespace_name = "team";
    job->job.workers = workers;
    job->job.parallelism.data = 8 * workers;
    return job;
  }

  // A job that has run on these hosts for an hour.
  void Run(const std::string& name, const std::vector<std::string>& hosts) {
    auto job = Job(name, static_cast<int>(hosts.size()));
    api::Condition running;
    running.type = "Running";
    running.status = api::ConditionStatus::kTrue;
    running.transition_ms = kNowMs - 3'600'000;
    job->status.conditions = {running};
    auto gang = std::make_shared<api::Gang>();
    gang->metadata.name = api::GangName(api::kTrainingJobKind, name);
    gang->metadata.namespace_name = "team";
    gang->owner = {"yardmaster.dev/v1alpha1", api::kTrainingJobKind, name, "", false};
    gang->job = job->job;
    gang->status.plan_generation = 1;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      gang->status.assignments.push_back({static_cast<int>(rank), hosts[rank], "p", "", {0}});
    }
    cluster_.jobs.Put(std::move(job));
    cluster_.gangs.Put(std::move(gang));
  }

  state::ClusterState cluster_;
  metrics::Registry registry_;
  MoveProposals proposals_{registry_};
};

TEST_F(MoveProposalsTest, MovesThatLetAGangStartAreCountedWithPriceAndGain) {
  Run("x", {"a0", "a1"});
  Run("y", {"b0", "b1"});
  auto big = Job("big", 4);
  big->job.placement.data = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
  cluster_.jobs.Put(std::move(big));
  ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves 1\n"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_admissions 1\n"));
  // It has run for an hour, of which half may be lost, and restarts in 300 s.
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves_price_gpu_seconds 33600\n"));
  EXPECT_THAT(text, HasSubstr("yardmaster_operator_proposed_moves_gain_gpu_seconds 691200\n"));
  proposals_.Clear();
  EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_operator_proposed_moves 0\n"));
}

TEST_F(MoveProposalsTest, AMoveThatGainsNoGpuTimeIsNotCounted) {
  Run("x", {"a0", "b0"});
  ASSERT_TRUE(proposals_.Look(cluster_, kNowMs).ok());
  EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_operator_proposed_moves 0\n"));
}

}  // namespace
}  // namespace yardmaster::op
