#include "pkg/state/cluster_state.h"

#include <thread>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::state {
namespace {

using nlohmann::json;

json Pod(const std::string& name, const std::string& uid, int version,
         const std::string& node = "") {
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", name},
                {"namespace", "team"},
                {"uid", uid},
                {"resourceVersion", std::to_string(version)}}},
              {"spec", {{"containers", json::array()}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

TEST(ClusterCacheTest, AnAssumedObjectStaysUntilTheInformerIsNotOlder) {
  ClusterCache cache;
  cache.Deliver(Kind::kPod, Pod("a", "u", 5));
  cache.Assume(Kind::kPod, Pod("a", "u", 9, "n1"));
  cache.Deliver(Kind::kPod, Pod("a", "u", 7));
  EXPECT_EQ(cache.Take().pods.front()->node_name, "n1");
  cache.Deliver(Kind::kPod, Pod("a", "u", 10, "n2"));
  EXPECT_EQ(cache.Take().pods.front()->node_name, "n2");
}

TEST(ClusterCacheTest, ALateAnswerToAWriteBringsNoDeletedObjectBack) {
  ClusterCache cache;
  cache.Deliver(Kind::kPod, Pod("a", "u", 5));
  cache.Remove(Kind::kPod, Pod("a", "u", 9));
  cache.Assume(Kind::kPod, Pod("a", "u", 7, "n1"));  // written before the deletion
  EXPECT_TRUE(cache.Take().pods.empty());
  cache.Assume(Kind::kPod, Pod("a", "v", 11));  // made again
  EXPECT_EQ(cache.Take().pods.size(), 1u);
}

TEST(ClusterCacheTest, ADeletionOfAFormerLifeLeavesTheNewOne) {
  ClusterCache cache;
  cache.Deliver(Kind::kPod, Pod("a", "old", 5));
  cache.Assume(Kind::kPod, Pod("a", "new", 12));
  cache.Remove(Kind::kPod, Pod("a", "old", 10));
  EXPECT_EQ(cache.Take().pods.front()->metadata.uid, "new");
  cache.Remove(Kind::kPod, Pod("a", "new", 13));
  EXPECT_TRUE(cache.Take().pods.empty());
}

TEST(ClusterCacheTest, AListEndsWhatItDoesNotNameAndKeepsWhatCannotBeDecoded) {
  ClusterCache cache;
  std::vector<std::string> heard;
  cache.Listen([&](Kind, const api::ObjectMeta& metadata, bool deleted) {
    heard.push_back(StrCat(deleted ? "-" : "", metadata.name));
  });
  kube::ObjectSink& pods = cache.sink(Kind::kPod);
  json bad = Pod("bad", "u", 8);
  bad["spec"]["nodeName"] = 7;
  pods.BeginList();
  for (const char* name : {"a", "b", "bad"}) pods.Listed(Pod(name, "u", 3));
  pods.EndList("4");
  heard.clear();
  pods.BeginList();
  pods.Listed(Pod("b", "u", 3));
  pods.Listed(bad);
  cache.Assume(Kind::kPod, Pod("mine", "w", 20));
  pods.EndList("15");
  const ClusterState state = cache.Take();
  EXPECT_EQ(heard, (std::vector<std::string>{"b", "bad", "-a"}));
  EXPECT_EQ(state.problems.size(), 1u);
  std::vector<std::string> names;
  for (const auto& pod : state.pods) names.push_back(pod->metadata.name);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "bad", "mine"}));
  pods.BeginList();
  pods.EndList("30");
  EXPECT_TRUE(cache.Take().problems.empty()) << "an object that is gone is not a problem any more";
}

TEST(ClusterCacheTest, AnObjectThatCannotBeDecodedIsNamedAndStopsNothing) {
  ClusterCache cache;
  json bad = Pod("bad", "u", 1);
  bad["spec"]["nodeName"] = 7;
  cache.Deliver(Kind::kPod, bad);
  cache.Deliver(Kind::kPod, Pod("good", "v", 2));
  ClusterState state = cache.Take();
  EXPECT_EQ(state.pods.size(), 2u)
      << "a pod that is read in part is kept, so that it holds what it may hold";
  ASSERT_EQ(state.problems.size(), 1u);
  EXPECT_EQ(state.problems[0].rfind("Pod team/bad: ", 0), 0u) << state.problems[0];
  cache.Deliver(Kind::kPod, Pod("bad", "u", 3));
  EXPECT_TRUE(cache.Take().problems.empty());
}

// Seen by the problem that a state has once it is read.
TEST(ClusterCacheTest, AStateThatIsHeldIsNotReadAgain) {
  json unreadable = Pod("a", "u", 5);
  unreadable["spec"] = 5;
  ClusterCache cache;
  kube::ObjectSink& pods = cache.sink(Kind::kPod);
  cache.Assume(Kind::kPod, Pod("a", "u", 5, "n1"));  // the answer to a write
  const auto written = cache.FindPod("team/a");
  ASSERT_NE(written, nullptr);
  pods.Put(unreadable);  // the watch brings it back
  pods.BeginList();
  pods.Listed(unreadable);
  pods.EndList("6");
  EXPECT_EQ(cache.FindPod("team/a"), written);
  EXPECT_TRUE(cache.Take().problems.empty());

  unreadable["metadata"]["uid"] = "another";
  pods.Put(unreadable);
  EXPECT_EQ(cache.Take().problems.size(), 1u);
}

