// What the queue writes, how often, and that one gang's refused writes are its own matter.
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class QueueWritesTest : public BatchJobFixture {
 protected:
  // Refuses the writes that `refuse` picks, as an admission policy would.
  void Refuse(std::function<bool(const kube::Call&)> refuse) {
    client_.SetHook([refuse = std::move(refuse), this](const kube::Call& call) -> absl::Status {
      if (call.verb == kube::Verb::kGet || !refuse(call)) return absl::OkStatus();
      ++refused_;
      return absl::PermissionDeniedError("denied by policy");
    });
  }
  void Occupy(const std::string& host) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", "on-" + host}, {"namespace", "x"}, {"uid", "on-" + host}}},
                  {"spec",
                   {{"nodeName", host},
                    {"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
                  {"status", {{"phase", "Running"}}}});
  }

  // Writes that `slow` picks take a tenth of a second.
  void Slow(std::function<bool(const kube::Call&)> slow) {
    client_.SetHook([slow = std::move(slow), this](const kube::Call& call) {
      if (slow(call)) clock_.Advance(100);
      return absl::OkStatus();
    });
  }
  void SlowStatuses() {
    Slow([](const kube::Call& call) {
      return call.verb == kube::Verb::kReplace && kube::WhereOf(call.target) == "gangs/status";
    });
  }
  int CountPlaced() {
    int placed = 0;
    for (const json& gang : client_.All(kube::Gangs())) {
      placed += gang.value("/status/assignments"_json_pointer, json::array()).empty() ? 0 : 1;
    }
    return placed;
  }
  int CountTold() {
    int told = 0;
    for (const json& gang : client_.All(kube::Gangs())) {
      told += gang.value("/status/outcome"_json_pointer, "Placed") == "Placed" ? 0 : 1;
    }
    return told;
  }
  void SetPriority(const std::string& job, int priority) {
    for (json pod : PodsOf(job)) {
      pod["spec"]["priority"] = priority;
      client_.Seed(kube::Pods(), pod);
    }
  }

  int refused_ = 0;
};

TEST_F(QueueWritesTest, AGangWhosePatchesAreDeniedDelaysNoOther) {
  AddBatchJob("a", 5);
  Process process(*this, true);
  Refuse([](const kube::Call& call) {
    return call.verb == kube::Verb::kPatch && call.target.name.rfind("a-", 0) == 0;
  });
  process.Pass();
  EXPECT_EQ(refused_, 3) << "not every pod is tried";
  AddBatchJob("b", 1);
  const PassReport second = process.Pass();
  EXPECT_EQ(second.released_pods, 1);
  EXPECT_EQ(refused_, 3) << "it waits";
  EXPECT_LE(second.wake_in_ms, 500);
  // The wait doubles.
  clock_.Advance(500);
  process.Pass();
  EXPECT_EQ(refused_, 6);
  clock_.Advance(500);
  process.Pass();
  EXPECT_EQ(refused_, 6);
  clock_.Advance(500);
  process.Pass();
  EXPECT_EQ(refused_, 9);
  client_.SetHook({});
  clock_.Advance(2'000);
  EXPECT_EQ(process.Pass().released_pods, 5);
}

TEST_F(QueueWritesTest, AGangThatMayNotBeMadeIsTriedEverLessOften) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  Refuse([](const kube::Call& call) { return call.verb == kube::Verb::kCreate; });
  process.Pass();
  EXPECT_EQ(refused_, 1);
  process.Pass();
  EXPECT_EQ(refused_, 1) << "it waits";
  clock_.Advance(500);
  process.Pass();
  process.Pass();
  EXPECT_EQ(refused_, 2);
  client_.SetHook({});
  clock_.Advance(1'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
}

TEST_F(QueueWritesTest, AGangWhoseStatusCannotBeWrittenKeepsNoHostFromOthers) {
  AddBatchJob("a", 6);
  AddBatchJob("b", 6);
  Process process(*this, true);
  Refuse([](const kube::Call& call) {
    return call.target.name == "job-a" && call.target.subresource == "status";
  });
  process.Pass();
  EXPECT_TRUE(HostsOf("job-a").empty());
  process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 6u);
  EXPECT_EQ(refused_, 1);
}

