#include "pkg/app/run_process.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::app {
namespace {

class AccessWithoutAnswer final : public KubeAccess {
 public:
  absl::StatusOr<std::unique_ptr<kube::Client>> NewClient(const ClientLimits&) override {
    return absl::UnimplementedError("none");
  }
  void End() override {}
  std::int64_t LastAnswerMs() const override { return -1; }
};

double Silence(Runtime& runtime, const std::string& of) {
  const std::string text = runtime.registry().Text();
  const std::string series = StrCat("yardmaster_api_silence_seconds{of=\"", of, "\"} ");
  const std::size_t at = text.find(series);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size()));
}

TEST(StalenessMetricTest, BeforeTheFirstAnswerTheSilenceCountsFromTheStart) {
  Runtime runtime({}, "test");
  kube::FakeClient client{runtime.clock()};
  state::ClusterCache cache;
  const state::ClusterFeed feed(client, cache, {state::Kind::kPod}, {}, runtime.timing());
  const AccessWithoutAnswer access;
  AddStalenessCheck(runtime, access, feed, /*leader_election=*/true);
  for (const char* of : {"answer", "watch"}) {
    EXPECT_GE(Silence(runtime, of), 0) << runtime.registry().Text();
    EXPECT_LT(Silence(runtime, of), 60) << "not since the machine's start";
  }
}

}  // namespace
}  // namespace yardmaster::app
