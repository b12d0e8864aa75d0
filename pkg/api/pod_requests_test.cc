#include "pkg/api/pod_requests.h"

#include <ctime>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/quantity.h"
#include "pkg/api/resource_list.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_view.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using workload::AmountOf;
using workload::ResourceList;

// Of a pod with this spec (and status), without what every pod has.
ResourceList RequestsOf(const std::string& spec, const std::string& status = "{}",
                        const std::string& labels = R"({"app":"x"})") {
  const json object = {
      {"metadata", {{"name", "p"}, {"namespace", "ns"}, {"labels", json::parse(labels)}}},
      {"spec", json::parse(spec)},
      {"status", json::parse(status)}};
  const auto pod = DecodePod(object);
  EXPECT_TRUE(pod.ok()) << pod.status();
  if (!pod.ok()) return {};
  ResourceList out = pod->requests;
  EXPECT_EQ(AmountOf(out, "pods"), 1);
  workload::SetAmount(out, "pods", 0);
  return out;
}

TEST(PodRequestsTest, ContainersAreSummedCpuInMillicoresAndLimitsStandInForRequests) {
  EXPECT_EQ(
      RequestsOf(R"({"containers":[
      {"name":"a","resources":{"requests":{"cpu":"1500m","memory":"1Gi"},"limits":{"cpu":"9"}}},
      {"name":"b","resources":{"limits":{"cpu":0.3,"nvidia.com/gpu":8,"hugepages-2Mi":"4Mi"}}}]})"),
      (ResourceList{
          {"cpu", 1800}, {"hugepages-2Mi", 4 << 20}, {"memory", 1 << 30}, {"nvidia.com/gpu", 8}}));
}

TEST(PodRequestsTest, InitContainersCountAtTheirLargestSidecarsAlwaysOverheadOnTop) {
  const char* spec = R"({"overhead":{"cpu":"250m"},"containers":[
      {"name":"a","resources":{"requests":{"cpu":"2"}}}],"initContainers":[
      {"name":"i","resources":{"requests":{"cpu":"4"}}},
      {"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
      {"name":"j","resources":{"requests":{"cpu":"3500m"}}}]})";
  // max(2 + 1, 4, 1 + 3.5) + 0.25
  EXPECT_EQ(RequestsOf(spec), (ResourceList{{"cpu", 4750}}));
}

TEST(PodRequestsTest, RequestsOfTheWholePodReplaceTheSum) {
  EXPECT_EQ(RequestsOf(R"({"resources":{"requests":{"cpu":"6"},"limits":{"memory":"2Gi"}},
      "containers":[{"name":"a","resources":{"requests":{"cpu":"1","rdma/hca":"1"}}}]})"),
            (ResourceList{{"cpu", 6000}, {"memory", 2LL << 30}, {"rdma/hca", 1}}));
}

TEST(PodRequestsTest, ALimitOfTheWholePodCountsOnlyWhereNothingIsRequested) {
  EXPECT_EQ(RequestsOf(R"({"resources":{"requests":{"memory":"1Gi"},
                                        "limits":{"cpu":"9","memory":"9Gi","hugepages-2Mi":"4Mi"}},
      "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})"),
            (ResourceList{{"cpu", 1000}, {"hugepages-2Mi", 4 << 20}, {"memory", 1LL << 30}}));
}

// Any tenant may write each of these objects. Time that grows with the square of the names is a
// minute here; what is linear takes less than a second.
TEST(PodRequestsTest, ObjectsOfVeryManyNamesAreReadInLinearTime) {
  json many;
  for (int i = 0; i < 100'000; ++i) many[StrCat("hugepages-", i)] = "1";
  const json plain = {{"name", "a"}};
  const json status = {{"containerStatuses", {{{"name", "a"}, {"allocatedResources", many}}}}};
  const std::pair<json, json> cases[] = {
      {{{"overhead", many}, {"containers", {plain}}}, json::object()},
      {{{"resources", {{"limits", many}, {"requests", many}}}, {"containers", {plain}}},
       json::object()},
      {{{"containers", {plain}}}, status}};
  for (const auto& [spec, state] : cases) {
    const json pod = {{"metadata", {{"name", "p"}}}, {"spec", spec}, {"status", state}};
    JsonParser parser;
    const auto tape = parser.Parse(pod.dump());
    ASSERT_TRUE(tape.ok()) << tape.status();
    const std::clock_t begin = std::clock();
    const auto kept = DecodePod(*tape, Decoding::kLenient);
    EXPECT_LE((std::clock() - begin) / CLOCKS_PER_SEC, 5) << spec.begin().key();
    ASSERT_TRUE(kept.ok()) << kept.status();
    EXPECT_EQ(kept->requests.size(), 64u) << "the first are counted";
    EXPECT_EQ(AmountOf(kept->requests, "pods"), 1);
    EXPECT_THAT(kept->problems, testing::ElementsAre(HasSubstr("more than 64 resources")));
  }
}

TEST(PodRequestsTest, WhileAContainerIsResizedTheLargerSizeCounts) {
  EXPECT_EQ(RequestsOf(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
                       R"({"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"3"}}]})"),
            (ResourceList{{"cpu", 3000}}));
}

