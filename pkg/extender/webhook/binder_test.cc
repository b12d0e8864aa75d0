#include "pkg/extender/webhook/binder.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

class BinderTest : public PlannerFixture {
 protected:
  BindArgs ArgsOf(const json& pod, const std::string& node) {
    ArgsReader reader;
    const auto args = reader.ReadBind(json{
        {"PodName", pod["metadata"]["name"]},
        {"PodNamespace", pod["metadata"]["namespace"]},
        {"PodUID", pod["metadata"]["uid"]},
        {"Node", node}}.dump());
    EXPECT_TRUE(args.ok()) << args.status();
    return *args;
  }
  Binder binder_{client_};
};

TEST_F(BinderTest, AGangPodIsBoundToItsSlotsHostAndNowhereElse) {
  AddJob("a", 3);
  PassOfANewProcess();
  const std::string slot = Slots("a")[1]["host"];
  const std::string other = Slots("a")[2]["host"];
  const json pod = *client_.Find(kube::Pods(), "team", "a-1");
  const absl::Status refused = binder_.Bind(view_.get(), ArgsOf(pod, other));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("outside the pod's slot"), std::string::npos) << refused;
  EXPECT_EQ(client_.Find(kube::Pods(), "team", "a-1")->at("spec").value("nodeName", ""), "");
  EXPECT_EQ(binder_.Bind(nullptr, ArgsOf(pod, slot)).code(), absl::StatusCode::kUnavailable);
  const absl::Status bound = binder_.Bind(view_.get(), ArgsOf(pod, slot));
  EXPECT_TRUE(bound.ok()) << bound;
}

TEST(BindArgsTest, EveryKeyIsNeeded) {
  ArgsReader reader;
  for (const char* body : {"{}", R"({"PodName":"a","PodNamespace":"n","PodUID":"u","Node":""})",
                           R"({"PodName":"a","PodNamespace":"n","Node":"x"})", "[]"}) {
    EXPECT_FALSE(reader.ReadBind(body).ok()) << body;
  }
  EXPECT_EQ(EncodeBindResult(""), R"({"Error":""})");
}

}  // namespace
}  // namespace yardmaster::extender