// During an upgrade the CRDs are the first to be new: their defaults add fields that this version
// does not know.
TEST(ClusterCacheTest, FieldsOfANewerVersionHideNoJobAndNoFabric) {
  ClusterCache cache;
  cache.Deliver(Kind::kTrainingJob, json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "team", "uid": "u", "resourceVersion": "3"},
    "spec": {"workers": 2, "fromTheFuture": {"mode": "Warp"}}})"));
  cache.Deliver(Kind::kFabric, json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1",
    "kind": "Fabric", "metadata": {"name": "f", "uid": "w", "resourceVersion": "4"},
    "spec": {"wormholes": 1}})"));
  const ClusterState state = cache.Take();
  EXPECT_EQ(state.problems, std::vector<std::string>());
  ASSERT_EQ(state.jobs.size(), 1u);
  EXPECT_EQ(state.jobs.front()->job.workers, 2);
  EXPECT_EQ(state.fabrics.size(), 1u);
}

TEST(ClusterCacheTest, AWaiterWakesAtAChangeAndAtAStop) {
  ClusterCache cache;
  const std::uint64_t seen = cache.version();
  std::jthread feeder([&] { cache.Deliver(Kind::kPod, Pod("a", "u", 1)); });
  EXPECT_NE(cache.WaitForChange(seen, 60'000, {}), seen);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(cache.WaitForChange(cache.version(), 60'000, stop.get_token()), cache.version());
}

TEST(ClusterCacheTest, ANewVersionWithNothingNewInItWakesNoWaiter) {
  ClusterCache cache;
  const auto node = [](int version, const char* heartbeat, bool cordoned) {
    return json{
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata", {{"name", "n"}, {"uid", "u"}, {"resourceVersion", StrCat(version)}}},
        {"spec", {{"unschedulable", cordoned}}},
        {"status",
         {{"conditions",
           json::array(
               {{{"type", "Ready"}, {"status", "True"}, {"lastHeartbeatTime", heartbeat}}})}}}};
  };
  cache.Deliver(Kind::kNode, node(1, "2026-01-01T00:00:00Z", false));
  const std::uint64_t seen = cache.version();
  cache.Deliver(Kind::kNode, node(2, "2026-01-01T00:05:00Z", false));
  EXPECT_EQ(cache.version(), seen);
  EXPECT_EQ(cache.Take().nodes.front()->metadata.resource_version, "2")
      << "for writes that test it";
  cache.Deliver(Kind::kNode, node(3, "2026-01-01T00:05:00Z", true));
  EXPECT_NE(cache.version(), seen);
}

// Twenty suspended jobs with templates of any size, as a tenant may write them.
TEST(ClusterCacheTest, TemplatesOfAnySizeCostWhatIsUsedOfThem) {
  const auto deliver = [](ClusterCache& cache, std::size_t bytes) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = StrCat("j", i);
      const json container = {{"name", "c"}, {"image", "i"}, {"args", {std::string(bytes, 'x')}}};
      const json job = {{"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}},
                        {"spec",
                         {{"workers", 2},
                          {"suspend", true},
                          {"template", {{"spec", {{"containers", {container}}}}}}}}};
      cache.Deliver(Kind::kTrainingJob, job);
    }
  };
  const struct {
    Templates templates;
    std::size_t bytes;
    std::size_t jobs;
    std::int64_t most;
  } cases[] = {{Templates::kDrop, 200'000, 20, 20 * (16 << 10)},
               {Templates::kKeep, 200'000, 20, 20 * (216 << 10)},
               {Templates::kDrop, 1'300'000, 0, 20 * (16 << 10)},
               {Templates::kKeep, 1'300'000, 0, 20 * (16 << 10)}};
  for (const auto& [templates, bytes, jobs, most] : cases) {
    const HeapMeter heap;
    ClusterCache cache(templates);
    deliver(cache, bytes);
    EXPECT_EQ(cache.Take().jobs.size(), jobs);
    EXPECT_EQ(
        cache.ProblemOf(Kind::kTrainingJob, "team/j0").find("spec.template") == std::string::npos,
        jobs > 0);
    EXPECT_LE(heap.held(), most) << bytes;
  }
}

TEST(ClusterCacheTest, PodsWithAnnotationsOfOthersCostNoMoreThanPods) {
  const HeapMeter heap;
  ClusterCache cache;
  for (int i = 0; i < 200; ++i) {
    json pod = Pod(StrCat("p", i), StrCat("u", i), 5 + i);
    pod["metadata"]["annotations"] = {{"note", std::string(250'000, 'x')}};
    cache.Deliver(Kind::kPod, pod);
  }
  EXPECT_EQ(cache.Take().pods.size(), 200u);
  EXPECT_LE(heap.held(), 200 * (4 << 10));
}

}  // namespace
}  // namespace yardmaster::state