TEST(PodRequestsTest, HostPortsConflictAsTheSchedulerSaysTheyDo) {
  const auto port = [](const std::string& fields) {
    return RequestsOf(R"({"containers":[{"name":"a","ports":[{"containerPort":80,)" + fields +
                      "}]}]}");
  };
  const auto conflict = [](const ResourceList& a, const ResourceList& b) {
    for (const auto& [name, amount] : a) {
      if (amount + AmountOf(b, name) > RoomForExclusive(name)) return true;
    }
    return false;
  };
  const auto any = port(R"("hostPort":80)");
  const auto one = port(R"("hostPort":80,"hostIP":"10.0.0.1")");
  const auto two = port(R"("hostPort":80,"hostIP":"10.0.0.2")");
  EXPECT_TRUE(conflict(any, any));
  EXPECT_TRUE(conflict(any, one));
  EXPECT_TRUE(conflict(one, any));
  EXPECT_TRUE(conflict(one, one));
  EXPECT_FALSE(conflict(one, two));
  EXPECT_FALSE(conflict(any, port(R"("hostPort":81)")));
  EXPECT_FALSE(conflict(any, port(R"("hostPort":80,"protocol":"UDP")")));
  EXPECT_TRUE(port(R"("name":"x")").empty());
  EXPECT_EQ(RequestsOf(R"({"hostNetwork":true,"containers":[{"name":"a","ports":[
      {"containerPort":80}]}]})"),
            any);
}

TEST(PodRequestsTest, AntiAffinityToItsOwnKindIsOnePerHost) {
  const auto with = [](const std::string& term, const std::string& labels = R"({"app":"x"})") {
    return RequestsOf(
        R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
            term + "]}}}",
        "{}", labels);
  };
  const std::string host = R"("topologyKey":"kubernetes.io/hostname")";
  const auto own = with("{" + host + R"(,"labelSelector":{"matchLabels":{"app":"x"}}})");
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].amount, 1);
  EXPECT_EQ(RoomForExclusive(own[0].name), 1);
  EXPECT_EQ(with("{" + host + R"(,"labelSelector":{"matchExpressions":[
      {"key":"app","operator":"In","values":["w","x"]},{"key":"b","operator":"DoesNotExist"}]}})")
                .size(),
            1u);
  EXPECT_TRUE(with("{" + host + R"(,"labelSelector":{"matchLabels":{"app":"y"}}})").empty());
  EXPECT_TRUE(with("{" + host + "}").empty());
  EXPECT_TRUE(with("{" + host + R"(,"namespaces":["other"],"labelSelector":{}})").empty());
  EXPECT_TRUE(with(R"({"topologyKey":"zone","labelSelector":{}})").empty());
  // Another life of the same template, told apart by a label, is another kind.
  const std::string by_key =
      "{" + host + R"(,"labelSelector":{},"matchLabelKeys":["pod-template-hash"]})";
  EXPECT_NE(with(by_key, R"({"pod-template-hash":"1"})"),
            with(by_key, R"({"pod-template-hash":"2"})"));
}

TEST(PodRequestsTest, NamesOfExclusiveClaimsCannotBeAskedForAsResources) {
  for (const std::string name :
       {"yardmaster.dev/host-port-tcp-29500", "yardmaster.dev/host-port-tcp-29500-10.0.0.1",
        "yardmaster.dev/one-per-host-0123456789"}) {
    for (const std::string list : {"containers", "initContainers"}) {
      for (const std::string field : {"requests", "limits"}) {
        json container = {{"name", "c"}, {"resources", {{field, {{name, "1"}}}}}};
        const ResourceList asked = RequestsOf(json{{list, {container}}}.dump());
        EXPECT_EQ(AmountOf(asked, name), 0) << list << field;
        EXPECT_EQ(AmountOf(asked, "requests." + name), 1) << list << field;
        EXPECT_EQ(RoomForExclusive("requests." + name), 0);
      }
    }
  }
  // Beside a real host port the claim stays what the port says.
  EXPECT_EQ(AmountOf(RequestsOf(R"({"containers": [{"name": "c", "ports": [{"hostPort": 80}],
      "resources": {"requests": {"yardmaster.dev/host-port-tcp-80": "9"}}}]})"),
                     "yardmaster.dev/host-port-tcp-80"),
            RoomForExclusive("yardmaster.dev/host-port-tcp-80"));
}

