#include "pkg/kube/lease.h"

#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/random.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/kube/testing/fake_sleeper.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

LeaseOptions Options(const std::string& identity) {
  LeaseOptions options;
  options.ns = "yardmaster-system";
  options.name = "extender";
  options.identity = identity;
  return options;
}

class LeaseTest : public testing::Test {
 protected:
  json Record() { return (*client_.Find(Leases(), "yardmaster-system", "extender"))["spec"]; }

  FakeClock clock_;
  FakeClient client_{clock_};
  LeaseLock a_{client_, Options("a"), clock_};
  LeaseLock b_{client_, Options("b"), clock_};
};

TEST_F(LeaseTest, OptionsThatCouldMakeTwoLeadersAreRefused) {
  EXPECT_TRUE(ValidateLeaseOptions(Options("a")).ok());
  LeaseOptions options = Options("a");
  options.renew_deadline_ms = 15'000;
  EXPECT_THAT(MessageOf(ValidateLeaseOptions(options)), HasSubstr("leader-elect-lease-duration"));
  options = Options("a");
  options.retry_period_ms = 9'000;
  EXPECT_THAT(MessageOf(ValidateLeaseOptions(options)), HasSubstr("leader-elect-renew-deadline"));
  EXPECT_FALSE(ValidateLeaseOptions(Options("")).ok());
}

TEST_F(LeaseTest, TheFirstTakesItAndTheSecondWaits) {
  ASSERT_TRUE(a_.Tick().ok());
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_TRUE(a_.IsLeader());
  EXPECT_FALSE(b_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 1);
  EXPECT_EQ(b_.FencingToken(), 0);
  EXPECT_EQ(Record()["holderIdentity"], "a");
  EXPECT_EQ(Record()["leaseDurationSeconds"], 15);
}

TEST_F(LeaseTest, RenewingKeepsTheTokenAndTheAcquireTime) {
  ASSERT_TRUE(a_.Tick().ok());
  const json before = Record();
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(2000);
    ASSERT_TRUE(a_.Tick().ok());
    ASSERT_TRUE(b_.Tick().ok());
  }
  EXPECT_TRUE(a_.IsLeader());
  EXPECT_FALSE(b_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 1);
  EXPECT_EQ(Record()["acquireTime"], before["acquireTime"]);
  EXPECT_NE(Record()["renewTime"], before["renewTime"]);
  // Renewals are one request each.
  EXPECT_EQ(client_.CountCalls(Verb::kReplace, "leases"), 20);
}

