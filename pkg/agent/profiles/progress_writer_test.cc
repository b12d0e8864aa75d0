#include "pkg/agent/profiles/progress_writer.h"

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
    for (const absl::Status& error : writer.Flush(
             clock_.SteadyMs(), reports_, [this](const std::string& uid) { return Find(uid); })) {
      ADD_FAILURE() << error;
    }
  }
  static ProgressReport Waiting(ProcessActivity processes = ProcessActivity::kUnknown) {
    return {ProgressState::kWaiting, 1'700'000'000'123, processes, std::nullopt, 0, 0};
  }

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

TEST_F(ProgressWriterTest, AWorkerThatChangesItsMindIsWrittenTwiceAMinute) {
  for (int i = 0; i < 600; ++i) {
    reports_["p0"] = Waiting(i % 2 == 0 ? ProcessActivity::kIdle : ProcessActivity::kBusy);
    Flush(writer_);
    clock_.Advance(1'000);
  }
  EXPECT_LE(writer_.writes(), 21);
}

TEST_F(ProgressWriterTest, WhatAnEarlierProcessWroteIsNotWrittenAgain) {
  reports_["p0"] = Waiting(ProcessActivity::kStopped);
  Flush(writer_);
  ProgressWriter next(client_, {});
  Flush(next);
  EXPECT_EQ(next.writes(), 0);
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
  reports_["p0"] = {ProgressState::kProgressing, 1'700'000'000'000, {}, std::nullopt, 2, 0};
  reports_["gone"] = Waiting();
  Flush(writer_);
  EXPECT_EQ(writer_.writes(), 0);
}

}  // namespace
}  // namespace yardmaster::agent
