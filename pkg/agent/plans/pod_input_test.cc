#include "pkg/agent/plans/pod_input.h"

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::agent {
namespace {

nlohmann::json BoundPod() {
  return nlohmann::json::parse(R"({
    "metadata": {"namespace": "team", "name": "a-0", "uid": "u0", "annotations": {
      "yardmaster.dev/slot": "s", "yardmaster.dev/network-priority": "6", "other": "x"}},
    "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})");
}

TEST(ReadPod, TakesIdentityAndOurAnnotationsAsTheyStand) {
  const auto pod = ReadPod(BoundPod());
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(*pod, (PodInput{"team", "a-0", "u0", "n1", "s", "6", std::nullopt, "", false}));
}

TEST(ReadPod, PodsThatAreNoConcernOfOursAreLeftOut) {
  nlohmann::json unbound = BoundPod();
  unbound["spec"].erase("nodeName");
  EXPECT_FALSE(ReadPod(unbound).has_value());

  nlohmann::json foreign = BoundPod();
  foreign["metadata"]["annotations"] = {{"other", "x"}};
  EXPECT_FALSE(ReadPod(foreign).has_value());

  for (const char* phase : {"Succeeded", "Failed"}) {
    nlohmann::json ended = BoundPod();
    ended["status"]["phase"] = phase;
    EXPECT_FALSE(ReadPod(ended).has_value());
  }
}

TEST(ReadPod, AnAnnotationIsTakenUpToWhatItsReaderAccepts) {
  nlohmann::json pod = BoundPod();
  pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"] = std::string(200'000, 'x');
  pod["metadata"]["annotations"]["yardmaster.dev/path-plan"] = std::string(200'000, 'x');
  pod["metadata"]["annotations"]["other"] = std::string(200'000, 'x');
  const HeapMeter heap;
  const auto taken = ReadPod(pod);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->network_status.size(), 64u * 1024 + 1);
  EXPECT_LE(heap.held(), 132 << 10);
}

TEST(ReadPod, StrangeJsonIsNoPod) {
  for (const char* text : {"null", "[]", "7", R"({"metadata": 3})",
                           R"({"metadata": {"annotations": [1], "uid": {}}, "spec": "x"})"}) {
    EXPECT_FALSE(ReadPod(nlohmann::json::parse(text)).has_value()) << text;
  }
}

}  // namespace
}  // namespace yardmaster::agent
