#include "pkg/page/cluster_page.h"

#include <chrono>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/page/testing/clusters.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::page {
namespace {

using nlohmann::json;
using placement::HostState;
using placement::Unavailability;
using testing::ElementsAre;
using testing::HasSubstr;

Blocks BlocksOf(const state::ClusterState& cluster, const NetworkPicture* picture = nullptr) {
  return page::BlocksOf(cluster, state::BuildSnapshot(cluster), picture);
}

json At(const Blocks& blocks, const std::string& key) {
  const auto found = blocks.find(key);
  return found == blocks.end() ? json() : json::parse(*found->second);
}

TEST(HostLetterTest, SaysWhatAHostIsUsedFor) {
  EXPECT_EQ(HostLetter({}, {}), 'f');
  EXPECT_EQ(HostLetter({.backup = true}, {}), 'b');
  EXPECT_EQ(HostLetter({.backup = true}, {.has_gang = true, .has_pods = true}), 'r');
  EXPECT_EQ(HostLetter({}, {.has_gang = true}), 'p');
  EXPECT_EQ(HostLetter({}, {.has_pods = true}), 'o');
  EXPECT_EQ(HostLetter({.unavailable = Unavailability::kCordoned}, {}), 'c');
  EXPECT_EQ(HostLetter({.unavailable = Unavailability::kCordoned}, {.has_gang = true}), 'd');
  EXPECT_EQ(HostLetter({.unavailable = Unavailability::kTainted}, {.has_gang = true}), 't');
  EXPECT_EQ(HostLetter({.unavailable = Unavailability::kNotReady}, {.has_pods = true}), 'x');
}

TEST(ClusterPageTest, HostsStandByPlaceWithTheirLetters) {
  state::ClusterState cluster = TwoSegments();
  Put(cluster, GangOn("bert", {"a0", "a1"}));
  PutPod(cluster, "bert-0", "a0");
  PutPod(cluster, "other", "b0");
  api::Node sick = **cluster.nodes.begin();
  sick.metadata.name = "b1";
  sick.metadata.labels["yardmaster.dev/segment"] = "b";
  sick.ready = false;
  Put(cluster, sick);
  const Blocks blocks = BlocksOf(cluster);
  EXPECT_EQ(At(blocks, "fabric"),
            json::parse(R"({"name": "f", "problem": null, "pods": [{"name": "p",
    "segments": [{"name": "a", "hosts": ["a0", "a1", "a2", "a3"]},
                 {"name": "b", "hosts": ["b0", "b1", "b2", "b3"]}]}]})"));
  EXPECT_EQ(At(blocks, "hosts/0")["states"], "rpfb");
  EXPECT_EQ(At(blocks, "hosts/1")["states"], "oxfb");
  EXPECT_EQ(At(blocks, "totals")["hosts"],
            json::parse(R"({"r": 1, "p": 1, "f": 2, "b": 2, "o": 1, "x": 1})"));
}

TEST(ClusterPageTest, SegmentsNameTheirDomainsWhereHostsHaveSome) {
  state::ClusterState cluster = TwoSegments();
  for (const char* name : {"a0", "a1"}) {
    api::Node node = *cluster.nodes.Find({"", name});
    node.metadata.labels["yardmaster.dev/domain"] = "d";
    Put(cluster, node);
  }
  const json segments = At(BlocksOf(cluster), "fabric")["pods"][0]["segments"];
  EXPECT_EQ(segments[0]["hosts"].size(), 4U);
  EXPECT_EQ(segments[0]["domains"], json::parse(R"([["a2", 1], ["a3", 1], ["d", 2]])"));
  EXPECT_EQ(segments[0]["hosts"], json::parse(R"(["a2", "a3", "a0", "a1"])"));
}

TEST(ClusterPageTest, AJobCarriesItsRanksByHostNumber) {
  state::ClusterState cluster = TwoSegments();
  api::Gang gang = GangOn("bert", {"b1", "a0", "gone"});
  gang.status.network = api::NetworkStatus{};
  gang.status.network->level = 6;
  gang.status.network->intensity = 1.23456789e15;
  Put(cluster, gang);
  const json job = At(BlocksOf(cluster), "job/demo/trainingjob-bert");
  EXPECT_EQ(job["state"], "Placed");
  EXPECT_EQ(job["workers"], 3);
  EXPECT_EQ(job["gpus"], 24);
  EXPECT_EQ(job["level"], 6);
  EXPECT_EQ(job["intensity"], 1.23e15);
  // "gone" has no Node; its place comes from the ledger.
  EXPECT_EQ(job["hosts"][0].get<int>() - job["hosts"][1].get<int>(), 5);
}

