#include "pkg/operator/telemetry/network_profiles.h"

#include <gtest/gtest.h>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::op {
namespace {

api::ProfileReport Report(std::int64_t samples, double iteration, double flop,
                          std::vector<double> sent) {
  api::ProfileReport report;
  report.samples = samples;
  report.iteration_seconds = iteration;
  report.flop = flop;
  report.sent_bytes = std::move(sent);
  return report;
}

TEST(CombineTest, OneWorkersNonsenseDoesNotMoveTheJob) {
  const auto measured = Combine({Report(30, 2, 1e15, {4e9, 4e9}), Report(30, 2.1, 1e15, {4e9, 4e9}),
                                 Report(30, 80'000, 1e23, {1e14, 1e14})},
                                16, 8);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->measurement.samples, 30);
  EXPECT_EQ(measured->iteration_seconds, 2.1);
  EXPECT_EQ(measured->measurement.flop_per_iteration, 16e15);
  EXPECT_EQ(measured->measurement.sent_bytes_per_gpu, 1e9);
  EXPECT_FALSE(measured->measurement.compute_seconds);
}

TEST(CombineTest, NobodyReportsNothing) { EXPECT_FALSE(Combine({}, 16, 8)); }

TEST(LoneTransfersTest, ATimeMeasuredInContentionDoesNotTakeThePlaceOfOneMeasuredAlone) {
  const NamespacedName a{"team", "a"};
  const NamespacedName b{"team", "b"};
  LoneTransfers transfers;
  EXPECT_EQ(transfers.UncontendedSeconds(a, 0.5, 1.0), 0.5);
  EXPECT_EQ(transfers.UncontendedSeconds(a, 0.9, 0.6), 0.5);
  EXPECT_EQ(transfers.UncontendedSeconds(a, 0.4, 0.99), 0.4);
  // Never seen alone: what it measures is treated as not measured until it is.
  EXPECT_FALSE(transfers.UncontendedSeconds(b, 0.9, 0.6));
  EXPECT_EQ(transfers.UncontendedSeconds(b, 0.7, 1.0), 0.7);
  // No prediction yet, as after a start.
  EXPECT_EQ(transfers.UncontendedSeconds(b, 0.8, std::nullopt), 0.8);
  EXPECT_FALSE(transfers.UncontendedSeconds(b, std::nullopt, 1.0));
  plan::Snapshot snapshot;
  snapshot.jobs.emplace_back().job.key = a;
  transfers.KeepOnly(snapshot);
  EXPECT_EQ(transfers.UncontendedSeconds(a, 0.9, 0.6), 0.4);
  EXPECT_FALSE(transfers.UncontendedSeconds(b, 0.9, 0.6));
}

TEST(ApplyProfileTest, WorkersAreComparedWithThoseOnTheSameGpuModel) {
  plan::Snapshot snapshot = plan::MakeSnapshot(fabric::SmallHpn(1, 2, 4));
  snapshot.cluster.gpu_models = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"NVIDIA-A100", "NVIDIA-H100"});
  std::vector<fabric::HostId> hosts;
  std::map<int, std::shared_ptr<const api::Pod>> members;
  for (int rank = 0; rank < 8; ++rank) {
    hosts.emplace_back(rank);
    snapshot.cluster.hosts[hosts.back().index()].gpu_model = rank < 4 ? 0 : 1;
    api::ProfileReport report;
    report.samples = 40;
    report.compute_seconds = rank < 4 ? 2 : 1;
    auto pod = std::make_shared<api::Pod>();
    pod->node_name = snapshot.places->name(hosts.back());
    pod->metadata.annotations[api::kProfileAnnotation] = api::EncodeProfileReport(report);
    members[rank] = std::move(pod);
  }
  plan::AddJob(snapshot, "a", 8);
  plan::JobState& job = snapshot.jobs[plan::LastJob(snapshot).index()];
  LoneTransfers transfers;
  const auto compare = [&] {
    return ApplyProfile(members, *snapshot.network, snapshot.cluster, std::nullopt, transfers, job)
        .compared;
  };
  ASSERT_EQ(compare().size(), 8u);
  EXPECT_EQ(compare()[0].times, 1);
  snapshot.cluster.gpu_models = nullptr;
  EXPECT_LT(compare().back().times, 1) << "no model is known";
}

}  // namespace
}  // namespace yardmaster::op
