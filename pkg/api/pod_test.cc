#include "pkg/api/pod.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(PodTest, GpusAreCountedAsTheSchedulerDoes) {
  auto gpus = [](const char* spec) {
    auto pod = DecodePod(json{{"metadata", {{"name", "p"}}}, {"spec", json::parse(spec)}});
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.ok() ? pod->gpus() : -1;
  };
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":8}}}]})"), 8);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":"4"}}},
                    {"resources":{"limits":{"nvidia.com/gpu":2}}}]})"),
            6);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}],
                    "initContainers":[{"resources":{"limits":{"nvidia.com/gpu":8}}}]})"),
            8);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}],
                    "initContainers":[{"restartPolicy":"Always",
                      "resources":{"limits":{"nvidia.com/gpu":2}}},
                      {"resources":{"limits":{"nvidia.com/gpu":1}}}]})"),
            3);
  EXPECT_EQ(gpus(R"({"containers":[{"name":"x"}]})"), 0);
}

TEST(PodTest, ReadsGateNodeAffinityAndPhase) {
  auto pod = DecodePod(json::parse(R"({"metadata":{"name":"p","namespace":"ml"},
    "spec":{"nodeName":"n1","schedulingGates":[{"name":"yardmaster.dev/placement"}],
      "nodeSelector":{"a":"b"},"priority":7,"schedulerName":"s",
      "affinity":{"podAffinity":{},"nodeAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
          {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}},
      "tolerations":[{"operator":"Exists","tolerationSeconds":5}]},
    "status":{"phase":"Running"}})"));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_TRUE(pod->gated());
  EXPECT_EQ(pod->node_name, "n1");
  EXPECT_EQ(pod->metadata.namespace_name, "ml");
  EXPECT_EQ(pod->priority, 7);
  EXPECT_FALSE(pod->finished());
  ASSERT_EQ(pod->constraints.terms.size(), 1u);
  EXPECT_EQ(pod->constraints.tolerations.size(), 1u);
}

// A pod of containers "first" and "second" with these containerStatuses.
Pod PodIn(const char* phase, const json& statuses) {
  const json object = {{"metadata", {{"name", "p"}}},
                       {"spec", {{"containers", {{{"name", "first"}}, {{"name", "second"}}}}}},
                       {"status", {{"phase", phase}, {"containerStatuses", statuses}}}};
  auto pod = DecodePod(object);
  EXPECT_TRUE(pod.ok()) << pod.status();
  return pod.ok() ? *pod : Pod{};
}

json Ended(int code, const char* message = "") {
  return {{"terminated",
           {{"exitCode", code}, {"finishedAt", "2026-01-01T00:00:00Z"}, {"message", message}}}};
}

json StatusOf(const char* container, int restarts, const json& state, const json& last = {}) {
  return {{"name", container}, {"restartCount", restarts}, {"state", state}, {"lastState", last}};
}

const json kRunning = {{"running", json::object()}};

TEST(PodTest, AFinishedPodTellsTheEndOfEveryContainer) {
  const Pod pod = PodIn("Failed", json::array({StatusOf("second", 0, Ended(0)),
                                               StatusOf("first", 2, Ended(137, "{\"a\":1}"))}));
  EXPECT_TRUE(pod.finished());
  ASSERT_EQ(pod.exits.size(), 2u);
  EXPECT_EQ(pod.exits[0].container, "second");
  EXPECT_EQ(pod.exits[1].exit_code, 137);
  EXPECT_EQ(pod.exits[1].finished_ms, 1'767'225'600'000);
  EXPECT_EQ(pod.container_ends, 2) << "the end that finished the pod is not a restart";
  EXPECT_EQ(pod.end_message, "{\"a\":1}");
}

TEST(PodTest, ARunningPodTellsTheLastFailureOfItsFirstContainerOnly) {
  Pod pod =
      PodIn("Running", json::array({StatusOf("second", 9, Ended(1)),
                                    StatusOf("first", 3, kRunning, Ended(134, "no object"))}));
  EXPECT_TRUE(pod.container_running);
  EXPECT_EQ(pod.container_ends, 3);
  ASSERT_EQ(pod.exits.size(), 1u);
  EXPECT_EQ(pod.exits[0].exit_code, 134);
  EXPECT_EQ(pod.end_message, "") << "what the log says is not the message";
  pod = PodIn("Running", json::array({StatusOf("first", 1, kRunning, Ended(0, "{}"))}));
  EXPECT_TRUE(pod.exits.empty());
  EXPECT_EQ(pod.end_message, "{}");
}

