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

}  // namespace
}  // namespace yardmaster::extender
