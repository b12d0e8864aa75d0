#include "pkg/agent/profiles/profile_collector.h"

#include <limits>
#include <thread>

#include "gmock/gmock.h"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProfileCollectorTest : public ::testing::Test {
 protected:
  ProfileCollectorTest() {
    for (const char* name : {"a", "b"}) {
      client_.Seed(
          kube::Pods(),
          {{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", StrCat("uid-", name)}}}});
    }
  }

  static rpc::IterationReport Report(const std::string& pod, std::int64_t samples, double seconds) {
    rpc::IterationReport report;
    report.pod_uid = "uid-" + pod;
    report.means.samples = samples;
    report.means.iteration_seconds = seconds;
    return report;
  }
  absl::Status Take(const rpc::IterationReport& report) {
    return collector_.Take(report, clock_.SteadyMs(), clock_.WallMs());
  }
  // One iteration of the pod "a", two seconds after the last one.
  void Iterate(double compute_seconds) {
    rpc::IterationReport report = Report("a", 1, 2);
    report.means.compute_seconds = compute_seconds;
    clock_.Advance(2'000);
    ASSERT_TRUE(Take(report).ok());
    collector_.Flush(clock_.SteadyMs(), Find);
  }
  static std::optional<PodInput> Find(const std::string& uid) {
    if (uid != "uid-a" && uid != "uid-b") return std::nullopt;
    PodInput pod;
    pod.ns = "team";
    pod.name = uid.substr(4);
    pod.uid = uid;
    pod.node = "n1";
    return pod;
  }
  std::optional<api::ProfileReport> Told(const std::string& pod) const {
    const auto object = client_.Find(kube::Pods(), "team", pod);
    const auto& metadata = (*object)["metadata"];
    if (!metadata.contains("annotations")) return std::nullopt;
    const auto report = api::DecodeProfileReport(
        metadata["annotations"].value(api::kProfileAnnotation, std::string()));
    return report.ok() ? std::optional(*report) : std::nullopt;
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  ProfileCollector collector_{client_, {}};
};

TEST_F(ProfileCollectorTest, TellsHowMuchTheCpuLimitThrottlesWhenThatMovesByAFifth) {
  rpc::IterationReport report = Report("a", 20, 2);
  const auto told = [&](std::optional<double> throttled) {
    report.means.cpu_throttled = throttled;
    clock_.Advance(60'000);
    EXPECT_TRUE(Take(report).ok());
    collector_.Flush(clock_.SteadyMs(), Find);
    return Told("a")->cpu_throttled;
  };
  EXPECT_EQ(told(std::nullopt), std::nullopt);
  EXPECT_EQ(told(0.15), std::nullopt);
  EXPECT_EQ(told(0.4), 0.4);
  EXPECT_EQ(told(0.5), 0.4);
  EXPECT_EQ(told(std::nullopt), std::nullopt);
}

TEST_F(ProfileCollectorTest, TellsTheMeanWhenItIsNewTrustedOrMovedAndNotMoreOften) {
  ASSERT_TRUE(Take(Report("a", 4, 2)).ok());
  EXPECT_THAT(collector_.Flush(0, Find), IsEmpty());
  ASSERT_TRUE(Told("a"));
  EXPECT_EQ(Told("a")->samples, 4);
  EXPECT_EQ(Told("a")->iteration_seconds, 2);
  // Twenty iterations are trusted: worth telling, once the interval is over.
  ASSERT_TRUE(Take(Report("a", 16, 2)).ok());
  collector_.Flush(29'999, Find);
  EXPECT_EQ(Told("a")->samples, 4);
  collector_.Flush(30'000, Find);
  EXPECT_EQ(Told("a")->samples, 20);
  // More of the same is not.
  ASSERT_TRUE(Take(Report("a", 20, 2.02)).ok());
  collector_.Flush(90'000, Find);
  EXPECT_EQ(Told("a")->samples, 20);
  ASSERT_TRUE(Take(Report("a", 40, 4)).ok());
  collector_.Flush(150'000, Find);
  EXPECT_NEAR(*Told("a")->iteration_seconds, 3.005, 1e-9);
  EXPECT_EQ(collector_.writes(), 3);
}

TEST_F(ProfileCollectorTest, OldIterationsLoseTheirWeight) {
  ASSERT_TRUE(Take(Report("a", 1000, 1)).ok());
  ASSERT_TRUE(Take(Report("a", 100, 3)).ok());
  collector_.Flush(0, Find);
  EXPECT_NEAR(*Told("a")->iteration_seconds, 2, 1e-9);
  EXPECT_EQ(Told("a")->samples, 200);
}

TEST_F(ProfileCollectorTest, WhatCannotBeTrueIsRefusedAndLeavesNoTrace) {
  rpc::IterationReport bad = Report("a", 5, 1);
  for (const double value : {-1.0, 0.0, 1e9, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    bad.means.iteration_seconds = value;
    EXPECT_EQ(Take(bad).code(), absl::StatusCode::kInvalidArgument) << value;
  }
  EXPECT_FALSE(Take(Report("a", 0, 1)).ok());
  EXPECT_FALSE(Take(Report("a", -7, 1)).ok());
  EXPECT_FALSE(Take(Report("a", std::numeric_limits<std::int64_t>::max(), 1)).ok());
  bad = Report("a", 5, 1);
  bad.means.sent_bytes.assign(65, 1.0);
  EXPECT_FALSE(Take(bad).ok());
  EXPECT_EQ(collector_.refused(), 9);
  EXPECT_EQ(collector_.taken(), 0);
  collector_.Flush(0, Find);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 0);
}

TEST_F(ProfileCollectorTest, AFailedWriteIsTriedAgainAndAPodThatIsGoneIsForgotten) {
  ASSERT_TRUE(Take(Report("a", 4, 2)).ok());
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  EXPECT_THAT(collector_.Flush(0, Find), SizeIs(1));
  EXPECT_THAT(collector_.Flush(1'000, Find), IsEmpty());
  EXPECT_FALSE(Told("a"));
  EXPECT_THAT(collector_.Flush(30'000, Find), IsEmpty());
  EXPECT_TRUE(Told("a"));
  ASSERT_TRUE(Take(Report("stranger", 4, 2)).ok());
  collector_.Flush(60'000, Find);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 2);
}

TEST_F(ProfileCollectorTest, AHostThatGrowsSlowIsToldWithinAMinuteThoughTheMeanIsOfMany) {
  for (int i = 0; i < 200; ++i) Iterate(1);
  EXPECT_EQ(Told("a")->recent_compute_seconds, 1);
  for (int i = 0; i < 30; ++i) Iterate(1.4);
  EXPECT_EQ(Told("a")->recent_compute_seconds, 1.4);
  EXPECT_LT(*Told("a")->compute_seconds, 1.1);
}

TEST_F(ProfileCollectorTest, APauseIsNotToldAsCompute) {
  for (int i = 0; i < 200; ++i) {
    Iterate(i % 20 == 0 ? 30 : 1);
    const auto told = Told("a");
    EXPECT_EQ(told->recent_compute_seconds.value_or(1), 1);
  }
}

TEST_F(ProfileCollectorTest, WhatIsNotReportedAnyMoreIsNotToldWithANewTime) {
  rpc::IterationReport report = Report("a", 2, 2);
  const auto iterate = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.Advance(4'000);
      ASSERT_TRUE(Take(report).ok());
      collector_.Flush(clock_.SteadyMs(), Find);
    }
  };
  report.means.compute_seconds = 1;
  report.means.gpu_clock_mhz = 1'755;
  report.means.sent_bytes = {1e9, 2e9};
  iterate(40);
  EXPECT_EQ(Told("a")->recent_compute_seconds, 1);
  EXPECT_EQ(Told("a")->gpu_clock_mhz, 1'755);
  // The exporter of the GPUs is gone.
  report.means.gpu_clock_mhz.reset();
  iterate(7);
  EXPECT_EQ(Told("a")->gpu_clock_mhz, 1'755) << "one reading may be missing";
  iterate(20);
  EXPECT_EQ(Told("a")->gpu_clock_mhz, std::nullopt);
  EXPECT_NE(Told("a")->time_ms, 0);
  report.means.gpu_clock_mhz = 1'755;
  report.means.compute_seconds.reset();
  report.means.sent_bytes = {1e9};
  iterate(30);
  EXPECT_EQ(Told("a")->recent_compute_seconds, std::nullopt);
  EXPECT_EQ(Told("a")->compute_seconds, 1) << "of most of the last 200 iterations";
  EXPECT_EQ(Told("a")->time_ms, 0) << "the mean is not of now";
  EXPECT_EQ(Told("a")->sent_bytes.size(), 2u);
  iterate(90);
  EXPECT_EQ(Told("a")->compute_seconds, std::nullopt);
  EXPECT_EQ(Told("a")->sent_bytes.size(), 1u);
  EXPECT_EQ(Told("a")->gpu_clock_mhz, 1'755);
  EXPECT_NE(Told("a")->time_ms, 0);
}

TEST_F(ProfileCollectorTest, WhatDoesNotChangeIsRenewedMoreAndMoreSeldom) {
  std::vector<std::int64_t> told_ms;
  for (int i = 0; i < 1'000; ++i) {
    const std::int64_t before = collector_.writes();
    Iterate(1);
    if (collector_.writes() == before) continue;
    told_ms.push_back(clock_.SteadyMs());
    EXPECT_EQ(Told("a")->time_ms, i < 4 ? 0 : clock_.WallMs() / 1000 * 1000);
  }
  std::vector<std::int64_t> gaps_s;
  for (std::size_t i = told_ms.size() - 6; i < told_ms.size(); ++i) {
    gaps_s.push_back((told_ms[i] - told_ms[i - 1]) / 1000);
  }
  EXPECT_THAT(gaps_s, testing::ElementsAre(60, 120, 240, 480, 480, 480));
  // No iteration, no word.
  clock_.Advance(3'600'000);
  const std::int64_t writes = collector_.writes();
  collector_.Flush(clock_.SteadyMs(), Find);
  collector_.Flush(clock_.SteadyMs() + 3'600'000, Find);
  EXPECT_LE(collector_.writes(), writes + 1);
}

TEST_F(ProfileCollectorTest, ReportsComeInWhileOthersAreWritten) {
  std::vector<std::thread> threads;
  for (const char* pod : {"a", "b"}) {
    threads.emplace_back([this, pod] {
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(collector_.Take(Report(pod, 1, 1), i, i).ok());
    });
  }
  for (int i = 0; i < 50; ++i) collector_.Flush(i * 30'000, Find);
  for (std::thread& thread : threads) thread.join();
  collector_.Flush(10'000'000, Find);
  EXPECT_EQ(collector_.taken(), 1000);
  EXPECT_TRUE(Told("a") && Told("b"));
}

}  // namespace
}  // namespace yardmaster::agent