TEST_F(QueueWritesTest, WritesWithoutAnAnswerAreMadeEverLessOftenForTheirGangAlone) {
  AddBatchJob("a", 1);
  Process process(*this, true);
  int lost = 0;
  client_.SetHook([&](const kube::Call& call) -> absl::Status {
    if (call.verb != kube::Verb::kPatch || call.target.name != "a-0-1") return absl::OkStatus();
    ++lost;
    return absl::DeadlineExceededError("no answer");
  });
  process.Pass();
  process.Pass();
  EXPECT_EQ(lost, 2) << "the first retry comes at once";
  AddBatchJob("b", 1);
  EXPECT_EQ(process.Pass().released_pods, 1);
  EXPECT_EQ(lost, 2) << "it waits";
  for (const std::int64_t wait_ms : {250, 500, 1'000}) {
    const int before = lost;
    clock_.Advance(wait_ms - 1);
    process.Pass();
    EXPECT_EQ(lost, before) << wait_ms;
    clock_.Advance(1);
    process.Pass();
    EXPECT_EQ(lost, before + 1) << wait_ms;
  }
  client_.SetHook({});
  clock_.Advance(10'000);
  EXPECT_EQ(process.Pass().released_pods, 1);
}

TEST_F(QueueWritesTest, ACountThatMovesIsNotWritten) {
  // Three hosts are free and two kept as backup, so using those never helps.
  for (const char* host : {"s1h1", "s1h2", "s0h2"}) Occupy(host);
  AddBatchJob("a", 6);
  Process process(*this, true);
  process.Pass();
  const json before = Gang("job-a")["status"];
  ASSERT_EQ(before["outcome"], "NotNow");
  client_.ClearCalls();
  for (const char* host : {"s0h0", "s0h1"}) {
    Occupy(host);
    process.Pass();
  }
  EXPECT_EQ(client_.CountCalls(kube::Verb::kReplace, "gangs/status"), 0);
  EXPECT_EQ(CountNotices("NotPlaced"), 2) << "on the job and on a pod, once";
  // The text does not stay wrong for ever.
  clock_.Advance(600'000);
  process.Pass();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kReplace, "gangs/status"), 1);
}

TEST_F(QueueWritesTest, ManyNewJobsDoNotHoldUpAPass) {
  for (int i = 0; i < 10; ++i) AddBatchJob(StrCat("b", i), 1);
  SetPriority("b7", 10);
  Slow([](const kube::Call& call) {
    return call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "gangs";
  });
  Process process(*this, true);
  const PassReport first = process.Pass();
  EXPECT_EQ(first.gangs_created, 3) << "a quarter of a second";
  EXPECT_TRUE(first.run_again_now) << "the next pass follows at once";
  EXPECT_EQ(HostsOf("job-b7").size(), 1u) << "a higher priority goes first";
  EXPECT_EQ(first.released_pods, 3);
  // What comes later does not go before those that wait, but for a higher priority.
  for (const char* late : {"a0", "a1", "a2", "a3"}) AddBatchJob(late, 1);
  int created = 3;
  for (int i = 0; i < 2; ++i) created += process.Pass().gangs_created;
  EXPECT_EQ(created, 9);
  EXPECT_TRUE(Gang("job-a0").empty());
  EXPECT_EQ(HostsOf("job-b4").size(), 1u) << "the sixth host, in the order of the queue";
  for (int i = 0; i < 2; ++i) created += process.Pass().gangs_created;
  EXPECT_EQ(created, 14);
  EXPECT_FALSE(process.Pass().run_again_now);
}

TEST_F(QueueWritesTest, AGangWhosePodsHaveChangedIsNotPlannedBeforeItSaysSo) {
  AddBatchJob("a", 7);  // six hosts are there
  Process process(*this, true);
  process.Pass();
  for (int i = 0; i < 4; ++i) {
    AddBatchJob(StrCat("b", i), 1);
    SetPriority(StrCat("b", i), 10);
  }
  for (json pod : PodsOf("a")) {
    pod["spec"]["nodeSelector"] = {{api::kSegmentLabel, "s0"}};
    client_.Seed(kube::Pods(), pod);
  }
  Slow([](const kube::Call& call) {
    return call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "gangs";
  });
  const PassReport report = process.Pass();
  EXPECT_EQ(report.gangs_created, 3);
  EXPECT_EQ(report.waiting, 0) << "a plan would be for pods that have changed since";
  EXPECT_EQ(process.Pass().waiting, 1);
}

TEST_F(QueueWritesTest, AGangThatWaitsTakesNoHostBeforeJobsOfHigherPriorityThatAreYetToGetAGang) {
  const std::vector<std::string> hosts = {"s0h0", "s0h1", "s0h2", "s1h0", "s1h1", "s1h2"};
  const auto leave = [&](const std::string& host) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "x", "on-" + host, ""}, {}).ok());
  };
  for (const std::string& host : hosts) Occupy(host);
  AddBatchJob("a", 1);
  Process process(*this, true);
  process.Pass();
  ASSERT_TRUE(HostsOf("job-a").empty());
  for (std::size_t i = 0; i < 4; ++i) {
    leave(hosts[i]);
    AddBatchJob(StrCat("b", i), 1);
    SetPriority(StrCat("b", i), 10);
  }
  Slow([](const kube::Call& call) {
    return call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "gangs";
  });
  ASSERT_EQ(process.Pass().gangs_created, 3);
  EXPECT_TRUE(HostsOf("job-a").empty()) << "the fourth host is for the fourth job";
  process.Pass();
  EXPECT_EQ(HostsOf("job-b3").size(), 1u);
  leave(hosts[4]);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a").size(), 1u);
}

