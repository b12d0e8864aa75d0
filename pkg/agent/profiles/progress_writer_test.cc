#include "pkg/agent/profiles/progress_writer.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

using api::ProcessActivity;
using api::ProgressReport;
using api::ProgressState;
using nlohmann::json;

class ProgressWriterTest : public testing::Test {
 protected:
  ProgressWriterTest() {
    for (int i = 0; i < 20; ++i) {
      const std::string name = StrCat("p", i);
      client_.Seed(kube::Pods(),
                   {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}}});
    }
  }
  // As the agent's watch has it.
  std::optional<PodInput> Find(const std::string& uid) const {
    const auto object = client_.Find(kube::Pods(), "team", uid);
    if (!object) return std::nullopt;
    PodInput pod;
    pod.ns = "team";
    pod.name = uid;
    pod.uid = uid;
    const auto& metadata = (*object)["metadata"];
    if (metadata.contains("annotations") &&
        metadata["annotations"].contains(api::kProgressAnnotation)) {
      pod.progress = metadata["annotations"][api::kProgressAnnotation].get<std::string>();
    }
    return pod;
  }
  void Flush(ProgressWriter& writer) {
    std::vector<std::string> annotated;
    for (int i = 0; i < 20; ++i) {
      const auto pod = Find(StrCat("p", i));
      if (pod && pod->progress) annotated.push_back(pod->uid);
    }
    for (const absl::Status& error :
         writer.Flush(clock_.SteadyMs(), reports_, annotated,
                      [this](const std::string& uid) { return Find(uid); })) {
      ADD_FAILURE() << error;
    }
  }
  ProgressReport Waiting(ProcessActivity processes = ProcessActivity::kUnknown) const {
    return {ProgressState::kWaiting, 1'700'000'000'123, processes, std::nullopt, 0, 0, NowMs()};
  }
  std::int64_t NowMs() const { return clock_.WallMs() / 1000 * 1000; }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  ProgressWriter writer_{client_, {}};
  std::map<std::string, ProgressReport> reports_;
};