TEST(ClusterPageTest, AJobThatRentsHostsCarriesWhatItPays) {
  state::ClusterState cluster = TwoSegments();
  api::TrainingJob job;
  job.metadata.name = "cheap";
  job.metadata.namespace_name = "demo";
  Put(cluster, job);
  EXPECT_EQ(At(BlocksOf(cluster), "job/demo/trainingjob-cheap")["cost"], json());
  job.capacity.max_cost_per_hour = capacity::Money{40'000'000, "EUR"};
  Put(cluster, job);
  EXPECT_EQ(At(BlocksOf(cluster), "job/demo/trainingjob-cheap")["cost"]["rate"], "0.00 EUR");
  api::CapacityStatus& status = job.status.capacity;
  status.phase = api::RentalPhase::kProvisioned;
  status.generation = 2;
  status.currency = "EUR";
  status.rate = 24'500'000;
  status.spent = 7'250'000;
  status.moves = 1;
  api::RentedHosts& hosts = status.hosts.emplace_back();
  hosts.pool = "a";
  hosts.type = api::CapacityType::kSpot;
  hosts.hosts = hosts.provided = 2;
  Put(cluster, job);
  EXPECT_EQ(At(BlocksOf(cluster), "job/demo/trainingjob-cheap")["cost"],
            json::parse(R"({"phase": "Provisioned", "rate": "24.50 EUR", "rateCap": "40.00 EUR",
      "spent": "7.25 EUR", "spentCap": null, "moves": 1, "message": "",
      "hosts": [{"pool": "a", "type": "Spot", "hosts": 2, "provided": 2}]})"));
}

TEST(ClusterPageTest, ATrainingJobThatRanCarriesWhatIncidentsCostIt) {
  state::ClusterState cluster = TwoSegments();
  api::TrainingJob job;
  job.metadata.name = "bert";
  job.metadata.namespace_name = "demo";
  Put(cluster, job);
  EXPECT_EQ(At(BlocksOf(cluster), "job/demo/trainingjob-bert")["work"], json());
  job.status.start_ms = 1000;
  job.status.lost_gpu_seconds = {{"HostLost", 640}};
  api::Incident& incident = job.status.recovery.incidents.emplace_back();
  incident.start_ms = 5000;
  Put(cluster, job);
  EXPECT_EQ(At(BlocksOf(cluster), "job/demo/trainingjob-bert")["work"],
            json::parse(R"({"sinceMs": 1000, "untilMs": null, "stoppedMs": 5000,
      "lost": {"HostLost": 640.0}})"));
  incident.end_ms = 6000;
  job.status.completion_ms = 9000;
  Put(cluster, job);
  const json work = At(BlocksOf(cluster), "job/demo/trainingjob-bert")["work"];
  EXPECT_EQ(work["stoppedMs"], json());
  EXPECT_EQ(work["untilMs"], 9000);
}

TEST(ClusterPageTest, TheNetworkCarriesPlanesAndEachJobsShare) {
  const state::ClusterState cluster = TwoSegments();
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  NetworkPicture picture;
  picture.places = snapshot.places;
  picture.planes = {{.uplinks = 4, .shared_uplinks = 1, .gbps = 123.456, .peak = 0.5, .down = 2}};
  picture.jobs[{"demo", "trainingjob-bert"}].share = 0.98765;
  picture.jobs[{"demo", "trainingjob-gpt"}].flows = 1;
  const Blocks blocks = page::BlocksOf(cluster, snapshot, &picture);
  EXPECT_EQ(At(blocks, "network")["planes"], json::parse("[[4, 1, 123.0, 0.5, 2]]"));
  EXPECT_EQ(At(blocks, "net/demo/trainingjob-bert")["share"], 0.988);
  EXPECT_EQ(At(blocks, "net/demo/trainingjob-gpt")["share"], json());
}

TEST(ClusterPageTest, TheQueueStandsInPlanningOrderWithReasons) {
  state::ClusterState cluster = TwoSegments();
  for (const auto& [name, priority] :
       std::vector<std::pair<std::string, int>>{{"low", 1}, {"high", 9}}) {
    api::Gang gang = GangOn(name, {});
    gang.job.workers = 99;
    gang.job.parallelism.data = 99;
    gang.job.priority = priority;
    gang.status.outcome = placement::Outcome::kNever;
    gang.status.reasons = {{.count = 93, .message = "93 hosts short"}};
    gang.status.relaxations = {{"workers: 6", placement::Outcome::kPlaced}};
    Put(cluster, gang);
  }
  const Blocks blocks = BlocksOf(cluster);
  EXPECT_EQ(At(blocks, "queue"), json({"demo/trainingjob-high", "demo/trainingjob-low"}));
  const json job = At(blocks, "job/demo/trainingjob-low");
  EXPECT_EQ(job["state"], "Never");
  EXPECT_EQ(job["reasons"][0]["message"], "93 hosts short");
  EXPECT_EQ(job["relaxations"][0], json::parse(R"({"change": "workers: 6", "outcome": "Placed"})"));
}

