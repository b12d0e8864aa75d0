#include "pkg/cli/apply_move.h"

#include <functional>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// While the command sleeps, the operator works.
class OperatorSleeper final : public kube::Sleeper {
 public:
  OperatorSleeper(FakeClock& clock, std::function<void()> work)
      : clock_(clock), work_(std::move(work)) {}
  bool Sleep(std::int64_t ms, std::stop_token) override {
    clock_.Advance(ms);
    work_();
    return true;
  }

 private:
  FakeClock& clock_;
  const std::function<void()> work_;
};

class ApplyMoveTest : public testing::Test {
 protected:
  ApplyMoveTest() : client_(clock_) {
    client_.Seed(kube::TrainingJobs(), {{"apiVersion", api::kGroupVersion},
                                        {"kind", api::kTrainingJobKind},
                                        {"metadata", {{"name", "a"}, {"namespace", "team"}}},
                                        {"spec", {{"workers", 2}, {"template", json::object()}}}});
  }
  json Job() { return *client_.Find(kube::TrainingJobs(), "team", "a"); }
  void SetMove(const std::string& state, const std::string& message = "") {
    json job = Job();
    job["status"]["move"] = {{"id", "m1"}, {"state", state}, {"message", message}};
    job["status"]["conditions"] = json::array({{{"type", "Running"},
                                                {"status", "False"},
                                                {"reason", "WorkersMissing"},
                                                {"message", "1 of 2 workers running"}}});
    client_.Seed(kube::TrainingJobs(), job);
  }
  absl::Status Apply(std::function<void()> work, int wait_seconds = 60) {
    OperatorSleeper sleeper(clock_, std::move(work));
    return ApplyMove(client_, {"team", "a", "m1", {"n2", "n3"}}, wait_seconds, clock_, sleeper,
                     out_);
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::ostringstream out_;
};

TEST_F(ApplyMoveTest, TheRequestIsAnAnnotationAndEachStepIsALine) {
  int looks = 0;
  const absl::Status applied = Apply([&] {
    static const char* const kStates[] = {"Asked", "Asked", "Moving", "Moving", "Done"};
    SetMove(kStates[looks], looks == 4 ? "1 segment instead of 2" : "");
    ++looks;
  });
  ASSERT_TRUE(applied.ok()) << applied;
  const auto request = api::DecodeMoveRequest(
      Job()["metadata"]["annotations"][api::kMoveAnnotation].get<std::string>());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(*request, (api::MoveRequest{"m1", {"n2", "n3"}}));
  EXPECT_EQ(out_.str(),
            "trainingjob/a in team: requested\n"
            "trainingjob/a in team: asked for: the next hosts are to be kept for the job\n"
            "trainingjob/a in team: moving: 1 of 2 workers running\n"
            "trainingjob/a in team: moved: 1 segment instead of 2\n");
}

TEST_F(ApplyMoveTest, ARefusalIsAnErrorWithItsReason) {
  for (const char* state : {"Refused", "Abandoned"}) {
    const absl::Status applied = Apply([&] { SetMove(state, "host n2 is full"); });
    EXPECT_TRUE(absl::IsFailedPrecondition(applied));
    EXPECT_THAT(std::string(applied.message()), HasSubstr("is not moved: host n2 is full"));
    json job = Job();
    job.erase("status");
    client_.Seed(kube::TrainingJobs(), job);
  }
}

TEST_F(ApplyMoveTest, AnEarlierMoveOfTheJobIsNoAnswer) {
  SetMove("Done");
  json job = Job();
  job["status"]["move"]["id"] = "m0";
  client_.Seed(kube::TrainingJobs(), job);
  const absl::Status applied = Apply([] {});
  EXPECT_TRUE(absl::IsDeadlineExceeded(applied));
  EXPECT_THAT(std::string(applied.message()), HasSubstr("yardmaster-operator has not answered"));
}

TEST_F(ApplyMoveTest, WithoutAWaitTheRequestIsAll) {
  EXPECT_TRUE(Apply([] { FAIL() << "it does not wait"; }, 0).ok());
  EXPECT_EQ(out_.str(), "trainingjob/a in team: requested\n");
}

TEST_F(ApplyMoveTest, AJobThatIsNotThereIsAnError) {
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  EXPECT_TRUE(absl::IsNotFound(Apply([] {})));
}

}  // namespace
}  // namespace yardmaster::cli
