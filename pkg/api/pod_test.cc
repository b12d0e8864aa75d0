#include "pkg/api/pod.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

}  // namespace
}  // namespace yardmaster::api