TEST(ClusterPageTest, PodsThatAreNoWholeGangStandBehindTheQueueWithWhatTheyWaitFor) {
  state::ClusterState cluster = TwoSegments();
  api::Gang gang = GangOn("waits", {});
  gang.status.reasons = {{.message = "no room"}};
  Put(cluster, gang);
  api::Pod pod;
  pod.metadata.name = "w-0";
  pod.metadata.namespace_name = "demo";
  pod.metadata.labels = {{"batch.kubernetes.io/job-name", "w"},
                         {"batch.kubernetes.io/job-completion-index", "0"}};
  pod.metadata.annotations = {{api::kParallelismAnnotation, "tp=8,dp=4"}};
  pod.metadata.owners = {{"batch/v1", "Job", "w", "uid-w", true}};
  pod.scheduling_gates = {api::kPlacementGate};
  pod.gpu_resource = api::kGpuResource;
  pod.requests = {{api::kGpuResource, 8}};
  cluster.pods.Put(std::make_shared<const api::Pod>(pod));
  const Blocks blocks = BlocksOf(cluster);
  EXPECT_EQ(At(blocks, "queue"), json({"demo/trainingjob-waits", "demo/job-w"}));
  const json job = At(blocks, "job/demo/job-w");
  EXPECT_EQ(job["kind"], "Job");
  EXPECT_EQ(job["state"], "Incomplete");
  EXPECT_EQ(job["workers"], 4);
  ASSERT_EQ(job["reasons"].size(), 1u);
  EXPECT_THAT(job["reasons"][0]["message"].get<std::string>(),
              HasSubstr("1 of 4 pods are there, ranks 1-3 are missing"));
  EXPECT_EQ(At(blocks, "job/demo/trainingjob-waits")["reasons"][0]["message"], "no room");
}

TEST(ClusterPageTest, AReplicaThatDoesNotLeadSaysThatItKnowsNoLoads) {
  const json network = At(BlocksOf(TwoSegments()), "network");
  EXPECT_EQ(network["known"], false);
  EXPECT_THAT(network["problem"].get<std::string>(), HasSubstr("leader"));
}

TEST(ClusterPageTest, WithoutAFabricItSaysSo) {
  state::ClusterState cluster = TwoSegments();
  cluster.fabrics.clear();
  EXPECT_EQ(At(BlocksOf(cluster), "fabric")["problem"], "there is no Fabric");
  EXPECT_EQ(At(BlocksOf({}), "fabric")["pods"], json::array());
}

TEST(ClusterPageTest, NamesFromPeopleNeverBreakTheJson) {
  state::ClusterState cluster = TwoSegments();
  api::Gang gang = GangOn("bad", {});
  gang.status.reasons = {{.message = "\"</script>\xff\n"}};
  Put(cluster, gang);
  cluster.problems = {"\xc3"};
  for (const auto& [key, text] : BlocksOf(cluster)) EXPECT_TRUE(json::accept(*text)) << key;
}

TEST(ClusterPageTest, EqualClustersGiveEqualTextsAndOneHostChangesOneBlockAndTheTotals) {
  state::ClusterState cluster = LargeCluster(2, 4, 16);
  const Blocks before = BlocksOf(cluster);
  Blocks same = BlocksOf(cluster);
  ShareTexts(before, same);
  EXPECT_TRUE(SameTexts(before, same));
  api::Node node = **cluster.nodes.begin();
  node.unschedulable = true;
  Put(cluster, node);
  Blocks after = BlocksOf(cluster);
  ShareTexts(before, after);
  std::vector<std::string> changed;
  for (const auto& [key, text] : after) {
    if (before.at(key) != text) changed.push_back(key);
  }
  EXPECT_THAT(changed, ElementsAre("hosts/0", "totals"));
}

// The cost that each second of a watched page has at the size of a whole HPN cluster; the bound on
// bytes is what a browser loads at first.
TEST(ClusterPageTest, AWholeClusterFitsIntoOneMegabyte) {
  state::ClusterState cluster = LargeCluster(8, 15, 136);
  std::vector<std::string> hosts;
  for (const auto& node : cluster.nodes) hosts.push_back(node->metadata.name);
  for (std::size_t g = 0; g * 32 + 32 <= hosts.size(); ++g) {
    Put(cluster,
        GangOn(StrCat("job", g), {hosts.begin() + static_cast<std::ptrdiff_t>(g * 32),
                                  hosts.begin() + static_cast<std::ptrdiff_t>(g * 32 + 32)}));
  }
  const plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  const auto begin = std::chrono::steady_clock::now();
  const Blocks blocks = page::BlocksOf(cluster, snapshot, nullptr);
  const auto took = std::chrono::steady_clock::now() - begin;
  RecordProperty(
      "ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  std::size_t bytes = 0;
  for (const auto& [key, text] : blocks) bytes += key.size() + text->size();
  EXPECT_EQ(At(blocks, "hosts/0")["states"].get<std::string>().size(), 136u);
  EXPECT_LT(bytes, 1u << 20);
}

}  // namespace
}  // namespace yardmaster::page
