#include "pkg/agent/plans/plan_loop.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::SizeIs;

// A loop and a way to wait until what it published fulfils a condition.
class PlanLoopTest : public ::testing::Test {
 protected:
  void Start() { loop_.Start(); }

  template <typename Condition>
  void WaitFor(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition(*loop_.report())) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "never came";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  PodInput Pod(const std::string& uid) const {
    return ExamplePod(uid, clock_.WallMs() + 3'600'000);
  }
  static bool AllAre(const PlanReport& report, rpc::PlanState state, std::size_t count) {
    if (report.pods.size() != count) return false;
    return std::all_of(report.pods.begin(), report.pods.end(),
                       [&](const auto& pod) { return pod.state == state; });
  }

  FakeClock clock_;
  FakeSink sink_;
  std::vector<PodNotice> notices_;  // the loop's, until it has stopped
  PlanLoop loop_{clock_, sink_, [this](const PodNotice& notice) { notices_.push_back(notice); }};
};

TEST_F(PlanLoopTest, NothingIsTouchedBeforeTheCachesAreFilled) {
  sink_.Seed({"n1", "u1"}, "from a former life");
  Start();
  loop_.Put(Pod("u1"));
  WaitFor([](const PlanReport& report) { return report.pods.size() == 1; });
  EXPECT_EQ(sink_.attempts(), 0);
  EXPECT_FALSE(loop_.report()->begun);

  loop_.SetFabric(ExampleFabric());
  loop_.Begin();
  WaitFor([](const PlanReport& r) { return AllAre(r, rpc::PlanState::kSynced, 1); });
  EXPECT_TRUE(loop_.report()->begun);
  EXPECT_EQ(sink_.Parsed("u1")["level"], 3);
}

TEST_F(PlanLoopTest, ManyProducersAndTheirLatestWordHolds) {
  Start();
  loop_.SetFabric(ExampleFabric());
  loop_.Begin();
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string uid = StrCat("u", t, "-", i % 10);
        loop_.Put(Pod(uid));
        if (i % 3 == 0) loop_.Remove(uid);
        PodInput last = Pod(uid);
        last.priority = "5";
        loop_.Put(last);
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  WaitFor([](const PlanReport& r) {
    return AllAre(r, rpc::PlanState::kSynced, 40) &&
           std::all_of(r.pods.begin(), r.pods.end(), [](const auto& p) { return p.level == 5; });
  });
  EXPECT_THAT(sink_.files(), SizeIs(40));
}

TEST_F(PlanLoopTest, AnExpiryIsNoticedWithoutAnyEvent) {
  Start();
  loop_.SetFabric(ExampleFabric());
  loop_.Put(ExamplePod("u1", clock_.WallMs() + 1'000));
  loop_.Begin();
  WaitFor([](const PlanReport& r) { return AllAre(r, rpc::PlanState::kSynced, 1); });
  clock_.Advance(1'000);
  loop_.SetFabric(ExampleFabric());  // wakes it
  WaitFor([](const PlanReport& r) { return AllAre(r, rpc::PlanState::kStale, 1); });
  loop_.Stop();
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, NoticeKind::kStale);
}

TEST_F(PlanLoopTest, WhatIsEnqueuedBeforeStopIsStillDone) {
  Start();
  loop_.Begin();
  loop_.Put(Pod("u1"));
  loop_.Stop();
  EXPECT_THAT(sink_.files(), SizeIs(1));
}

TEST_F(PlanLoopTest, AFolderThatCannotBeListedKeepsNobodyWaiting) {
  sink_.Seed({"n1", "old"}, "{}");
  sink_.Fail("list", absl::InternalError("stale handle"));
  Start();
  loop_.Begin();
  loop_.Put(Pod("u1"));
  WaitFor([](const PlanReport& r) { return AllAre(r, rpc::PlanState::kSynced, 1); });
  EXPECT_FALSE(loop_.report()->begun);
  sink_.Fail("list", absl::OkStatus());
  loop_.Begin();  // wakes it
  WaitFor([](const PlanReport& r) { return r.begun; });
  EXPECT_THAT(sink_.files(), SizeIs(1));
}

}  // namespace
}  // namespace yardmaster::agent
