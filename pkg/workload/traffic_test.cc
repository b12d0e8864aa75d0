#include "pkg/workload/traffic.h"

#include <gtest/gtest.h>
#include <numeric>

namespace yardmaster::workload {
namespace {

using fabric::HostId;

Job MakeJob(int tensor, int expert, int data, int pipeline, int gpus_per_worker) {
  Job job;
  job.parallelism.tensor = tensor;
  job.parallelism.expert = expert;
  job.parallelism.data = data;
  job.parallelism.pipeline = pipeline;
  job.gpus_per_worker = gpus_per_worker;
  job.workers = static_cast<int>(job.parallelism.world() / gpus_per_worker);
  job.profile = {1e15, 1, 0.5, 100, 10, 1000, 70, true};
  return job;
}

std::vector<HostId> OneEach(const Job& job) {
  std::vector<HostId> hosts;
  for (int w = 0; w < job.workers; ++w) hosts.push_back(HostId(w));
  return hosts;
}

double Total(const std::vector<Connection>& connections) {
  double bytes = 0;
  for (const Connection& c : connections) bytes += c.bytes;
  return bytes;
}

TEST(TrafficTest, DataRingsGoRailByRail) {
  const Job job = MakeJob(8, 1, 3, 1, 8);
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 24u);  // three hosts, eight rails
  for (const Connection& c : connections) {
    EXPECT_EQ(c.from_rail, c.to_rail);
    EXPECT_EQ(c.to_host.value, (c.from_host.value + 1) % 3);
    EXPECT_EQ(c.bytes, 100);
  }
}

TEST(TrafficTest, AGroupOfSeveralGpusInAHostSharesItsNics) {
  const Job job = MakeJob(1, 1, 16, 1, 8);  // one ring of 16 GPUs over two hosts
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 16u);
  for (const Connection& c : connections) EXPECT_EQ(c.bytes, 100.0 / 8);
}

TEST(TrafficTest, StagesSendForwardsAndBack) {
  const Job job = MakeJob(8, 1, 1, 3, 8);
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 32u);  // 0-1 and 1-2, both ways, eight rails
  for (const Connection& c : connections) EXPECT_EQ(c.bytes, 5);
}

TEST(TrafficTest, AVirtualPipelineClosesTheCircle) {
  Job job = MakeJob(8, 1, 1, 3, 8);
  job.parallelism.virtual_pipeline = 2;
  EXPECT_EQ(ConnectionsOf(job, OneEach(job), 8).size(), 48u);
}

TEST(TrafficTest, NothingLeavesAHostThatHoldsAll) {
  const Job job = MakeJob(2, 2, 2, 2, 2);
  EXPECT_TRUE(ConnectionsOf(job, std::vector<HostId>(4, HostId(7)), 8).empty());
}

TEST(TrafficTest, ExpertsSendAllToAll) {
  Job job = MakeJob(8, 4, 4, 1, 8);
  job.profile.data_bytes = 0;
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 4u * 3 * 8);
  EXPECT_NEAR(Total(connections), 32 * 70, 1e-6);
}

TEST(TrafficTest, WorkersOnOneHostUseDifferentRails) {
  const Job job = MakeJob(2, 1, 4, 1, 2);
  const std::vector<HostId> hosts = {HostId(0), HostId(0), HostId(1), HostId(1)};
  const auto connections = ConnectionsOf(job, hosts, 8);
  std::vector<int> rails;
  for (const Connection& c : connections) {
    if (c.from_host == HostId(0)) rails.push_back(c.from_rail);
  }
  EXPECT_EQ(rails, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(connections[2].from_rank, 1);
}

TEST(TrafficTest, UnknownProfilesAreEstimatedAndMeasuredOnesKept) {
  Job job = MakeJob(8, 1, 4, 2, 8);
  EXPECT_EQ(CompleteProfile(job).data_bytes, 100);
  job.profile.pipeline_bytes = 0;
  EXPECT_EQ(CompleteProfile(job).pipeline_bytes, 0);  // measured: there is none
  job.profile = {};
  const Profile profile = CompleteProfile(job);
  EXPECT_GT(profile.flop_per_iteration, 1e14);
  EXPECT_GT(profile.compute_seconds, 0.01);
  EXPECT_LT(profile.compute_seconds, 100);
  EXPECT_DOUBLE_EQ(profile.data_bytes, 2 * 3.0 / 4 * 2e9);
  EXPECT_GT(profile.pipeline_bytes, 0);
  EXPECT_EQ(profile.expert_bytes, 0);
}

TEST(TrafficTest, ADescribedModelIsWhatEstimatesAreMadeOf) {
  Job job = MakeJob(8, 1, 4, 2, 8);
  job.profile = {};
  Model model;
  model.layers = 32;
  model.hidden = 4096;
  model.micro_batches = 16;
  const Profile profile = CompleteProfile(job, model);
  const ModelTraffic traffic = TrafficOfModel(model, job.parallelism);
  EXPECT_EQ(profile.flop_per_iteration, traffic.flop_per_iteration);
  EXPECT_EQ(profile.data_bytes, traffic.data_bytes);
  EXPECT_EQ(profile.pipeline_bytes, traffic.pipeline_bytes);
  job.profile.data_bytes = 7;
  EXPECT_EQ(CompleteProfile(job, model).data_bytes, 7);
}

TEST(TrafficTest, RanksWithoutAHostSendNothing) {
  const Job job = MakeJob(8, 1, 2, 1, 8);
  EXPECT_TRUE(ConnectionsOf(job, {HostId(0), HostId()}, 8).empty());
}

}  // namespace
}  // namespace yardmaster::workload
