#include "pkg/metrics/loop.h"

#include <sstream>
#include <stdexcept>

#include "gtest/gtest.h"

#include "pkg/base/clock.h"

namespace yardmaster::metrics {
namespace {

class LoopTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  std::ostringstream out_;
  Logger log_{{.out = &out_}, clock_};
  Registry registry_;
  Loop loop_{"hosts", registry_, log_};

  double Value(const char* name) {
    return registry_.GetCounter(name, "", {{"loop", "hosts"}}).value();
  }
  RunResult Throw() {
    return loop_.RunOnce([]() -> RunResult { throw std::runtime_error("no such key"); });
  }
};

TEST_F(LoopTest, ARunThatThrowsIsCountedLoggedAndMadeAgainLaterAndLater) {
  EXPECT_EQ(Throw().again_ms, 1'000);
  EXPECT_EQ(Throw().again_ms, 2'000);
  for (int i = 0; i < 10; ++i) Throw();
  EXPECT_EQ(Throw().again_ms, 60'000);
  EXPECT_EQ(Value("yardmaster_loop_runs_total"), 13);
  EXPECT_EQ(Value("yardmaster_loop_failures_total"), 13);
  EXPECT_NE(out_.str().find("no such key"), std::string::npos);
  loop_.RunOnce([] { return RunResult(); });
  EXPECT_EQ(Throw().again_ms, 1'000) << "a run went well";
}

TEST_F(LoopTest, WhatARunSaysOfItselfIsKept) {
  const RunResult result = loop_.RunOnce([] {
    RunResult result;
    result.done = 3;
    result.Again(70);
    result.Fail("team/a", absl::UnavailableError("no answer"));
    return result;
  });
  EXPECT_EQ(result.done, 3);
  EXPECT_EQ(result.again_ms, 70);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(Value("yardmaster_loop_failures_total"), 1);
  EXPECT_NE(out_.str().find("team/a"), std::string::npos);
}

TEST_F(LoopTest, ARunWithFailuresIsMadeAgainAfterASecond) {
  for (int i = 0; i < 3; ++i) {
    const RunResult result = loop_.RunOnce([] {
      RunResult result;
      result.Again(30'000);
      result.Fail("team/a", absl::UnavailableError("no answer"));
      return result;
    });
    EXPECT_EQ(result.again_ms, 1'000);
  }
}

TEST_F(LoopTest, AnObjectThatAlwaysThrowsIsHandledLessAndLessOften) {
  bool denied = false;
  const auto run = [&] {
    return loop_
        .RunOnce([&] {
          RunResult result;
          result.Fail("team/a", Contain([] { throw std::runtime_error("no such key"); }));
          if (denied) result.Fail("team/b", absl::PermissionDeniedError("not allowed"));
          return result;
        })
        .again_ms;
  };
  EXPECT_EQ(run(), 1'000);
  EXPECT_EQ(run(), 2'000);
  for (int i = 0; i < 10; ++i) run();
  EXPECT_EQ(run(), 60'000);
  denied = true;
  EXPECT_EQ(run(), 1'000) << "the other one is tried as before";
}

TEST_F(LoopTest, ARunOfOneObjectThatThrowsNamesIt) {
  const RunResult result =
      loop_.RunOnce([]() -> RunResult { throw std::runtime_error("x"); }, "team/a");
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].object, "team/a");
}

}  // namespace
}  // namespace yardmaster::metrics
