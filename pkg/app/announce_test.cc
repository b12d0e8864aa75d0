#include "pkg/app/announce.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/kube/testing/fake_sleeper.h"

namespace yardmaster::app {
namespace {

using ::testing::HasSubstr;

TEST(AnnounceTest, EventsThatTheApiServerRefusesAreInTheMetrics) {
  FakeClock clock;
  kube::FakeSleeper sleeper(clock, kube::FakeSleeper::Mode::kAdvance);
  kube::FakeClient client(clock);
  kube::EventRecorder events(client, {"yardmaster.dev/test", "test-0"}, {clock, sleeper, 1});
  metrics::Registry registry;
  CountDroppedEvents(events, registry);
  EXPECT_THAT(registry.Text(), HasSubstr("\nyardmaster_events_dropped_total 0\n"));
  client.FailNext(kube::Verb::kCreate, "events", absl::PermissionDeniedError("forbidden"));
  kube::EventRecord event;
  event.regarding = {"v1", "Pod", "team", "a", ""};
  event.note = "x";
  events.Record(event);
  events.Flush();
  EXPECT_THAT(registry.Text(), HasSubstr("\nyardmaster_events_dropped_total 1\n"));
}

}  // namespace
}  // namespace yardmaster::app
