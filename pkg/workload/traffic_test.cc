#include "pkg/workload/traffic.h"

#include <cstdlib>
#include <gtest/gtest.h>

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
  job.profile = {.flop_per_iteration = 1e15,
                 .compute_seconds = 1,
                 .data_bytes = 100,
                 .pipeline_bytes = 10,
                 .tensor_bytes = 1000,
                 .context_bytes = 40,
                 .expert_bytes = 70,
                 .measured = true};
  return job;
}

std::vector<HostId> OneEach(const Job& job) {
  std::vector<HostId> hosts;
  hosts.reserve(static_cast<std::size_t>(job.workers));
  for (int w = 0; w < job.workers; ++w) hosts.push_back(HostId(w));
  return hosts;
}

double Total(const std::vector<TrafficDemand>& connections) {
  double bytes = 0;
  for (const TrafficDemand& c : connections) bytes += c.bytes;
  return bytes;
}

TEST(TrafficTest, DataRingsGoRailByRail) {
  const Job job = MakeJob(8, 1, 3, 1, 8);
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 24u);  // three hosts, eight rails
  for (const TrafficDemand& c : connections) {
    EXPECT_EQ(c.from_rail, c.to_rail);
    EXPECT_EQ(c.to_host.value, (c.from_host.value + 1) % 3);
    EXPECT_EQ(c.bytes, 100);
  }
}

TEST(TrafficTest, AGroupOfSeveralGpusInAHostSharesItsNics) {
  const Job job = MakeJob(1, 1, 16, 1, 8);  // one ring of 16 GPUs over two hosts
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 16u);
  for (const TrafficDemand& c : connections) EXPECT_EQ(c.bytes, 100.0 / 8);
}

TEST(TrafficTest, StagesSendForwardsAndBack) {
  const Job job = MakeJob(8, 1, 1, 3, 8);
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 32u);  // 0-1 and 1-2, both ways, eight rails
  for (const TrafficDemand& c : connections) EXPECT_EQ(c.bytes, 5);
}

TEST(TrafficTest, AVirtualPipelineClosesTheCircleBetweenItsChunks) {
  Job job = MakeJob(8, 1, 1, 3, 8);
  job.parallelism.virtual_pipeline = 2;
  const auto connections = ConnectionsOf(job, OneEach(job), 8);
  EXPECT_EQ(connections.size(), 48u);
  for (const TrafficDemand& c : connections) {
    const bool circle = std::abs(c.from_host.value - c.to_host.value) == 2;
    EXPECT_EQ(c.bytes, circle ? 2.5 : 5);
  }
}

TEST(TrafficTest, NothingLeavesAHostThatHoldsAll) {
  const Job job = MakeJob(2, 2, 2, 2, 2);
  EXPECT_TRUE(ConnectionsOf(job, std::vector<HostId>(4, HostId(7)), 8).empty());
}

// Four hosts in two domains of two.
fabric::Places TwoDomains() {
  std::vector<fabric::HostPlace> hosts;
  for (int h = 0; h < 4; ++h) {
    fabric::HostPlace place;
    place.name = "h" + std::to_string(h);
    place.fabric_pod = place.segment = "s";
    place.domain = h < 2 ? "d0" : "d1";
    hosts.push_back(std::move(place));
  }
  return fabric::Places::Build(hosts).value();
}

TEST(TrafficTest, ARingEntersADomainOnceAndSpreadsOverItsNics) {
  const Job job = MakeJob(8, 1, 4, 1, 8);
  const fabric::Places places = TwoDomains();
  const auto connections = ConnectionsOf(job, OneEach(job), 8, &places);
  // Each of the eight rings goes to the other domain and back, over the NICs of two hosts.
  ASSERT_EQ(connections.size(), 8u * 2 * 2);
  EXPECT_NEAR(Total(connections), 8 * 2 * 100, 1e-6);
  for (const TrafficDemand& c : connections) {
    EXPECT_EQ(c.bytes, 50);
    EXPECT_EQ(c.from_rail, c.to_rail);
    EXPECT_NE(places.domain_of(c.from_host), places.domain_of(c.to_host));
  }
}