TEST_F(QueueWritesTest, ManyPlacementsDoNotHoldUpAPassAndGoInTheOrderOfTheQueue) {
  AddBatchJob("a", 2);
  for (int i = 0; i < 5; ++i) AddBatchJob(StrCat("b", i), 1);
  SlowStatuses();
  Process process(*this, true);
  const PassReport first = process.Pass();
  EXPECT_EQ(first.committed, 3) << "a quarter of a second";
  EXPECT_EQ(first.waiting, 3);
  EXPECT_TRUE(first.run_again_now) << "the next pass follows at once";
  EXPECT_EQ(HostsOf("job-a").size(), 2u) << "a gang is placed whole";
  EXPECT_EQ(HostsOf("job-b1").size(), 1u);
  EXPECT_TRUE(HostsOf("job-b2").empty());
  process.Pass();
  EXPECT_EQ(CountPlaced(), 5) << "six hosts";
  EXPECT_TRUE(HostsOf("job-b4").empty()) << "the last of the queue";
}

TEST_F(QueueWritesTest, GangsWhosePlaceIsNeverWrittenDoNotKeepThoseBehindThemWaiting) {
  AddBatchJob("a0", 2);
  AddBatchJob("a1", 1);
  AddBatchJob("b", 1);
  client_.SetHook([this](const kube::Call& call) -> absl::Status {
    const bool status =
        call.verb == kube::Verb::kReplace && kube::WhereOf(call.target) == "gangs/status";
    if (!status || call.target.name == "job-b") return absl::OkStatus();
    clock_.Advance(20'000);
    return absl::UnavailableError("etcdserver: request is too large");
  });
  Process process(*this, true);
  for (int pass = 0; pass < 6; ++pass) process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 1u) << "the first write of a pass takes all of its time";
  client_.SetHook({});
  clock_.Advance(10'000);
  process.Pass();
  EXPECT_EQ(HostsOf("job-a0").size(), 2u);
  EXPECT_EQ(HostsOf("job-a1").size(), 1u);
}

TEST_F(QueueWritesTest, GangsOfHigherPriorityThatCannotBeMadeDoNotKeepOthersFromBeingMade) {
  for (const char* job : {"a0", "a1"}) {
    AddBatchJob(job, 1);
    SetPriority(job, 10);
  }
  client_.SetHook([this](const kube::Call& call) -> absl::Status {
    const bool makes = call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "gangs";
    if (!makes || call.body.value("/spec/priority"_json_pointer, 0) != 10) return absl::OkStatus();
    clock_.Advance(20'000);
    return absl::UnavailableError("failed calling webhook: context deadline exceeded");
  });
  Process process(*this, true);
  for (int pass = 0; pass < 8; ++pass) process.Pass();
  AddBatchJob("b", 1);
  for (int pass = 0; pass < 4; ++pass) process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 1u) << "one of them is due in every pass";
}

TEST_F(QueueWritesTest, ReasonsOfManyWaitingGangsDelayNoPlacement) {
  for (int i = 0; i < 10; ++i) {
    AddBatchJob(StrCat("a", i), 7);  // six hosts are there
    SetPriority(StrCat("a", i), 10);
  }
  AddBatchJob("b", 1);
  SlowStatuses();
  Process process(*this, true);
  const PassReport first = process.Pass();
  EXPECT_EQ(HostsOf("job-b").size(), 1u);
  EXPECT_EQ(first.waiting, 10);
  EXPECT_EQ(CountTold(), 3) << "a quarter of a second";
  EXPECT_TRUE(first.run_again_now);
  for (int i = 0; i < 3; ++i) process.Pass();
  EXPECT_EQ(CountTold(), 10);
}

}  // namespace
}  // namespace yardmaster::extender
