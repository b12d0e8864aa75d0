#include "pkg/extender/webhook/webhook.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

class WebhookTest : public PlannerFixture {
 protected:
  void PublishView() {
    PassOfANewProcess();
    webhook_.Publish(view_);
  }
  static json OrdinaryPod(int gpus) {
    return {{"metadata", {{"name", "single"}, {"namespace", "team"}, {"uid", "u"}}},
            {"spec",
             {{"containers",
               json::array(
                   {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, gpus}}}}}}})}}}};
  }
  json Filter(const json& pod, const json& names) {
    auto answer = webhook_.Filter(json{{"Pod", pod}, {"NodeNames", names}}.dump());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? json::parse(*answer) : json();
  }
  static json AllNodes() {
    json names = json::array();
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) names.push_back(NodeName(s, h));
    }
    return names;
  }
  Webhook webhook_;
};

TEST_F(WebhookTest, BeforeTheFirstViewFilterSaysSoAndTheOthersAnswerEmpty) {
  EXPECT_FALSE(webhook_.ready());
  EXPECT_NE(Filter(OrdinaryPod(8), AllNodes())["Error"], "");
  const std::string body = json{{"Pod", OrdinaryPod(8)}, {"NodeNames", AllNodes()}}.dump();
  const json scores = json::parse(*webhook_.Prioritize(body));
  ASSERT_EQ(scores.size(), AllNodes().size());
  for (const json& score : scores) EXPECT_EQ(score["Score"], 0);
  const auto kept = webhook_.Preempt(
      json{{"Pod", OrdinaryPod(8)}, {"NodeNameToMetaVictims", {{"s0h0", {{"Pods", {}}}}}}}.dump());
  EXPECT_TRUE(json::parse(*kept)["NodeNameToMetaVictims"].empty());
}

TEST_F(WebhookTest, MalformedBodiesAreErrorsThatNameTheField) {
  PublishView();
  const struct {
    std::string body;
    const char* names;
  } bad[] = {{"", "body"},
             {"{", "body"},
             {"[]", "body"},
             {"null", "body"},
             {"{}", "Pod"},
             {R"({"Pod": 3, "NodeNames": []})", "Pod"},
             {R"({"Pod": {"metadata": {"name": "x"}}})", "NodeNames"},
             {R"({"Pod": {"metadata": {"name": "x"}}, "NodeNames": "n"})", "NodeNames"},
             {R"({"Pod": {"metadata": {"name": "x"}}, "NodeNames": [1]})", "NodeNames"},
             {R"({"Pod": {"metadata": {}}, "NodeNames": []})", "metadata.name"},
             {R"({"Pod": {"metadata": {"name": "x"}, "spec": {"containers": 1}}, "NodeNames": []})",
              "spec.containers"}};
  for (const auto& [body, names] : bad) {
    for (const auto& answer : {webhook_.Filter(body), webhook_.Prioritize(body)}) {
      ASSERT_FALSE(answer.ok()) << body;
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument) << body;
      EXPECT_NE(answer.status().message().find(names), std::string::npos)
          << body << ": " << answer.status();
    }
  }
  EXPECT_FALSE(webhook_.Preempt(R"({"Pod": {"metadata": {"name": "x"}}})").ok());
  EXPECT_FALSE(
      webhook_.Preempt(R"({"Pod": {"metadata": {"name": "x"}}, "NodeNameToMetaVictims": []})")
          .ok());
}