TEST(TrafficTest, NothingUsesANicInsideADomain) {
  const fabric::Places places = TwoDomains();
  // Tensor groups of two hosts, and experts on two hosts.
  for (const Job& job : {MakeJob(16, 1, 1, 1, 8), MakeJob(8, 2, 2, 1, 8), MakeJob(8, 1, 1, 2, 8)}) {
    EXPECT_FALSE(ConnectionsOf(job, {HostId(0), HostId(1)}, 8).empty());
    EXPECT_TRUE(ConnectionsOf(job, {HostId(0), HostId(1)}, 8, &places).empty());
    EXPECT_EQ(ConnectionsOf(job, {HostId(0), HostId(2)}, 8, &places).size(),
              ConnectionsOf(job, {HostId(0), HostId(2)}, 8).size());
  }
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
  for (const TrafficDemand& c : connections) {
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
  EXPECT_NEAR(profile.data_bytes, 2 * 3.0 / 4 * 2e9, 1);
  EXPECT_GT(profile.pipeline_bytes, 0);
  EXPECT_EQ(profile.expert_bytes, 0);
}

TEST(TrafficTest, ADescribedModelIsWhatEstimatesAreMadeOf) {
  Job job = MakeJob(8, 1, 4, 2, 8);
  job.profile = {};
  job.model.emplace();
  job.model->layers = 32;
  job.model->hidden = 4096;
  job.model->micro_batches = 16;
  const Profile profile = CompleteProfile(job);
  const ModelTraffic traffic = TrafficOfModel(*job.model, job.parallelism);
  EXPECT_EQ(profile.flop_per_iteration, traffic.flop_per_iteration);
  EXPECT_EQ(profile.data_bytes, traffic.data_bytes);
  EXPECT_EQ(profile.pipeline_bytes, traffic.pipeline_bytes);
  job.profile.data_bytes = 7;
  EXPECT_EQ(CompleteProfile(job).data_bytes, 7);
}

// Bytes between hosts of each kind against the closed formulas. One worker a host, eight GPUs.
class ModelBytesTest : public testing::Test {
 protected:
  ModelBytesTest() {
    model_.layers = 48;
    model_.hidden = 8192;
    model_.attention_heads = 64;
    model_.key_value_heads = 8;
    model_.micro_batches = 24;
    model_.recompute = true;
  }

  // What leaves hosts when only the kinds that `keep` leaves in the profile are sent.
  double Sent(const Parallelism& p, void (*keep)(const Profile& from, Profile& to)) {
    Job job;
    job.parallelism = p;
    job.workers = static_cast<int>(p.world() / 8);
    job.model = model_;
    EXPECT_EQ(Problems(job, 8), std::vector<std::string>());
    const Profile all = CompleteProfile(job);
    keep(all, job.profile);
    job.profile.measured = true;
    return Total(ConnectionsOf(job, OneEach(job), 8));
  }

  Model model_;
};

constexpr double kActivation = 4096.0 * 8192 * 2;  // s h a of a micro-batch

TEST_F(ModelBytesTest, DataRingsCarryTheGradientsOfEveryRail) {
  const auto data = [](const Profile& from, Profile& to) { to.data_bytes = from.data_bytes; };
  const double gradient = Parameters(model_) / 8 * 2;  // of one GPU
  const double once = 32 * 3.0 / 4 * gradient;         // 32 GPUs in rings of 4, one way round
  Parallelism p;
  p.tensor = 8;
  p.data = 4;
  EXPECT_NEAR(Sent(p, data) / (2 * once), 1, 1e-9);
  model_.sharding = Sharding::kOptimizer;  // scatters gradients, gathers parameters
  EXPECT_NEAR(Sent(p, data) / (2 * once), 1, 1e-9);
  model_.sharding = Sharding::kParameters;  // gathers them twice
  EXPECT_NEAR(Sent(p, data) / (3 * once), 1, 1e-9);
  model_.gradient_bytes = 4;
  EXPECT_NEAR(Sent(p, data) / (4 * once), 1, 1e-9);
}

TEST_F(ModelBytesTest, EveryBoundaryBetweenChunksIsCrossedTwiceByEachMicroBatch) {
  const auto pipeline = [](const Profile& from, Profile& to) {
    to.pipeline_bytes = from.pipeline_bytes;
  };
  Parallelism p;
  p.tensor = 8;
  p.data = 2;
  p.pipeline = 4;
  EXPECT_NEAR(Sent(p, pipeline) / (3 * 2.0 * 24 * kActivation * p.data), 1, 1e-9);
  p.virtual_pipeline = 3;
  EXPECT_NEAR(Sent(p, pipeline) / (11 * 2.0 * 24 * kActivation * p.data), 1, 1e-9);
}

TEST_F(ModelBytesTest, TensorGroupsWiderThanAHostReduceEveryLayerBetweenHosts) {
  Parallelism p;
  p.tensor = 16;
  p.data = 2;
  // Two hosts in a ring: each sends what one GPU of the ring sends.
  const double all_reduces = 4 * 24 * 48.0 * kActivation;
  EXPECT_NEAR(
      Sent(p, [](const Profile& from, Profile& to) { to.tensor_bytes = from.tensor_bytes; }) /
          (2.0 * p.data * all_reduces * 2 * 15 / 16),
      1, 1e-9);
}

TEST_F(ModelBytesTest, ContextGroupsPassKeysAndValuesRound) {
  const auto context = [](const Profile& from, Profile& to) {
    to.context_bytes = from.context_bytes;
  };
  Parallelism p;
  p.tensor = 8;
  p.context = 4;
  // A block: keys and values, an eighth of the heads each, of a quarter of the sequence. Each of 4
  // ranks sends 3 of them forwards and twice as much back, in 48 layers.
  const double block = 2 * kActivation / 8 / 4;
  EXPECT_NEAR(Sent(p, context) / (4 * 3 * 3 * block * 48 * 24), 1, 1e-9);
  p.tensor = 4;  // two ranks of a group share a host: every second step leaves it
  EXPECT_NEAR(Sent(p, context) / (2 * 3 * 3 * block * 48 * 24), 1, 1e-9);
}

TEST_F(ModelBytesTest, ExpertGroupsThatSpanHostsSendTheirTokensAllToAll) {
  model_.experts = 32;
  model_.experts_per_token = 4;
  model_.moe_every = 2;
  Parallelism p;
  p.data = 32;
  p.expert = 16;
  // Of the 16 members each sends to 15, of which 8 are in the other host; four times a MoE layer.
  const double tokens = 4 * kActivation;  // of one all-to-all, own ones included
  EXPECT_NEAR(
      Sent(p, [](const Profile& from, Profile& to) { to.expert_bytes = from.expert_bytes; }) /
          (32 * 4 * 24 * 24.0 * tokens * 8 / 16),
      1, 1e-9);
}

TEST_F(ModelBytesTest, GradientsOfExpertsAreReducedAmongThoseThatHoldThem) {
  model_.experts = 8;
  Parallelism p;
  p.data = 32;
  p.expert = 8;
  const double expert = 48 * 2 * 8192.0 * 4 * 8192 * 2;  // bytes of one expert's gradients
  // Expert k lies on GPU k of each of the four hosts: eight rings of four.
  EXPECT_NEAR(Sent(p, [](const Profile& from,
                         Profile& to) { to.expert_data_bytes = from.expert_data_bytes; }) /
                  (32 * 2 * 3.0 / 4 * expert),
              1, 1e-9);
  // The rest in one ring of 32 over four hosts.
  const double rest = (Parameters(model_) * 2 - 8 * expert);
  EXPECT_NEAR(Sent(p, [](const Profile& from, Profile& to) { to.data_bytes = from.data_bytes; }) /
                  (4 * 2 * 31.0 / 32 * rest),
              1, 1e-9);
}

TEST(TrafficTest, RanksWithoutAHostSendNothing) {
  const Job job = MakeJob(8, 1, 2, 1, 8);
  EXPECT_TRUE(ConnectionsOf(job, {HostId(0), HostId()}, 8).empty());
}

}  // namespace
}  // namespace yardmaster::workload
