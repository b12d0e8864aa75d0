#include "pkg/extender/steps/volume_step.h"

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

const kube::Resource kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
const kube::Resource kVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};

class VolumeStepTest : public BatchJobFixture {
 protected:
  VolumeStepTest() {
    for (json node : client_.All(kube::Nodes())) {
      node["metadata"]["labels"]["kubernetes.io/hostname"] = node["metadata"]["name"];
      client_.Seed(kube::Nodes(), node);
    }
  }

  // Empty `volume`: not bound.
  void AddClaim(const std::string& name, const std::string& volume) {
    json claim = {{"apiVersion", "v1"},
                  {"kind", "PersistentVolumeClaim"},
                  {"metadata", {{"name", name}, {"namespace", "team"}}},
                  {"spec", json::object()}};
    if (!volume.empty()) claim["spec"]["volumeName"] = volume;
    client_.Seed(kClaims, claim);
  }
  void AddVolume(const std::string& name, const std::vector<std::string>& hosts) {
    const json term = {
        {"matchExpressions",
         {{{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", hosts}}}}};
    client_.Seed(
        kVolumes,
        {{"apiVersion", "v1"},
         {"kind", "PersistentVolume"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array({term})}}}}}}}});
  }
  // A gang of one pod in namespace "z", behind all of "team".
  void AddJobOfAnotherTeam(const std::string& claim) {
    const json owner = {{"apiVersion", "batch/v1"},
                        {"kind", "Job"},
                        {"name", "other"},
                        {"uid", "uid-other"},
                        {"controller", true}};
    client_.Seed(BatchJobs(),
                 {{"apiVersion", "batch/v1"},
                  {"kind", "Job"},
                  {"metadata", {{"name", "other"}, {"namespace", "z"}, {"uid", "uid-other"}}},
                  {"spec", {{"parallelism", 1}, {"completions", 1}}},
                  {"status", json::object()}});
    json pod = GatedPod("other-0", {{api::kGpuResource, "8"}},
                        {{"batch.kubernetes.io/job-name", "other"},
                         {"batch.kubernetes.io/controller-uid", "uid-other"},
                         {"batch.kubernetes.io/job-completion-index", "0"}},
                        owner, "tp=8,dp=1");
    pod["metadata"]["namespace"] = "z";
    pod["spec"]["volumes"] = {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim}}}}};
    client_.Seed(kube::Pods(), pod);
  }
  // Each pod gets so many claims, which are not there, "<name of the pod>-<number>".
  void MountMany(const std::string& job, int count) {
    for (json pod : PodsOf(job)) {
      for (int i = 0; i < count; ++i) {
        const std::string claim = StrCat(pod["metadata"]["name"].get<std::string>(), "-", i);
        pod["spec"]["volumes"].push_back(
            {{"name", StrCat(i)}, {"persistentVolumeClaim", {{"claimName", claim}}}});
      }
      client_.Seed(kube::Pods(), pod);
    }
  }
  // Every pod of the job has the volume; "*" in the claim stands for its index.
  void Mount(const std::string& job, const std::string& claim) {
    for (json pod : PodsOf(job)) {
      std::string name = claim;
      if (const auto star = name.find('*'); star != name.npos) {
        name.replace(star, 1,
                     pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]);
      }
      pod["spec"]["volumes"] = {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", name}}}}};
      client_.Seed(kube::Pods(), pod);
    }
  }
};

TEST_F(VolumeStepTest, AGangIsPlacedAtOnceWhereItsBoundVolumeReaches) {
  AddVolume("disk", {NodeName(1, 1)});
  AddClaim("data", "disk");
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), std::vector<std::string>{NodeName(1, 1)});
}

TEST_F(VolumeStepTest, EachRankGetsAHostThatItsOwnVolumeReaches) {
  AddBatchJob("a", 3);
  const std::vector<std::string> hosts = {NodeName(0, 2), NodeName(0, 0), NodeName(0, 1)};
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    AddVolume(StrCat("disk-", rank), {hosts[rank]});
    AddClaim(StrCat("data-", rank), StrCat("disk-", rank));
  }
  Mount("a", "data-*");
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), hosts);
}

TEST_F(VolumeStepTest, AClaimThatIsNotBoundOrNotThereLimitsNothing) {
  AddClaim("later", "");
  AddBatchJob("a", 1);
  Mount("a", "later");
  AddBatchJob("b", 1);
  Mount("b", "missing");
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
  EXPECT_EQ(HostsOf("job-b").size(), 1u);
}

TEST_F(VolumeStepTest, AVolumeThatOnlyBusyHostsReachMakesItsGangWait) {
  AddVolume("disk", {NodeName(1, 1)});
  AddClaim("data", "disk");
  json other = GatedPod("other", {{api::kGpuResource, "8"}}, json::object(), json::object(), "");
  other["metadata"].erase("ownerReferences");
  other["metadata"].erase("annotations");
  other["spec"].erase("schedulingGates");
  other["spec"]["nodeName"] = NodeName(1, 1);
  other["status"]["phase"] = "Running";
  client_.Seed(kube::Pods(), other);
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(Gang("job-a")["status"]["outcome"], "NotNow");
  EXPECT_NE(Gang("job-a")["status"]["reasons"].dump().find("tolerations or volumes"),
            std::string::npos);
}

TEST_F(VolumeStepTest, AVolumeWhoseAffinityCannotBeReadLimitsNothing) {
  client_.Seed(kVolumes,
               {{"metadata", {{"name", "disk"}}},
                {"spec", {{"nodeAffinity", {{"required", {{"nodeSelectorTerms", 5}}}}}}}});
  AddClaim("data", "disk");
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
}