// The kubelet counts a restart only when it happens.
TEST(PodTest, AFailureThatIsNotRestartedYetCountsAlready) {
  const json waiting = {{"waiting", {{"reason", "CrashLoopBackOff"}}}};
  for (const json& status :
       {StatusOf("first", 2, Ended(1)), StatusOf("first", 2, waiting, Ended(1))}) {
    const Pod pod = PodIn("Running", json::array({status}));
    EXPECT_FALSE(pod.container_running);
    EXPECT_EQ(pod.container_ends, 3) << status.dump();
  }
  EXPECT_EQ(PodIn("Running", json::array({StatusOf("first", 2, Ended(0))})).container_ends, 2);
  EXPECT_EQ(PodIn("Pending", json::array({StatusOf("first", 0, waiting)})).container_ends, 0);
}

TEST(PodTest, SaysWhenItWasBoundAndWhenItsFirstContainerBegan) {
  const json running = {{"running", {{"startedAt", "2026-01-02T03:04:06Z"}}}};
  const json ended = {
      {"terminated",
       {{"exitCode", 0}, {"startedAt", "2026-01-02T03:04:07Z"}, {"finishedAt", nullptr}}}};
  const auto pod_with = [](const char* phase, const json& state) {
    const json bound = {{"type", "PodScheduled"},
                        {"status", "True"},
                        {"lastTransitionTime", "2026-01-02T03:04:05Z"}};
    return DecodePod(json{{"metadata", {{"name", "p"}}},
                          {"spec", {{"containers", json::array({{{"name", "first"}}})}}},
                          {"status",
                           {{"phase", phase},
                            {"conditions", json::array({bound})},
                            {"containerStatuses", json::array({StatusOf("first", 0, state)})}}}})
        .value();
  };
  const std::int64_t bound_ms = ParseTime("2026-01-02T03:04:05Z").value();
  EXPECT_EQ(pod_with("Running", running).scheduled_ms, bound_ms);
  EXPECT_EQ(pod_with("Running", running).started_ms, bound_ms + 1000);
  EXPECT_EQ(pod_with("Succeeded", ended).started_ms, bound_ms + 2000);
  EXPECT_EQ(pod_with("Pending", json::object()).started_ms, 0);
}

TEST(PodTest, WithoutAReportTheFirstContainerRuns) {
  for (const json& statuses :
       {json(), json::array(), json::array({StatusOf("second", 4, Ended(1))})}) {
    const Pod pod = PodIn("Running", statuses);
    EXPECT_TRUE(pod.container_running) << statuses.dump();
    EXPECT_EQ(pod.container_ends, 0);
  }
}

TEST(PodTest, OnlyAPodForWhichNoNodeWasFoundIsUnschedulable) {
  auto unschedulable = [](const char* type, const char* status, const char* reason) {
    const json condition = {
        {"type", type}, {"status", status}, {"reason", reason}, {"message", "0/3 nodes"}};
    auto pod = DecodePod(json{{"metadata", {{"name", "p"}}},
                              {"status", {{"conditions", json::array({condition})}}}});
    EXPECT_TRUE(pod.ok()) << pod.status();
    EXPECT_EQ(pod->unschedulable_message, pod->unschedulable ? "0/3 nodes" : "");
    return pod->unschedulable;
  };
  EXPECT_TRUE(unschedulable("PodScheduled", "False", "Unschedulable"));
  EXPECT_FALSE(unschedulable("PodScheduled", "False", "SchedulingGated"));
  EXPECT_FALSE(unschedulable("PodScheduled", "True", "Unschedulable"));
  EXPECT_FALSE(unschedulable("Ready", "False", "Unschedulable"));
}

TEST(PodTest, OurGateAndThoseOfOthersAreToldApart) {
  Pod pod;
  EXPECT_FALSE(pod.gated() || pod.gated_by_others());
  pod.scheduling_gates = {kPlacementGate};
  EXPECT_TRUE(pod.gated() && !pod.gated_by_others());
  pod.scheduling_gates.push_back("kueue.x-k8s.io/admission");
  EXPECT_TRUE(pod.gated() && pod.gated_by_others());
  pod.scheduling_gates.erase(pod.scheduling_gates.begin());
  EXPECT_TRUE(!pod.gated() && pod.gated_by_others());
}

