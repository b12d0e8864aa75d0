// Hostile and broken input: one gang's fault is its own.
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class GangInputTest : public BatchJobFixture {
 protected:
  // Another job is placed beside each bad object.
  void ExpectOthersGoOn(Process& process) {
    AddBatchJob("other", 1);
    process.Pass();
    EXPECT_EQ(HostsOf("job-other").size(), 1u);
  }
  void ChangeGang(const std::string& name, const std::function<void(json&)>& change) {
    json gang = Gang(name);
    change(gang);
    client_.Seed(kube::Gangs(), gang);
  }
};

TEST_F(GangInputTest, AnAbsurdIndexWithCopiedLabelsIsKeptOutOfAPlacedGang) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  const auto hosts = HostsOf("job-a");
  const std::string pod = AddJobPod("a", 900'000, "tp=8,dp=2");
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts);
  EXPECT_TRUE(Gated(*client_.Find(kube::Pods(), "team", pod)));
  EXPECT_NE(NoticesAbout("NotInGang").find("its index 900000 lies outside gang job-a"),
            std::string::npos);
  // Also while a host is lost, when ranks are moved.
  AddNode(hosts[0][1] - '0', hosts[0][3] - '0', /*ready=*/false);
  process.Pass();
  ExpectOthersGoOn(process);
}

TEST_F(GangInputTest, APodWhoseJobUidIsATrainingJobsStopsNothing) {
  AddJob("a", 2);
  for (int index = 0; index < 2; ++index) AddJobPod("x", index, "tp=8,dp=2", "job-a");
  Process process(*this, true);
  process.Pass();
  const PassReport report = process.Pass();
  EXPECT_TRUE(report.errors.empty()) << Join(report.errors, "\n");
  EXPECT_TRUE(Placed("a"));
  ExpectOthersGoOn(process);
}

TEST_F(GangInputTest, CopiedLabelsAreNamedOnThePod) {
  AddBatchJob("a", 2);
  const std::string pod = AddJobPod("a", 5, "tp=8,dp=2");
  json copy = *client_.Find(kube::Pods(), "team", pod);
  copy["metadata"].erase("ownerReferences");
  client_.Seed(kube::Pods(), copy);
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
  EXPECT_NE(NoticesAbout("NotInGang").find("it has no controller; remove the copied labels"),
            std::string::npos)
      << NoticesAbout("NotInGang");
}

TEST_F(GangInputTest, RanksWithAGapAreSaid) {
  AddBatchJob("a", 2);
  DeletePod("a-1-2");
  AddJobPod("a", 7, "tp=8,dp=2");
  const PassReport report = PassOfANewProcess();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("rank 1 of 2 has no pod although there are 2 pods; pod a-7-3 "
                                    "has the index 7"),
            std::string::npos)
      << report.problems[0];
}