TEST_F(WebhookTest, DeepNestingAndInvalidTextAreErrorsAndNoCrash) {
  PublishView();
  EXPECT_FALSE(webhook_.Filter(std::string(100'000, '[')).ok());
  EXPECT_FALSE(webhook_.Filter("{\"Pod\": {\"metadata\": {\"name\": \"\xff\xfe\"}}}").ok());
  const json deep = json::parse(R"({"metadata": {"name": "x", "annotations": {"a": "b"}}})");
  EXPECT_TRUE(Filter(deep, AllNodes()).is_object());
}

TEST_F(WebhookTest, InObserveModeEveryNodePassesAndNoneIsPreferred) {
  const Webhook observing(Webhook::Options{.passes_all = true});
  json gang_pod = OrdinaryPod(8);
  gang_pod["metadata"]["annotations"] = {{api::kParallelismAnnotation, "tp=8,dp=2"}};
  for (const json& pod : {OrdinaryPod(8), gang_pod}) {
    const std::string body = json{{"Pod", pod}, {"NodeNames", AllNodes()}}.dump();
    const json passed = json::parse(*observing.Filter(body));
    EXPECT_EQ(passed["NodeNames"], AllNodes()) << passed;
    EXPECT_EQ(passed.value("Error", ""), "");
    for (const json& score : json::parse(*observing.Prioritize(body))) {
      EXPECT_EQ(score["Score"], 0);
    }
    const auto kept = observing.Preempt(
        json{{"Pod", pod}, {"NodeNameToMetaVictims", {{"s0h0", {{"Pods", {}}}}}}}.dump());
    EXPECT_TRUE(json::parse(*kept)["NodeNameToMetaVictims"].contains("s0h0"));
  }
}

TEST_F(WebhookTest, WhereTheGateIsOnInSomeNamespacesPodsOfTheOthersAreOrdinary) {
  PassOfANewProcess();
  Webhook webhook(Webhook::Options{.gated_only = true});
  webhook.Publish(view_);
  json pod = OrdinaryPod(8);
  pod["metadata"]["annotations"] = {{api::kParallelismAnnotation, "tp=8,dp=2"}};
  const auto passes = [&] {
    const auto answer = webhook.Filter(json{{"Pod", pod}, {"NodeNames", AllNodes()}}.dump());
    return !json::parse(*answer)["NodeNames"].empty();
  };
  EXPECT_TRUE(passes());
  pod["spec"]["schedulingGates"] = json::array({{{"name", api::kPlacementGate}}});
  EXPECT_FALSE(passes()) << "its gang is not planned";
}

TEST_F(WebhookTest, NodesThatNobodyKnowsAreNotOursToRefuse) {
  PublishView();
  const json answer = Filter(OrdinaryPod(8), json::array({"elsewhere", NodeName(0, 0)}));
  EXPECT_EQ(answer["NodeNames"], json::array({"elsewhere", NodeName(0, 0)}));
  EXPECT_EQ(Filter(OrdinaryPod(8), json::array())["NodeNames"], json::array());
}

TEST_F(WebhookTest, FullNodeObjectsAreAnsweredByTheObjectsThatFit) {
  PublishView();
  const auto node = [](const std::string& name) {
    return json{{"metadata", {{"name", name}, {"labels", {{"a", "b"}}}}}};
  };
  const std::string backup = NodeName(0, 3);
  auto answer = webhook_.Filter(
      json{{"Pod", OrdinaryPod(8)},
           {"NodeNames", nullptr},
           {"Nodes", {{"items", json::array({node("n"), node(backup), node(NodeName(0, 0))})}}}}
          .dump());
  ASSERT_TRUE(answer.ok());
  const json result = json::parse(*answer);
  EXPECT_EQ(result["Error"], "");
  EXPECT_EQ(result["Nodes"]["items"], json::array({node("n"), node(NodeName(0, 0))}));
  EXPECT_TRUE(result["FailedAndUnresolvableNodes"].contains(backup));
}

TEST_F(WebhookTest, NullAndEmptyListsAreAnswered) {
  PublishView();
  const json pod = OrdinaryPod(8);
  for (const json& body :
       {json{{"Pod", pod}, {"NodeNames", nullptr}, {"Nodes", nullptr}},
        json{{"Pod", pod}, {"NodeNames", json::array()}, {"Nodes", nullptr}},
        json{{"Pod", pod}, {"NodeNames", nullptr}, {"Nodes", {{"items", nullptr}}}},
        json{{"Pod", pod}, {"NodeNames", nullptr}, {"Nodes", {{"items", json::array()}}}}}) {
    const auto answer = webhook_.Filter(body.dump());
    ASSERT_TRUE(answer.ok()) << body << ": " << answer.status();
    EXPECT_EQ(json::parse(*answer)["NodeNames"], json::array());
    EXPECT_EQ(json::parse(*answer)["Error"], "");
    EXPECT_EQ(*webhook_.Prioritize(body.dump()), "[]");
  }
  for (const json& body : {json{{"Pod", pod}, {"NodeNameToMetaVictims", nullptr}},
                           json{{"Pod", pod}, {"NodeNameToMetaVictims", json::object()}}}) {
    const auto answer = webhook_.Preempt(body.dump());
    ASSERT_TRUE(answer.ok()) << body << ": " << answer.status();
    EXPECT_TRUE(json::parse(*answer)["NodeNameToMetaVictims"].empty());
  }
}

TEST_F(WebhookTest, AGangPodPassesOnItsSlotOnlyAndAnOrdinaryOneNeverThere) {
  AddJob("a", 3);
  PublishView();
  const std::string slot = Slots("a")[1]["host"];
  const json pod = *client_.Find(kube::Pods(), "team", "a-1");
  EXPECT_EQ(Filter(pod, AllNodes())["NodeNames"], json::array({slot}));
  const json free = Filter(OrdinaryPod(1), AllNodes())["NodeNames"];
  EXPECT_EQ(free.size(), 3u) << "two backup hosts and the gang's three are closed";
  for (const json& taken : Slots("a")) {
    EXPECT_EQ(std::find(free.begin(), free.end(), taken["host"]), free.end());
  }
}

TEST_F(WebhookTest, APodWithCopiedLabelsAndWithoutAControllerGetsNoSlot) {
  AddJob("a", 3);
  PublishView();
  json pod = *client_.Find(kube::Pods(), "team", "a-1");
  pod["metadata"].erase("ownerReferences");
  EXPECT_EQ(Filter(pod, AllNodes())["NodeNames"], json::array());
}

TEST_F(WebhookTest, PodsThatAskForNoGpuPass) {
  AddJob("a", 6);
  PublishView();
  EXPECT_EQ(Filter(OrdinaryPod(0), AllNodes())["NodeNames"], AllNodes());
}

TEST_F(WebhookTest, GpusThatHostsAreCountedByCountWhateverThePodCallsItsGpus) {
  AddJob("a", 6);
  PublishView();
  json pod = OrdinaryPod(8);
  pod["metadata"]["annotations"][api::kGpuResourceAnnotation] = "example.com/other";
  EXPECT_EQ(Filter(pod, AllNodes())["NodeNames"], json::array()) << "all are promised or backup";
  pod["spec"]["containers"][0]["resources"]["limits"][api::kGpuResource] = "4611686018427387904";
  EXPECT_EQ(Filter(pod, AllNodes())["NodeNames"], json::array());
}

TEST_F(WebhookTest, SixteenThousandNamesAreAnsweredInFull) {
  PublishView();
  json names = json::array();
  for (int i = 0; i < 16'320; ++i) names.push_back(StrCat("node-", i));
  names.push_back(NodeName(0, 3));
  const json answer = Filter(OrdinaryPod(8), names);
  EXPECT_EQ(answer["NodeNames"].size(), 16'320u);
  const json failed = answer["FailedAndUnresolvableNodes"];
  EXPECT_TRUE(failed.contains(NodeName(0, 3))) << "a backup host";
}

TEST_F(WebhookTest, PreemptionNeverTakesAPodOfAGangBecauseItsSlotStaysPromised) {
  AddJob("a", 6);
  PassOfANewProcess();
  RunReleasedPods();
  PublishView();
  const json gang_pod = *client_.Find(kube::Pods(), "team", "a-0");
  const std::string host = gang_pod["spec"]["nodeName"];
  auto answer = webhook_.Preempt(
      json{{"Pod", OrdinaryPod(8)},
           {"NodeNameToMetaVictims",
            {{host, {{"Pods", json::array({{{"UID", gang_pod["metadata"]["uid"]}}})}}}}}}
          .dump());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(json::parse(*answer)["NodeNameToMetaVictims"].empty()) << *answer;
}

TEST_F(WebhookTest, PreemptionOfOrdinaryPodsIsKeptWhereItMakesRoom) {
  json small = OrdinaryPod(4);
  small["spec"]["nodeName"] = NodeName(0, 0);
  small["status"]["phase"] = "Running";
  small["metadata"]["uid"] = "small";
  client_.Seed(kube::Pods(), small);
  PublishView();
  const auto kept = [&](int gpus) {
    auto answer = webhook_.Preempt(
        json{{"Pod", OrdinaryPod(gpus)},
             {"NodeNameToMetaVictims",
              {{NodeName(0, 0),
                {{"Pods", json::array({{{"UID", "small"}}})}, {"NumPDBViolations", 1}}}}}}
            .dump());
    return json::parse(*answer)["NodeNameToMetaVictims"];
  };
  ASSERT_EQ(kept(8).size(), 1u);
  EXPECT_EQ(kept(8)[NodeName(0, 0)]["NumPDBViolations"], 1);
  EXPECT_TRUE(kept(16).empty()) << "even without the victim there is no room";
}

}  // namespace
}  // namespace yardmaster::extender
