#include "pkg/agent/plans/coverage_writer.h"

#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

class CoverageWriterTest : public ::testing::Test {
 protected:
  CoverageWriterTest() {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "u"}}}});
  }
  static std::optional<PodInput> Find(const std::string& uid) {
    if (uid != "u") return std::nullopt;
    PodInput pod;
    pod.ns = "team";
    pod.name = "a";
    pod.uid = uid;
    return pod;
  }
  std::optional<api::ConnectionReport> Reported() const {
    const auto pod = client_.Find(kube::Pods(), "team", "a");
    if (!(*pod)["metadata"].contains("annotations")) return std::nullopt;
    const auto report = api::DecodeConnectionReport(
        (*pod)["metadata"]["annotations"].value(api::kConnectionsAnnotation, std::string()));
    return report.ok() ? std::optional(*report) : std::nullopt;
  }
  static ShimSummary Summary(int steered, int unsteered) {
    ShimSummary summary;
    summary.steered = steered;
    summary.unsteered = unsteered;
    summary.reasons = {{"no plan", 1}, {"refused by the device", unsteered}};
    return summary;
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  CoverageWriter writer_{client_};
};

TEST_F(CoverageWriterTest, CountsAndTheMostFrequentReasonAreWrittenWhenTheyChange) {
  EXPECT_TRUE(writer_.Flush(0, {{"u", Summary(16, 2)}}, &Find).empty());
  EXPECT_EQ(Reported(), (api::ConnectionReport{16, 2, 0, "refused by the device"}));
  EXPECT_TRUE(writer_.Flush(1'000, {{"u", Summary(18, 0)}}, &Find).empty());
  EXPECT_EQ(Reported()->steered, 16) << "not more often than every 30 s";
  EXPECT_TRUE(writer_.Flush(30'000, {{"u", Summary(18, 0)}}, &Find).empty());
  EXPECT_EQ(Reported()->steered, 18);
}

TEST_F(CoverageWriterTest, AWriteThatFailsIsMadeAgainAndAPodWithoutConnectionsIsNotWritten) {
  EXPECT_TRUE(writer_.Flush(0, {{"u", ShimSummary()}}, &Find).empty());
  EXPECT_FALSE(Reported().has_value());
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(writer_.Flush(0, {{"u", Summary(1, 0)}}, &Find).size(), 1u);
  EXPECT_TRUE(writer_.Flush(30'000, {{"u", Summary(1, 0)}}, &Find).empty());
  EXPECT_TRUE(Reported().has_value());
}

}  // namespace
}  // namespace yardmaster::agent