TEST_F(GangInputTest, AGangWhoseHandlingThrowsIsQuarantinedAndTheRestGoesOn) {
  AddBatchJob("bad", 1);
  AddBatchJob("good", 1);
  client_.SetHook([](const kube::Call& call) {
    if (call.body.is_object() && call.body.value("/spec/owner/name"_json_pointer, "") == "bad") {
      throw std::out_of_range("map::at");
    }
    return absl::OkStatus();
  });
  Process process(*this, true);
  const PassReport report = process.Pass();
  EXPECT_EQ(report.isolated, 1);
  EXPECT_EQ(HostsOf("job-good").size(), 1u);
  EXPECT_NE(NoticesAbout("Quarantined").find("map::at"), std::string::npos);
  client_.SetHook({});
  process.Pass();
  EXPECT_TRUE(HostsOf("job-bad").empty()) << "not tried again at once";
  EXPECT_EQ(CountNotices("Quarantined"), 1) << "on the pod, once";
  clock_.Advance(61'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-bad").size(), 1u);
}

TEST_F(GangInputTest, AnExceptionInAnyStepIsAttributedToItsGang) {
  AddBatchJob("bad", 1);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  // The write that marks it released throws.
  client_.SetHook([](const kube::Call& call) {
    if (call.target.name == "job-bad" && call.verb == kube::Verb::kReplace) {
      throw std::runtime_error("unforeseen");
    }
    return absl::OkStatus();
  });
  const PassReport cut = process.Pass();
  ASSERT_EQ(cut.errors.size(), 1u);
  EXPECT_NE(cut.errors[0].find("unforeseen"), std::string::npos);
  EXPECT_TRUE(cut.more_to_do);
  ExpectOthersGoOn(process);
  // What the gang was promised stays its own.
  EXPECT_NE(HostsOf("job-other"), HostsOf("job-bad"));
}

TEST_F(GangInputTest, AGangWithFieldsThatCannotBeReadKeepsItsHostsAndIsReported) {
  AddBatchJob("a", 5);
  Process process(*this, true);
  process.Pass();
  ChangeGang("job-a", [](json& gang) { gang["status"]["assignments"][0]["rank"] = 3; });
  const PassReport report = process.Pass();
  EXPECT_EQ(report.isolated, 1);
  EXPECT_NE(NoticesAbout("Quarantined").find("status.assignments"), std::string::npos);
  AddBatchJob("b", 2);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-b").empty()) << "five of six hosts are promised";
}

TEST_F(GangInputTest, FieldsOfANewerVersionAreKept) {
  AddBatchJob("a", 2);
  Process process(*this, true);
  process.Pass();
  ChangeGang("job-a", [](json& gang) { gang["status"]["futureThing"] = {{"x", 1}}; });
  RunReleasedPods();
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Released")) << "it was written again";
  EXPECT_EQ(Gang("job-a")["status"]["futureThing"], json({{"x", 1}}));
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

TEST_F(GangInputTest, APodWithATolerationOfANewerKindStillHoldsItsGpus) {
  for (int s = 0; s < 2; ++s) {
    for (int h = 0; h < 3; ++h) {
      client_.Seed(
          kube::Pods(),
          {{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata",
            {{"name", StrCat("p", s, h)}, {"namespace", "x"}, {"uid", StrCat("u", s, h)}}},
           {"spec",
            {{"nodeName", NodeName(s, h)},
             {"tolerations", json::array({{{"key", "slo"}, {"operator", "Gt"}, {"value", "950"}}})},
             {"containers",
              json::array(
                  {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
           {"status", {{"phase", "Running"}}}});
    }
  }
  AddBatchJob("a", 1);
  const PassReport report = PassOfANewProcess();
  EXPECT_TRUE(HostsOf("job-a").empty()) << "every host is full";
  EXPECT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("spec.tolerations[0].operator"), std::string::npos);
}

TEST_F(GangInputTest, AGangWhoseCommitThrowsIsQuarantinedAndTheRestGoesOn) {
  AddBatchJob("bad", 1);
  AddBatchJob("good", 1);
  client_.SetHook([](const kube::Call& call) {
    if (call.target.name == "job-bad" && call.target.subresource == "status") {
      throw std::runtime_error("unforeseen");
    }
    return absl::OkStatus();
  });
  Process process(*this, true);
  process.Pass();
  process.Pass();
  EXPECT_EQ(HostsOf("job-good").size(), 1u);
  EXPECT_NE(NoticesAbout("Quarantined").find("unforeseen"), std::string::npos);
}

TEST_F(GangInputTest, APodWhoseReleaseThrowsStopsNeitherTheProcessNorOtherReleases) {
  planner_options_.release.threads = 8;
  AddBatchJob("bad", 3);
  AddBatchJob("good", 2);
  client_.SetHook([](const kube::Call& call) {
    if (call.verb == kube::Verb::kPatch && call.target.name.rfind("bad-", 0) == 0) {
      throw std::runtime_error("unforeseen");
    }
    return absl::OkStatus();
  });
  Process process(*this, true);
  const PassReport report = process.Pass();
  EXPECT_NE(Join(report.errors, "\n").find("unforeseen"), std::string::npos);
  for (const json& pod : PodsOf("good")) EXPECT_FALSE(Gated(pod));
  client_.SetHook({});
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().released_pods, 3);
}

TEST_F(GangInputTest, AFailureLongAfterAQuarantineStartsAgain) {
  AddBatchJob("a", 1);
  const auto fail_on = [this](kube::Verb verb) {
    client_.SetHook([verb](const kube::Call& call) {
      const bool on_gang = call.target.resource.plural == "gangs";
      if (on_gang && call.verb == verb) throw std::runtime_error("unforeseen");
      return absl::OkStatus();
    });
  };
  Process process(*this, true);
  fail_on(kube::Verb::kCreate);
  process.Pass();
  client_.SetHook({});
  clock_.Advance(60'000);
  process.Pass();
  ASSERT_EQ(HostsOf("job-a").size(), 1u);
  clock_.Advance(3'600'000);
  fail_on(kube::Verb::kReplace);
  process.Pass();
  ASSERT_FALSE(IsTrue("job-a", "Released"));
  client_.SetHook({});
  clock_.Advance(60'000);
  process.Pass();
  EXPECT_TRUE(IsTrue("job-a", "Released")) << "it waits for a minute, as after a first failure";
}

}  // namespace
}  // namespace yardmaster::extender