TEST(PodRequestsTest, OnlyAnExtendedResourceCanBeTheGpu) {
  for (const std::string name : {"pods", "cpu", "", "yardmaster.dev/host-port-tcp-80"}) {
    ObjectMeta metadata;
    metadata.annotations["yardmaster.dev/gpu-resource"] = name;
    EXPECT_EQ(GpuResourceOf(metadata, {{"amd.com/gpu", 8}}), "amd.com/gpu") << name;
  }
}

TEST(PodRequestsTest, TheGpuIsWhatThePodAsksForOrSays) {
  const auto gpu = [](const ResourceList& requests, std::map<std::string, std::string> notes = {}) {
    ObjectMeta metadata;
    metadata.annotations = std::move(notes);
    return GpuResourceOf(metadata, requests);
  };
  EXPECT_EQ(gpu({}), "nvidia.com/gpu");
  EXPECT_EQ(gpu({{"amd.com/gpu", 8}, {"cpu", 1}}), "amd.com/gpu");
  EXPECT_EQ(gpu({{"nvidia.com/mig-1g.10gb", 2}}), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(gpu({{"amd.com/gpu", 8}}, {{"yardmaster.dev/gpu-resource", "x.y/npu"}}), "x.y/npu");
}

TEST(PodRequestsTest, WrongQuantitiesAreNamed) {
  const auto pod = DecodePod(json::parse(R"({"metadata":{"name":"p"},"spec":{"containers":[
      {"name":"a","resources":{"requests":{"cpu":"many"}}}]}})"));
  EXPECT_THAT(std::string(pod.status().message()),
              HasSubstr("spec.containers[0].resources.requests.cpu: expected a quantity"));
}

TEST(ResourceListTest, WhatIsWrittenReadsBackEqual) {
  const ResourceList amounts = {{"cpu", 1500}, {"memory", (1LL << 40) + 1}, {"rdma/hca", 8}};
  const json written = EncodeResources(amounts);
  EXPECT_EQ(written["cpu"], "1500m");
  FieldErrors errors;
  FieldReader in(&written, "", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadResources(in), amounts);
  EXPECT_TRUE(errors.empty());
}

TEST(ResourceListTest, ThousandthsAreExactAndSmallerFractionsRoundUp) {
  for (int milli = 1; milli < 5000; ++milli) {
    char text[16];
    std::snprintf(text, sizeof text, "%d.%03d", milli / 1000, milli % 1000);
    EXPECT_EQ(*ParseQuantity(text, 1000), milli) << text;
  }
  EXPECT_EQ(*ParseQuantity("0.0001", 1000), 1);
  EXPECT_EQ(*ParseQuantity("100n", 1000), 1);
  EXPECT_EQ(*ParseQuantity("8Ei"), 1LL << 53);
}

TEST(ResourceListTest, NodesGangsAndTrainingJobsCarryThem) {
  const auto node = DecodeNode(json::parse(R"({"metadata":{"name":"n"},"status":{
      "capacity":{"cpu":"100","pods":"110","amd.com/gpu":"8"},"allocatable":{"cpu":"95500m"}}})"));
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->allocatable, (ResourceList{{"amd.com/gpu", 8}, {"cpu", 95500}, {"pods", 110}}));
  const auto job = DecodeTrainingJob(json::parse(R"({"apiVersion":"yardmaster.dev/v1alpha1",
      "kind":"TrainingJob","metadata":{"name":"j","namespace":"n"},"spec":{"workers":2,
      "gpuResource":"amd.com/gpu","template":{"spec":{"containers":[{"name":"t",
      "resources":{"requests":{"cpu":"90"}}}]}}}})"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->requests, (ResourceList{{"amd.com/gpu", 8}, {"cpu", 90000}, {"pods", 1}}));
  Gang gang;
  gang.metadata.name = "g";
  gang.metadata.namespace_name = "n";
  gang.owner = {"v1", "Job", "j", "u", false};
  gang.job.gpu_resource = "amd.com/gpu";
  gang.requests = job->requests;
  const auto again = DecodeGang(EncodeGang(gang));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->requests, gang.requests);
  EXPECT_EQ(again->job.gpu_resource, "amd.com/gpu");
}

}  // namespace
}  // namespace yardmaster::api
