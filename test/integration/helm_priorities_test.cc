// Who may give a gang which priority, as the chart's policies have it on a real API server: nobody
// takes hosts from another namespace's jobs by a number or a class that its author chose.
#include "gmock/gmock.h"

#include "test/integration/helm_fixture.h"

namespace yardmaster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kGate[] = R"("schedulingGates": [{"name": "yardmaster.dev/placement"}], )";

// What the API server says to an object of a user with the role `edit` in `ns` and nowhere else;
// empty: it takes it.
class HelmPrioritiesTest : public HelmTest {
 protected:
  static void SetUpTestSuite() {
    HelmTest::SetUpTestSuite();
    for (const char* ns : {"poor", "urgent", "rich"}) {
      ASSERT_TRUE(plane_->Kubectl({"create", "namespace", ns}).ok());
      ASSERT_TRUE(plane_
                      ->Kubectl({"create", "rolebinding", "tenant", "-n", ns, "--clusterrole=edit",
                                 StrCat("--user=tenant-", ns)})
                      .ok());
    }
    for (const auto& [name, value] : {std::pair{"gold", 5000}, {"silver", 700}, {"low", -10}}) {
      ASSERT_TRUE(
          plane_->Kubectl({"create", "priorityclass", name, StrCat("--value=", value)}).ok());
    }
    ASSERT_TRUE(
        plane_->Kubectl({"annotate", "namespace", "urgent", "yardmaster.dev/max-priority=1000"})
            .ok());
    ASSERT_TRUE(plane_
                    ->Kubectl({"annotate", "namespace", "rich",
                               "yardmaster.dev/priority-classes=gold, system-node-critical"})
                    .ok());
    // The policies and what they read of namespaces and classes are in force after some seconds.
    ASSERT_TRUE(Eventually([] { return !Job("poor", R"("priority": 1)").empty(); }));
    ASSERT_TRUE(Eventually([] { return Job("urgent", R"("priority": 1000)").empty(); }));
    ASSERT_TRUE(Eventually([] { return !Job("poor", R"("priorityClassName": "gold")").empty(); }));
    ASSERT_TRUE(Eventually([] { return Job("rich", R"("priorityClassName": "gold")").empty(); }));
    ASSERT_TRUE(Eventually([] { return !Pod("poor", kGate, "gold").empty(); }));
  }

  static std::string Create(const std::string& ns, const std::string& object) {
    return MessageOf(plane_
                         ->Kubectl({"create", "-n", ns, "--dry-run=server", "-f", "-",
                                    StrCat("--as=tenant-", ns)},
                                   object)
                         .status());
  }
  static std::string Job(const std::string& ns, const std::string& spec,
                         const std::string& pod_spec = "") {
    return Create(ns, StrCat(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",)",
                             R"("metadata": {"name": "j"}, "spec": {)", spec,
                             R"(, "template": {"spec": {)", pod_spec, R"("containers": [)",
                             R"({"name": "t", "image": "registry.example/t"}]}}}})"));
  }
  static std::string Pod(const std::string& ns, const std::string& spec, const std::string& cls,
                         const std::string& metadata = "") {
    return Create(ns, StrCat(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {)", metadata,
                             R"("name": "p"}, "spec": {)", spec, R"("priorityClassName": ")", cls,
                             R"(", "automountServiceAccountToken": false, "containers": [)",
                             R"({"name": "c", "image": "registry.example/c"}]}})"));
  }
};

TEST_F(HelmPrioritiesTest, NoNumberAboveZeroUnlessTheNamespaceMay) {
  EXPECT_THAT(Job("poor", R"("priority": 1000)"),
              HasSubstr("spec.priority: is 1000 and may be 0 to 0 in this namespace"));
  EXPECT_THAT(Job("poor", R"("priority": -1)"), HasSubstr("spec.priority: is -1"));
  EXPECT_EQ(Job("poor", R"("priority": 0)"), "");
  EXPECT_EQ(Job("urgent", R"("priority": 1000)"), "");
  EXPECT_THAT(Job("urgent", R"("priority": 1001)"), HasSubstr("may be 0 to 1000"));
  EXPECT_THAT(Job("urgent", R"("priority": 5, "priorityClassName": "low")"),
              HasSubstr("leave priority out"));
}