TEST_F(LeaseTest, AHoldEndsByTheClockAloneAndBeforeAnotherMayTakeIt) {
  ASSERT_TRUE(a_.Tick().ok());
  ASSERT_TRUE(b_.Tick().ok());
  clock_.Advance(9'999);
  EXPECT_TRUE(a_.IsLeader());
  clock_.Advance(1);
  EXPECT_FALSE(a_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 0);
  clock_.Advance(4'999);
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_FALSE(b_.IsLeader());
  clock_.Advance(1);
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_TRUE(b_.IsLeader());
  EXPECT_EQ(b_.FencingToken(), 2);
}

TEST_F(LeaseTest, TheHoldCountsFromTheBeginOfTheWriteNotFromItsAnswer) {
  client_.SetHook([this](const Call& call) {
    if (call.verb == Verb::kCreate) clock_.Advance(4'000);  // a slow answer
    return absl::OkStatus();
  });
  ASSERT_TRUE(a_.Tick().ok());
  clock_.Advance(5'999);
  EXPECT_TRUE(a_.IsLeader());
  clock_.Advance(1);
  EXPECT_FALSE(a_.IsLeader());
}

TEST_F(LeaseTest, AHoldThatRanOutIsTakenAgainOnlyWithANewToken) {
  ASSERT_TRUE(a_.Tick().ok());
  clock_.Advance(10'000);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_TRUE(a_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 2);
}

TEST_F(LeaseTest, TransientErrorsDoNotEndAHoldBeforeItsDeadline) {
  ASSERT_TRUE(a_.Tick().ok());
  client_.FailNext(Verb::kReplace, "leases", absl::UnavailableError("down"), 3);
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(2'000);
    EXPECT_FALSE(a_.Tick().ok());
    EXPECT_TRUE(a_.IsLeader());
  }
  clock_.Advance(2'000);
  ASSERT_TRUE(a_.Tick().ok());
  clock_.Advance(9'000);
  EXPECT_TRUE(a_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 1);
}

TEST_F(LeaseTest, ARenewalWhoseAnswerWasLostIsSeenAsOnesOwn) {
  ASSERT_TRUE(a_.Tick().ok());
  client_.FailNext(Verb::kReplace, "leases", absl::UnavailableError("cut"), 1,
                   FaultWhen::kAfterEffect);
  clock_.Advance(2'000);
  EXPECT_FALSE(a_.Tick().ok());
  clock_.Advance(2'000);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_TRUE(a_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 1);
}

TEST_F(LeaseTest, AReleasedLeaseIsTakenAtOnce) {
  ASSERT_TRUE(a_.Tick().ok());
  ASSERT_TRUE(a_.Release().ok());
  EXPECT_FALSE(a_.IsLeader());
  EXPECT_EQ(Record()["holderIdentity"], "");
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_TRUE(b_.IsLeader());
  EXPECT_EQ(b_.FencingToken(), 2);
}

TEST_F(LeaseTest, ADeletedLeaseEndsTheHoldAndIsMadeAgain) {
  ASSERT_TRUE(a_.Tick().ok());
  ASSERT_TRUE(client_.Delete({Leases(), "yardmaster-system", "extender"}, {}).ok());
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_TRUE(b_.IsLeader());
  EXPECT_EQ(b_.FencingToken(), 1) << "b has seen no other token";
  clock_.Advance(2'000);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_FALSE(a_.IsLeader());
}

TEST_F(LeaseTest, TokensGoOnGrowingWhenTheLeaseIsDeleted) {
  ASSERT_TRUE(a_.Tick().ok());
  ASSERT_TRUE(b_.Tick().ok());
  ASSERT_TRUE(client_.Delete({Leases(), "yardmaster-system", "extender"}, {}).ok());
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_EQ(b_.FencingToken(), 2);
}

TEST_F(LeaseTest, AHoldBelowARequiredTokenEndsAndTheNextOneIsAbove) {
  ASSERT_TRUE(a_.Tick().ok());
  a_.RequireTokenAbove(0);
  EXPECT_EQ(a_.FencingToken(), 1);
  a_.RequireTokenAbove(41);
  EXPECT_FALSE(a_.IsLeader());
  EXPECT_EQ(a_.FencingToken(), 0);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_EQ(a_.FencingToken(), 42);
  EXPECT_EQ(Record()["leaseTransitions"], 42);
  a_.RequireTokenAbove(7);
  EXPECT_TRUE(a_.IsLeader());
}

TEST_F(LeaseTest, AnothersLongerLeaseIsHonouredAndAnAbsurdOneIsNot) {
  json spec = {{"holderIdentity", "c"}, {"leaseDurationSeconds", 60}, {"leaseTransitions", 4}};
  client_.Seed(Leases(), {{"metadata", {{"name", "extender"}, {"namespace", "yardmaster-system"}}},
                          {"spec", spec}});
  ASSERT_TRUE(a_.Tick().ok());
  clock_.Advance(59'999);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_FALSE(a_.IsLeader());
  clock_.Advance(1);
  ASSERT_TRUE(a_.Tick().ok());
  EXPECT_EQ(a_.FencingToken(), 5);

  spec["leaseDurationSeconds"] = INT64_MAX;
  client_.Seed(Leases(), {{"metadata", {{"name", "extender"}, {"namespace", "yardmaster-system"}}},
                          {"spec", spec}});
  ASSERT_TRUE(b_.Tick().ok());
  clock_.Advance(600'000);
  ASSERT_TRUE(b_.Tick().ok());
  EXPECT_TRUE(b_.IsLeader());
}

TEST_F(LeaseTest, UnderRandomFaultsNeverTwoLeadAndTokensOnlyGrow) {
  Random random(3);
  LeaseLock c(client_, Options("c"), clock_);
  std::vector<LeaseLock*> locks = {&a_, &b_, &c};
  std::int64_t highest = 0;
  int led = 0;
  for (int step = 0; step < 5000; ++step) {
    clock_.Advance(static_cast<std::int64_t>(random.Below(4'000)));
    if (random.Below(5) == 0) {
      client_.FailNext(random.Below(2) == 0 ? Verb::kReplace : Verb::kGet, "leases",
                       absl::UnavailableError("fault"), 1 + static_cast<int>(random.Below(4)),
                       random.Below(2) == 0 ? FaultWhen::kBeforeEffect : FaultWhen::kAfterEffect);
    }
    LeaseLock& lock = *locks[random.Below(locks.size())];
    if (random.Below(200) == 0) {
      lock.Release().IgnoreError();
    } else {
      lock.Tick().IgnoreError();
    }
    int leaders = 0;
    for (LeaseLock* each : locks) {
      if (!each->IsLeader()) continue;
      ++leaders;
      ++led;
      EXPECT_GE(each->FencingToken(), highest);
      highest = std::max(highest, each->FencingToken());
    }
    ASSERT_LE(leaders, 1) << "at step " << step;
  }
  EXPECT_GT(led, 1000);
  EXPECT_GT(highest, 5);
}

// The elector with its thread.
class ElectorTest : public testing::Test {
 protected:
  LeaderCallbacks Callbacks() {
    LeaderCallbacks callbacks;
    callbacks.started = [this](std::int64_t token) { Write(StrCat("started ", token)); };
    callbacks.stopped = [this] { Write("stopped"); };
    return callbacks;
  }
  void Write(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> Lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }

  FakeClock clock_;
  FakeSleeper sleeper_{clock_, FakeSleeper::Mode::kManual};
  FakeClient client_{clock_};
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(ElectorTest, LeadingBeginsEndsWithTheDeadlineAndBeginsAgainWithANewToken) {
  LeaderElector elector(client_, Options("a"), Callbacks(), {clock_, sleeper_, 1});
  elector.Start();
  sleeper_.WaitForSleepers(1);
  EXPECT_TRUE(elector.IsLeader());
  client_.FailNext(Verb::kReplace, "leases", absl::UnavailableError("down"), 5);
  client_.FailNext(Verb::kGet, "leases", absl::UnavailableError("down"), 1);
  for (int i = 0; i < 5; ++i) {
    sleeper_.Advance(2'000);
    sleeper_.WaitForSleepers(1);
  }
  EXPECT_FALSE(elector.IsLeader());
  for (int i = 0; i < 5; ++i) {
    sleeper_.Advance(2'000);
    sleeper_.WaitForSleepers(1);
  }
  EXPECT_TRUE(elector.IsLeader());
  EXPECT_EQ(elector.FencingToken(), 2);
  EXPECT_THAT(Lines(), ElementsAre("started 1", "stopped", "started 2"));
}

TEST_F(ElectorTest, StopTellsTheCallbackFirstAndThenReleases) {
  LeaderElector elector(client_, Options("a"), Callbacks(), {clock_, sleeper_, 1});
  client_.SetHook([this](const Call& call) {
    if (call.verb == Verb::kReplace && call.body["spec"]["holderIdentity"] == "") {
      Write("released");
    }
    return absl::OkStatus();
  });
  elector.Start();
  sleeper_.WaitForSleepers(1);
  elector.Stop();
  EXPECT_FALSE(elector.IsLeader());
  EXPECT_THAT(Lines(), ElementsAre("started 1", "stopped", "released"));
}

TEST_F(ElectorTest, AReleasedLeaseThatIsWatchedIsTakenWithoutWaiting) {
  LeaseOptions watching = Options("b");
  watching.watch = true;
  LeaderElector a(client_, Options("a"), {}, {clock_, sleeper_, 1});
  a.Start();
  sleeper_.WaitForSleepers(1);
  LeaderElector b(client_, watching, Callbacks(), {clock_, sleeper_, 2});
  b.Start();
  client_.WaitForWatches(Leases(), 1);
  EXPECT_FALSE(b.IsLeader());
  a.Stop();
  while (!b.IsLeader()) std::this_thread::yield();  // the clock stands still
  EXPECT_EQ(b.FencingToken(), 2);
  b.Stop();
}

TEST_F(ElectorTest, ACandidateTriesAgainWhenTheHoldItSeesRunsOut) {
  LeaderElector b(client_, Options("b"), {}, {clock_, sleeper_, 2});
  {
    LeaseLock a(client_, Options("a"), clock_);
    ASSERT_TRUE(a.Tick().ok());
  }
  b.Start();
  sleeper_.WaitForSleepers(1);
  for (int ms = 0; ms < 15'000; ms += 100) {
    EXPECT_FALSE(b.IsLeader());
    sleeper_.Advance(100);
    sleeper_.WaitForSleepers(1);
  }
  EXPECT_TRUE(b.IsLeader()) << "15 s after the record was first seen, not a retry period later";
}

}  // namespace
}  // namespace yardmaster::kube