TEST_F(VolumeStepTest, ABoundClaimOfAGangThatWaitsIsReadOnce) {
  AddVolume("disk", {"no-such-host"});
  AddClaim("data", "disk");
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  for (int i = 0; i < 5; ++i) {
    process.Pass();
    clock_.Advance(60'000);
  }
  EXPECT_TRUE(HostsOf("job-a").empty());
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "persistentvolumeclaims"), 1);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "persistentvolumes"), 1);
}

TEST_F(VolumeStepTest, AGangWithManyClaimsIsPlacedOnceAllAreKnownAndOthersMeanwhile) {
  AddBatchJob("a", 3);
  for (json pod : PodsOf("a")) {
    for (int i = 0; i < 30; ++i) {
      const std::string claim = StrCat(pod["metadata"]["name"].get<std::string>(), "-", i);
      AddClaim(claim, "");
      pod["spec"]["volumes"].push_back(
          {{"name", StrCat(i)}, {"persistentVolumeClaim", {{"claimName", claim}}}});
    }
    client_.Seed(kube::Pods(), pod);
  }
  AddBatchJob("b", 1);
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 1u);
  EXPECT_TRUE(HostsOf("job-a").empty());
  for (int i = 0; i < 10 && HostsOf("job-a").empty(); ++i) {
    clock_.Advance(1'000);
    process.Pass();
  }
  EXPECT_EQ(HostsOf("job-a").size(), 3u);
}

TEST_F(VolumeStepTest, ManyClaimsOfANamespaceDoNotKeepAGangOfAnotherFromItsPlace) {
  for (int job = 0; job < 6; ++job) {
    AddBatchJob(StrCat("a", job), 1);
    MountMany(StrCat("a", job), 70);
  }
  AddJobOfAnotherTeam("data");
  Process process(*this, true);
  process.Pass();
  const auto gang = client_.Find(kube::Gangs(), "z", "job-other");
  ASSERT_TRUE(gang.has_value());
  EXPECT_EQ(gang->value("/status/assignments"_json_pointer, json::array()).size(), 1u);
}

TEST_F(VolumeStepTest, SlowReadsOfClaimsEndAfterASecondAndGoOnInTheNextPass) {
  for (const char* job : {"a", "b", "c", "d"}) {
    AddBatchJob(job, 1);
    MountMany(job, 16);
  }
  client_.SetHook([this](const kube::Call& call) {
    if (call.target.resource == kClaims) clock_.Advance(100);
    return absl::OkStatus();
  });
  Process process(*this, true);
  process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "persistentvolumeclaims"), 16);
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
  for (int i = 0; i < 3; ++i) process.Pass();
  for (const char* job : {"job-b", "job-c", "job-d"}) EXPECT_EQ(HostsOf(job).size(), 1u) << job;
}

TEST_F(VolumeStepTest, AGangWithMoreClaimsThanAFewPassesReadIsPlannedOnWhatIsKnown) {
  AddBatchJob("a", 14);
  MountMany("a", 32);
  Process process(*this, true);
  for (int i = 0; i < 5; ++i) {
    process.Pass();
    EXPECT_FALSE(Gang("job-a")["status"].contains("outcome")) << i;
  }
  process.Pass();
  EXPECT_TRUE(Gang("job-a")["status"].contains("outcome"));
  EXPECT_LT(client_.CountCalls(kube::Verb::kGet, "persistentvolumeclaims"), 14 * 32);
}

TEST_F(VolumeStepTest, NoMoreClaimsAreReadOnceTheirLimitsAreTooManyToBeUsed) {
  AddBatchJob("a", 40);
  MountMany("a", 2);
  AddVolume("disk", {NodeName(1, 1)});
  for (const json& pod : PodsOf("a")) {
    for (int i = 0; i < 2; ++i) {
      AddClaim(StrCat(pod["metadata"]["name"].get<std::string>(), "-", i), "disk");
    }
  }
  Process process(*this, true);
  process.Pass();
  EXPECT_FALSE(Gang("job-a")["status"].contains("outcome"));
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(1'000);
    process.Pass();
  }
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "persistentvolumeclaims"), 64);
  EXPECT_TRUE(Gang("job-a")["status"].contains("outcome")) << Gang("job-a").dump();
}

TEST_F(VolumeStepTest, EveryClaimThatIsNotBoundIsReadAgain) {
  AddBatchJob("a", 7);  // there are six hosts
  MountMany("a", 15);
  std::map<std::string, int> reads;
  client_.SetHook([&](const kube::Call& call) {
    if (call.target.resource == kClaims) ++reads[call.target.name];
    return absl::OkStatus();
  });
  Process process(*this, true);
  for (int i = 0; i < 8; ++i) {
    process.Pass();
    clock_.Advance(60'000);
  }
  EXPECT_EQ(reads.size(), 105u);
  for (const auto& [claim, count] : reads) EXPECT_GE(count, 3) << claim;
}

TEST_F(VolumeStepTest, AClaimThatIsMadeAgainIsReadAgain) {
  AddVolume("old", {"no-such-host"});
  AddVolume("new", {NodeName(1, 1)});
  AddClaim("data", "old");
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(HostsOf("job-a").empty());
  AddClaim("data", "new");
  clock_.Advance(300'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a"), std::vector<std::string>{NodeName(1, 1)});
}

TEST_F(VolumeStepTest, ANewClaimOfThatNameThatIsNotBoundYetLimitsNothing) {
  AddVolume("old", {"no-such-host"});
  AddClaim("data", "old");
  AddBatchJob("a", 1);
  Mount("a", "data");
  Process process(*this, true);
  process.Pass();
  AddClaim("data", "");
  clock_.Advance(300'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
}

}  // namespace
}  // namespace yardmaster::extender