TEST_F(HelmPrioritiesTest, ATrainingJobNamesClassesThatItsNamespaceMayHave) {
  for (const char* cls : {"gold", "silver", "system-node-critical", "system-cluster-critical"}) {
    EXPECT_THAT(Job("poor", StrCat(R"("priorityClassName": ")", cls, "\"")),
                HasSubstr(StrCat("spec.priorityClassName: ", cls, " is ")));
    EXPECT_THAT(Job("poor", R"("workers": 1)", StrCat(R"("priorityClassName": ")", cls, R"(", )")),
                HasSubstr(StrCat("spec.priorityClassName: ", cls, " is ")));
  }
  EXPECT_EQ(Job("poor", R"("priorityClassName": "low")"), "");
  EXPECT_EQ(Job("urgent", R"("priorityClassName": "silver")"), "");
  EXPECT_THAT(Job("urgent", R"("priorityClassName": "gold")"), HasSubstr("go to 1000"));
  EXPECT_EQ(Job("rich", R"("priorityClassName": "gold")"), "");
  EXPECT_THAT(Job("rich", R"("priorityClassName": "silver")"), HasSubstr("take one of [gold]"));
  EXPECT_THAT(Job("rich", R"("priorityClassName": "system-node-critical")"),
              HasSubstr("take one of [gold]"));
}

TEST_F(HelmPrioritiesTest, SoDoPodsOfAGangWhoeverMakesThemAndOtherPodsAreLeftAlone) {
  const std::string asks = R"("annotations": {"yardmaster.dev/parallelism": "dp=1"}, )";
  const std::string worker = R"("labels": {"yardmaster.dev/job": "j"}, )";
  EXPECT_THAT(Pod("poor", kGate, "system-node-critical"),
              HasSubstr("system-node-critical is 2000"));
  EXPECT_THAT(Pod("poor", "", "gold", asks), HasSubstr("gold is 5000"));
  EXPECT_THAT(Pod("poor", "", "gold", worker), HasSubstr("gold is 5000"));
  EXPECT_EQ(Pod("poor", "", "gold"), "");
  EXPECT_EQ(Pod("poor", kGate, "low"), "");
  EXPECT_EQ(Pod("urgent", kGate, "silver"), "");
  EXPECT_EQ(Pod("rich", kGate, "gold"), "");
  EXPECT_THAT(Pod("rich", kGate, "system-node-critical"), HasSubstr("take one of [gold]"));
}

TEST_F(HelmPrioritiesTest, APodDoesNotBecomeAGangsLater) {
  const std::string pod = StrCat(
      R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "namespace": "poor"},)",
      R"("spec": {"priorityClassName": "gold", "automountServiceAccountToken": false,)",
      R"("containers": [{"name": "c", "image": "registry.example/c"}]}})");
  ASSERT_TRUE(plane_->Apply(pod).ok());
  const auto change = [](const std::string& what, const std::string& value) {
    return MessageOf(
        plane_->Kubectl({what, "pod", "late", "-n", "poor", value, "--as=tenant-poor"}).status());
  };
  EXPECT_THAT(change("annotate", "yardmaster.dev/parallelism=dp=1"), HasSubstr("gold is 5000"));
  EXPECT_THAT(change("label", "yardmaster.dev/job=j"), HasSubstr("gold is 5000"));
  EXPECT_EQ(change("label", "team=blue"), "");
}

TEST_F(HelmPrioritiesTest, TenantsDoNotRaiseTheirOwnLimits) {
  for (const char* note :
       {"yardmaster.dev/max-priority=9", "yardmaster.dev/priority-classes=gold"}) {
    EXPECT_THAT(
        MessageOf(
            plane_->Kubectl({"annotate", "namespace", "poor", note, "--as=tenant-poor"}).status()),
        HasSubstr("cannot patch resource \"namespaces\""));
  }
}

}  // namespace
}  // namespace yardmaster::testing