TEST(PodTest, OneThatClaimsDevicesAndAsksForNoGpuMayHaveItsGpusByThem) {
  const auto decode = [](const json& spec) {
    return *DecodePod(json{{"metadata", {{"name", "p"}}}, {"spec", spec}});
  };
  const json claims = json::array({{{"name", "g"}, {"resourceClaimTemplateName", "eight"}}});
  const json gpus =
      json::array({{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", 8}}}}}}});
  EXPECT_TRUE(decode({{"resourceClaims", claims}}).claims_gpus());
  EXPECT_FALSE(decode({{"resourceClaims", claims}, {"containers", gpus}}).claims_gpus());
  EXPECT_FALSE(decode({{"resourceClaims", json::array()}}).claims_gpus());
  EXPECT_FALSE(decode(json::object()).claims_gpus());
}

TEST(PodTest, OneWithTheClaimOfOursHasTheChannelOfItsHost) {
  const auto requests = [](const char* claim) {
    const auto pod =
        DecodePod(json{{"metadata", {{"name", "p"}}},
                       {"spec",
                        {{"resourceClaims",
                          json::array({{{"name", claim}, {"resourceClaimTemplateName", "t"}}})}}}});
    EXPECT_TRUE(pod.ok()) << pod.status();
    return workload::AmountOf(pod->requests, kChannelOfHost);
  };
  EXPECT_EQ(requests(kComputeDomainClaim), 1);
  EXPECT_EQ(requests("another"), 0);
  EXPECT_EQ(RoomForExclusive(kChannelOfHost), 1) << "of every host";
}

// So that no second pod is placed beside it.
TEST(PodTest, WhoseRequestsCannotBeReadTakesAWholeHost) {
  const json object = json::parse(R"({"metadata":{"name":"p"},"spec":{"containers":[
      {"resources":{"limits":{"nvidia.com/gpu":"some"}}}]}})");
  EXPECT_FALSE(DecodePod(object).ok());
  auto pod = DecodePod(object, Decoding::kLenient);
  ASSERT_TRUE(pod.ok()) << pod.status();
  ASSERT_FALSE(pod->problems.empty());
  EXPECT_NE(pod->problems[0].find("spec.containers[0].resources.limits[\"nvidia.com/gpu\"]"),
            std::string::npos);
  EXPECT_TRUE(pod->requests_unreadable);
  for (const char* resource : {"nvidia.com/gpu", "amd.com/gpu"}) {
    EXPECT_EQ(GpusOf(*pod, resource), kUnreadableGpus);
  }
  EXPECT_FALSE(DecodePod(json::object(), Decoding::kLenient).ok()) << "has no name";
}

TEST(PodTest, TheShapeTellsWhatAPatchFinds) {
  auto shape = [](const char* spec) {
    return DecodePod(json{{"metadata", {{"name", "p"}}}, {"spec", json::parse(spec)}})->shape;
  };
  EXPECT_EQ(shape("{}"), PodShape{});
  EXPECT_EQ(shape(R"({"tolerations":[],"affinity":{}})"),
            (PodShape{false, true, true, false, false}));
  EXPECT_EQ(shape(R"({"affinity":{"nodeAffinity":{}}})"),
            (PodShape{false, false, true, true, false}));
  EXPECT_EQ(shape(R"({"affinity":{"nodeAffinity":{
                "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}})"),
            (PodShape{false, false, true, true, true}));
}

TEST(PodTest, TheSelectedHostIsThatOfTheHostnameLabel) {
  Pod pod;
  EXPECT_EQ(pod.selected_host(), "");
  pod.constraints.node_selector = {{"kubernetes.io/hostname", "n7"}, {"zone", "x"}};
  EXPECT_EQ(pod.selected_host(), "n7");
}

TEST(PodTest, TheClaimsOfItsVolumesAreKept) {
  const json object = json::parse(R"({
    "metadata": {"name": "p", "namespace": "team"},
    "spec": {"volumes": [
      {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
      {"name": "b", "emptyDir": {}},
      {"name": "c", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}})");
  EXPECT_EQ(DecodePod(object)->volume_claims, (std::vector<std::string>{"data", "p-c"}));
}

TEST(PodTest, VolumesThatCannotBeReadNameNoClaim) {
  const json object = json::parse(R"({
    "metadata": {"name": "p", "namespace": "team"},
    "spec": {"volumes": [5, {"persistentVolumeClaim": "x"}, {"persistentVolumeClaim": {}}]}})");
  const auto pod = DecodePod(object, Decoding::kLenient);
  ASSERT_TRUE(pod.ok());
  EXPECT_TRUE(pod->volume_claims.empty());
}

}  // namespace
}  // namespace yardmaster::api
