#include "pkg/agent/profiles/checkpoint_marks.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kTimeMs = 1'767'225'600'000;  // 2026-01-01T00:00:00Z

class CheckpointMarksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-checkpoint-marks");
    std::filesystem::remove_all(root_);
    volume_ = StrCat(root_, "/u/volumes/kubernetes.io~empty-dir/yardmaster-checkpoint-mark");
    std::filesystem::create_directories(volume_);
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", {{"name", "a-0"}, {"namespace", "team"}, {"uid", "u"}}}});
    marks_ = std::make_unique<CheckpointMarks>(client_, CheckpointOptions{root_});
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& text) { std::ofstream(volume_ + "/mark") << text; }
  static std::string Mark(std::int64_t time_ms, double seconds = 0) {
    return api::EncodeCheckpointMark({time_ms, seconds});
  }
  static std::optional<PodInput> Find(const std::string& uid) {
    if (uid != "u") return std::nullopt;
    PodInput pod;
    pod.ns = "team";
    pod.name = "a-0";
    pod.uid = uid;
    return pod;
  }
  std::vector<absl::Status> Poll(std::int64_t steady_ms) {
    return marks_->Poll(steady_ms, {"u"}, &Find);
  }
  std::string Told() const {
    const auto pod = client_.Find(kube::Pods(), "team", "a-0");
    return (*pod)["metadata"]
        .value("annotations", nlohmann::json::object())
        .value(api::kCheckpointAnnotation, "");
  }

  std::string root_, volume_;
  FakeClock clock_;
  kube::FakeClient client_{clock_};
  std::unique_ptr<CheckpointMarks> marks_;
};

TEST_F(CheckpointMarksTest, WhatTheProgramWroteBecomesTheAnnotationOfItsPod) {
  EXPECT_TRUE(Poll(0).empty()) << "there is no mark yet";
  EXPECT_EQ(Told(), "");
  Write(Mark(kTimeMs, 42.5));
  EXPECT_TRUE(Poll(1'000).empty());
  EXPECT_EQ(Told(), Mark(kTimeMs, 42.5));
  const std::string last = api::EncodeCheckpointMark({kTimeMs + 1'000, 40, /*last=*/true});
  Write(last);
  EXPECT_TRUE(Poll(10'000).empty());
  EXPECT_EQ(Told(), last);
}

TEST_F(CheckpointMarksTest, AnEmptyFileIsACheckpointOfTheTimeAtWhichItWasWritten) {
  Write("");
  const timeval at[2] = {{kTimeMs / 1'000, 0}, {kTimeMs / 1'000, 700'000}};
  ASSERT_EQ(::utimes((volume_ + "/mark").c_str(), at), 0);
  EXPECT_TRUE(Poll(0).empty());
  EXPECT_EQ(Told(), Mark(kTimeMs));
}

TEST_F(CheckpointMarksTest, OnlyLaterCheckpointsAreWrittenAndNotMoreOftenThanEveryFiveSeconds) {
  Write(Mark(kTimeMs));
  Poll(0);
  Write(Mark(kTimeMs + 1'000));
  Poll(4'999);
  EXPECT_EQ(Told(), Mark(kTimeMs));
  Poll(6'000);
  EXPECT_EQ(Told(), Mark(kTimeMs + 1'000));
  Write(Mark(kTimeMs - 60'000));
  Poll(20'000);
  EXPECT_EQ(Told(), Mark(kTimeMs + 1'000)) << "a checkpoint is not taken back";
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 2);
}

TEST_F(CheckpointMarksTest, AWriteThatFailsIsMadeAgain) {
  Write(Mark(kTimeMs));
  client_.FailNext(kube::Verb::kPatch, "pods", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(Poll(0).size(), 1u);
  EXPECT_TRUE(Poll(5'000).empty());
  EXPECT_EQ(Told(), Mark(kTimeMs));
}

TEST_F(CheckpointMarksTest, AMarkThatCannotBeReadIsSaidWithItsPodAndWritesNothing) {
  Write(R"({"version":1})");
  const auto errors = Poll(0);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(MessageOf(errors[0]), HasSubstr("team/a-0"));
  EXPECT_THAT(MessageOf(errors[0]), HasSubstr("say when the checkpoint was begun"));
  EXPECT_EQ(Told(), "");
}

TEST_F(CheckpointMarksTest, ATenantCannotMakeTheAgentReadOrWaitForAnythingElse) {
  const std::string mark = volume_ + "/mark";
  std::ofstream(root_ + "/secret") << Mark(kTimeMs);
  std::filesystem::create_symlink(root_ + "/secret", mark);
  EXPECT_TRUE(absl::IsNotFound(ReadCheckpointMark(root_, "u").status()));
  std::filesystem::remove(mark);
  ASSERT_EQ(mkfifo(mark.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsNotFound(ReadCheckpointMark(root_, "u").status()));
  std::filesystem::remove(mark);
  Write(std::string(1 << 20, '{'));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadCheckpointMark(root_, "u").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadCheckpointMark(root_, "../u").status()));
  std::filesystem::remove_all(volume_);
  std::filesystem::create_directory_symlink(root_, volume_);
  EXPECT_FALSE(ReadCheckpointMark(root_, "u").ok()) << "the volume itself is a link";
}

TEST_F(CheckpointMarksTest, WithoutKubeletsFolderNothingIsRead) {
  Write(Mark(kTimeMs));
  CheckpointMarks off(client_, {});
  EXPECT_TRUE(off.Poll(0, {"u"}, &Find).empty());
  EXPECT_EQ(Told(), "");
}

}  // namespace
}  // namespace yardmaster::agent
