#include "pkg/cli/progress.h"

#include <atomic>
#include <sstream>
#include <stop_token>
#include <thread>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ProgressLineTest, WhatIsDoneWithinASecondSaysNothing) {
  std::ostringstream out;
  ProgressLine line(out);
  line.Show(0);
  line.Begin("reading nodes", 5'000);
  line.Show(5'999);
  line.End();
  line.Show(9'000);
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressLineTest, TheLineCountsFromTheFirstCallAndIsGoneBetweenCalls) {
  std::ostringstream out;
  ProgressLine line(out);
  line.Begin("reading nodes", 5'000);
  line.Show(6'100);
  EXPECT_EQ(out.str(), "\rreading nodes, 1 s\033[K");
  line.End();
  EXPECT_EQ(out.str(), "\rreading nodes, 1 s\033[K\r\033[K");
  out.str("");
  line.Show(6'300);
  EXPECT_EQ(out.str(), "") << "the verb may be printing";
  line.Begin("reading pods", 8'000);
  line.Show(8'100);
  EXPECT_EQ(out.str(), "\rreading pods, 3 s\033[K");
}

TEST(ProgressLineTest, TheLineStaysUntilTheLastOfTheCallsThatOverlapHasEnded) {
  std::ostringstream out;
  ProgressLine line(out);
  line.Begin("reading nodes", 0);
  line.Begin("reading pods", 10);
  line.Show(2'000);
  line.End();
  EXPECT_EQ(out.str(), "\rreading pods, 2 s\033[K");
  line.End();
  EXPECT_THAT(out.str(), ::testing::EndsWith("\r\033[K"));
}

// Between two sleeps the line was shown if it was due.
class CountedSleeper final : public kube::Sleeper {
 public:
  bool Sleep(std::int64_t, std::stop_token stop) override {
    ++sleeps_;
    std::this_thread::yield();
    return !stop.stop_requested();
  }
  void WaitForMore(int sleeps) const {
    for (const int before = sleeps_; sleeps_ < before + sleeps;) std::this_thread::yield();
  }

 private:
  std::atomic<int> sleeps_ = 0;
};

TEST(ProgressClientTest, ASlowCallIsNamedWhileItRunsAndItsAnswerIsPassedOn) {
  FakeClock clock;
  CountedSleeper sleeper;
  auto inner = std::make_unique<kube::FakeClient>(clock);
  inner->Seed(kube::Nodes(), {{"metadata", {{"name", "n0"}}}});
  std::ostringstream out;
  const auto client = WithProgress(std::move(inner), out, clock, sleeper);
  int nodes = 0;
  const auto page = client->ReadPage({kube::Nodes()}, {}, [&](const auto&) {
    ++nodes;
    clock.Advance(3'000);
    sleeper.WaitForMore(2);
  });
  EXPECT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(nodes, 1);
  EXPECT_THAT(out.str(), HasSubstr("\rreading nodes, 3 s\033[K"));
  EXPECT_THAT(out.str(), ::testing::EndsWith("\r\033[K"));
}

}  // namespace
}  // namespace yardmaster::cli