TEST_F(ProgressWriterTest, OneWriteToWaitAndOneToGoOn) {
  reports_["p0"] = Waiting();
  for (int i = 0; i < 100; ++i) {
    Flush(writer_);
    clock_.Advance(1'000);
  }
  EXPECT_EQ(writer_.writes(), 1);
  const auto written = api::DecodeProgressReport(*Find("p0")->progress);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*written, reports_["p0"]);
  reports_["p0"].state = ProgressState::kProgressing;
  for (int i = 0; i < 100; ++i) {
    Flush(writer_);
    clock_.Advance(1'000);
  }
  EXPECT_EQ(writer_.writes(), 2);
  EXPECT_EQ(api::DecodeProgressReport(*Find("p0")->progress)->state, ProgressState::kProgressing);
}

TEST_F(ProgressWriterTest, AWorkerThatSeemsIdleAndBusyInTurnsIsWrittenMoreAndMoreSeldom) {
  std::vector<std::int64_t> gaps_s;
  std::int64_t last_ms = clock_.SteadyMs();
  for (int i = 0; i < 2'000; ++i) {
    const std::int64_t writes = writer_.writes();
    reports_["p0"] = Waiting(i % 7 < 3 ? ProcessActivity::kIdle : ProcessActivity::kBusy);
    Flush(writer_);
    if (writer_.writes() > writes) {
      gaps_s.push_back((clock_.SteadyMs() - last_ms) / 1000);
      last_ms = clock_.SteadyMs();
    }
    clock_.Advance(1'000);
  }
  ASSERT_EQ(gaps_s.size(), 8u);
  EXPECT_EQ(gaps_s[0], 0);
  for (std::size_t i = 1; i < gaps_s.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(gaps_s[i]), std::min(480.0, 15 * std::exp2(i)), 4) << i;
  }
  // That it goes on is written at once, and what comes after as for the first time.
  reports_["p0"].state = ProgressState::kProgressing;
  clock_.Advance(30'000);
  Flush(writer_);
  reports_["p0"] = Waiting(ProcessActivity::kIdle);
  clock_.Advance(30'000);
  Flush(writer_);
  reports_["p0"] = Waiting(ProcessActivity::kBusy);
  clock_.Advance(30'000);
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 11);
}

TEST_F(ProgressWriterTest, WhileAWorkerWaitsItsReportIsRenewed) {
  for (int i = 0; i < 3'600; ++i) {
    reports_["p0"] = Waiting();
    Flush(writer_);
    clock_.Advance(1'000);
    const std::int64_t written_ms = api::DecodeProgressReport(*Find("p0")->progress)->time_ms;
    ASSERT_LE(NowMs() - written_ms, api::kProgressRenewalMs + 1'000);
  }
  EXPECT_EQ(writer_.writes(), 8);
}

TEST_F(ProgressWriterTest, WhatAnEarlierProcessWroteIsNotWrittenAgain) {
  reports_["p0"] = Waiting(ProcessActivity::kStopped);
  Flush(writer_);
  ProgressWriter next(client_, {});
  Flush(next);
  EXPECT_EQ(next.writes(), 0);
}

TEST_F(ProgressWriterTest, ThatAWorkerWaitsIsWithdrawnWhereNothingIsKnownOfIt) {
  reports_["p0"] = Waiting(ProcessActivity::kStopped);
  reports_["p1"] = Waiting();
  reports_["p2"] = Waiting();
  Flush(writer_);
  clock_.Advance(30'000);
  reports_["p1"].state = ProgressState::kProgressing;
  Flush(writer_);
  json pod = *client_.Find(kube::Pods(), "team", "p2");
  pod["metadata"]["annotations"][api::kProgressAnnotation] = "hung";
  client_.Seed(kube::Pods(), pod);
  // The agent restarts, and the workers go on.
  reports_.clear();
  ProgressWriter next(client_, {});
  for (int i = 0; i < 100; ++i) {
    Flush(next);
    clock_.Advance(1'000);
  }
  EXPECT_EQ(Find("p0")->progress, std::nullopt);
  EXPECT_NE(Find("p1")->progress, std::nullopt) << "it does not say that it waits";
  EXPECT_EQ(Find("p2")->progress, std::nullopt);
  EXPECT_EQ(next.writes(), 2);
}

TEST_F(ProgressWriterTest, AWriteThatFailsIsTriedAgainAfterTheShortInterval) {
  const auto fails = [this] {
    return writer_
        .Flush(clock_.SteadyMs(), reports_, {},
               [this](const std::string& uid) { return Find(uid); })
        .size();
  };
  for (int i = 0; i < 5; ++i) {
    reports_["p0"] = Waiting(i % 2 == 0 ? ProcessActivity::kIdle : ProcessActivity::kBusy);
    Flush(writer_);
    clock_.Advance(api::kProgressRenewalMs);
  }
  EXPECT_EQ(writer_.writes(), 5);
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("away"), 1);
  reports_["p0"] = Waiting(ProcessActivity::kBusy);
  EXPECT_EQ(fails(), 1u);
  clock_.Advance(29'999);
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 5);
  clock_.Advance(1);
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 6);
}

TEST_F(ProgressWriterTest, ManyPodsOfAHostAreWrittenAFewAtATime) {
  for (int i = 0; i < 20; ++i) reports_[StrCat("p", i)] = Waiting();
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 8);
  Flush(writer_);
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 20);
}

TEST_F(ProgressWriterTest, AWorkerThatIsNotKnownToHaveWaitedIsNotWritten) {
  reports_["p0"] = {
      ProgressState::kProgressing, 1'700'000'000'000, {}, std::nullopt, 2, 0, NowMs()};
  reports_["gone"] = Waiting();
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 0);
}

}  // namespace
}  // namespace yardmaster::agent
