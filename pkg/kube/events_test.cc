#include "pkg/kube/events.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/kube/testing/fake_sleeper.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class EventsTest : public testing::Test {
 protected:
  static EventRecord Event(const std::string& note, const std::string& name = "job") {
    EventRecord event;
    event.regarding = {"yardmaster.dev/v1alpha1", "TrainingJob", "team", name, "uid-1"};
    event.reason = "NotPlanned";
    event.action = "Placing";
    event.note = note;
    return event;
  }
  static EventWriterOptions Options() {
    EventWriterOptions options;
    options.controller = "yardmaster.dev/extender";
    options.instance = "extender-0";
    return options;
  }
  void Write(const EventRecord& event) { ASSERT_TRUE(writer_.Write(event, clock_.WallMs()).ok()); }

  FakeClock clock_;
  FakeSleeper sleeper_{clock_, FakeSleeper::Mode::kAdvance};
  FakeClient client_{clock_};
  EventWriter writer_{client_, Options(), clock_, 1};
};

TEST_F(EventsTest, AnEventCarriesWhatTheApiAsksFor) {
  EventRecord event = Event("2 hosts short in segment 7");
  event.type = EventType::kWarning;
  Write(event);
  ASSERT_EQ(client_.All(Events()).size(), 1u);
  const json written = client_.All(Events())[0];
  EXPECT_EQ(NamespaceOf(written), "team");
  EXPECT_THAT(NameOf(written), StartsWith("job."));
  EXPECT_EQ(written["eventTime"], FormatMicroTime(clock_.WallMs()));
  EXPECT_EQ(written["reportingController"], "yardmaster.dev/extender");
  EXPECT_EQ(written["reportingInstance"], "extender-0");
  EXPECT_EQ(written["type"], "Warning");
  EXPECT_EQ(written["reason"], "NotPlanned");
  EXPECT_EQ(written["action"], "Placing");
  EXPECT_EQ(written["note"], "2 hosts short in segment 7");
  EXPECT_EQ(written["regarding"]["uid"], "uid-1");
  EXPECT_FALSE(written.contains("series"));
}

TEST_F(EventsTest, EventsAboutClusterScopedObjectsGoToDefault) {
  EventRecord event = Event("x");
  event.regarding = {"v1", "Node", "", "n1", ""};
  Write(event);
  EXPECT_EQ(NamespaceOf(client_.All(Events())[0]), "default");
  EXPECT_FALSE(client_.All(Events())[0]["regarding"].contains("namespace"));
}

TEST_F(EventsTest, TheSameEventCountsUpInsteadOfBecomingAnother) {
  Write(Event("x"));
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(1000);
    Write(Event("x"));
  }
  ASSERT_TRUE(writer_.WriteDue().ok());
  EXPECT_FALSE(client_.All(Events())[0].contains("series"));  // not due yet
  clock_.Advance(30'000);
  ASSERT_TRUE(writer_.WriteDue().ok());
  ASSERT_EQ(client_.All(Events()).size(), 1u);
  const json series = client_.All(Events())[0]["series"];
  EXPECT_EQ(series["count"], 5);
  EXPECT_EQ(series["lastObservedTime"], FormatMicroTime(clock_.WallMs() - 30'000));
  EXPECT_EQ(writer_.writes(), 2);
}

TEST_F(EventsTest, ASeriesEndsAfterSixIdleMinutesWithItsLastCountWritten) {
  Write(Event("x"));
  Write(Event("x"));
  clock_.Advance(6 * 60'000);
  ASSERT_TRUE(writer_.WriteDue().ok());
  EXPECT_EQ(client_.All(Events())[0]["series"]["count"], 2);
  Write(Event("x"));
  EXPECT_EQ(client_.All(Events()).size(), 2u);
}

TEST_F(EventsTest, ACountForAnEventThatExpiredMakesItAgain) {
  Write(Event("x"));
  Write(Event("x"));
  const json first = client_.All(Events())[0];
  ASSERT_TRUE(client_.Delete({Events(), "team", NameOf(first)}, {}).ok());
  writer_.WriteOpen(clock_.SteadyMs() + 1);
  ASSERT_EQ(client_.All(Events()).size(), 1u);
  EXPECT_EQ(client_.All(Events())[0]["series"]["count"], 2);
}

TEST_F(EventsTest, ManySimilarEventsBecomeOne) {
  for (int i = 0; i < 50; ++i) Write(Event(StrCat("host n", i, " is gone")));
  writer_.WriteOpen(clock_.SteadyMs() + 1);
  EXPECT_EQ(client_.All(Events()).size(), 11u);
  int combined = 0;
  for (const json& event : client_.All(Events())) {
    if (!event["note"].get<std::string>().starts_with("(combined")) continue;
    ++combined;
    EXPECT_EQ(event["series"]["count"], 40);
  }
  EXPECT_EQ(combined, 1);
  Write(Event("about another object", "other"));
  EXPECT_EQ(client_.All(Events()).size(), 12u);
}

TEST_F(EventsTest, LongTextsAreCutAtCharacters) {
  std::string note(1023, 'x');
  Write(Event(note + "\xc3\xa9 and more", std::string(300, 'n')));
  const json written = client_.All(Events())[0];
  EXPECT_EQ(written["note"], note);
  EXPECT_LE(NameOf(written).size(), 253u);
}

TEST_F(EventsTest, ALongNameIsNotCutBehindADotOrADash) {
  for (const char* ends : {".", "-", "-.-"}) {
    const std::string kept(200 - std::string_view(ends).size(), 'n');
    Write(Event("note", kept + ends + std::string(40, 'm')));
  }
  for (const json& event : client_.All(Events())) {
    const std::string name = NameOf(event);
    EXPECT_EQ(name[name.rfind('.') - 1], 'n') << name << ": the API server refuses such a name";
  }
}

TEST_F(EventsTest, TheRecorderWritesOnItsThreadAndFlushWaitsForIt) {
  EventRecorder recorder(client_, Options(), {clock_, sleeper_, 1});
  for (int i = 0; i < 5; ++i) recorder.Record(Event(StrCat("note ", i)));
  recorder.Flush();
  EXPECT_EQ(client_.All(Events()).size(), 5u);
  EXPECT_EQ(recorder.dropped(), 0);
}

TEST_F(EventsTest, WhatTheServerCannotTakeIsTriedAgainAndWhatItRefusesIsDropped) {
  client_.FailNext(Verb::kCreate, "events", absl::UnavailableError("down"), 3);
  EventRecorder recorder(client_, Options(), {clock_, sleeper_, 1});
  recorder.Record(Event("a"));
  recorder.Flush();
  EXPECT_EQ(client_.All(Events()).size(), 1u);
  EXPECT_EQ(sleeper_.slept().size(), 3u);
  client_.FailNext(Verb::kCreate, "events", absl::PermissionDeniedError("forbidden"));
  recorder.Record(Event("b"));
  recorder.Flush();
  EXPECT_EQ(client_.All(Events()).size(), 1u);
  EXPECT_EQ(recorder.dropped(), 1);
}

TEST_F(EventsTest, AnEventWhoseAnswerWasLostIsThereOnce) {
  client_.FailNext(Verb::kCreate, "events", absl::UnavailableError("cut"), 1,
                   FaultWhen::kAfterEffect);
  EventRecorder recorder(client_, Options(), {clock_, sleeper_, 1});
  recorder.Record(Event("a"));
  recorder.Record(Event("b"));
  recorder.Flush();
  EXPECT_EQ(client_.All(Events()).size(), 2u);
  EXPECT_EQ(client_.CountCalls(Verb::kCreate, "events"), 3);
  EXPECT_EQ(recorder.dropped(), 0);
}

TEST_F(EventsTest, WritersWithDifferentSeedsWriteTheSameEventTwice) {
  Write(Event("a"));
  EventWriter other(client_, Options(), clock_, 2);
  ASSERT_TRUE(other.Write(Event("a"), clock_.WallMs()).ok());
  EXPECT_EQ(client_.All(Events()).size(), 2u);
}

TEST_F(EventsTest, AFullQueueDropsAndNeverBlocks) {
  FakeSleeper manual(clock_, FakeSleeper::Mode::kManual);
  client_.FailNext(Verb::kCreate, "events", absl::UnavailableError("down"), 1 << 30);
  EventRecorder recorder(client_, Options(), {clock_, manual, 1}, 3);
  recorder.Record(Event("first"));
  manual.WaitForSleepers(1);  // the first is out of the queue and being tried again
  for (int i = 0; i < 10; ++i) recorder.Record(Event(StrCat("note ", i)));
  EXPECT_EQ(recorder.dropped(), 7);
}

TEST_F(EventsTest, ANamespaceWithThousandsOfEventsDelaysAndDropsNoneOfAnother) {
  std::atomic<bool> hold = true;
  client_.SetHook([&](const Call&) {
    while (hold) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return absl::OkStatus();
  });
  EventRecorder recorder(client_, Options(), {clock_, sleeper_, 1}, 100);
  for (int i = 0; i < 2'000; ++i) {
    EventRecord event = Event("refused", StrCat("flood-", i));
    event.regarding.ns = "flood";
    recorder.Record(event);
  }
  recorder.Record(Event("placed", "good"));
  hold = false;
  recorder.Flush();
  client_.SetHook({});
  std::vector<std::string> order;
  for (const Call& call : client_.calls()) {
    if (call.verb == Verb::kCreate) order.push_back(call.target.ns);
  }
  const auto at = std::find(order.begin(), order.end(), "team");
  ASSERT_NE(at, order.end());
  EXPECT_LE(at - order.begin(), 3);
}

TEST_F(EventsTest, TheEndWritesWhatIsQueuedAndOpenCounts) {
  {
    EventRecorder recorder(client_, Options(), {clock_, sleeper_, 1});
    for (int i = 0; i < 3; ++i) recorder.Record(Event("same"));
  }
  ASSERT_EQ(client_.All(Events()).size(), 1u);
  EXPECT_EQ(client_.All(Events())[0]["series"]["count"], 3);
}

// Each call would last as long as a call may, and the process would be killed meanwhile.
TEST_F(EventsTest, TheEndDoesNotWaitForAServerThatDoesNotAnswer) {
  FakeSleeper manual(clock_, FakeSleeper::Mode::kManual);
  auto recorder = std::make_unique<EventRecorder>(client_, Options(), Timing{clock_, manual, 1});
  recorder->Record(Event("there", "a"));
  recorder->Record(Event("there", "a"));
  recorder->Record(Event("there", "b"));
  recorder->Record(Event("there", "b"));
  recorder->Flush();
  client_.FailNext(Verb::kCreate, "events", absl::DeadlineExceededError("no answer"), 1 << 30);
  client_.FailNext(Verb::kPatch, "events", absl::DeadlineExceededError("no answer"), 1 << 30);
  for (int i = 0; i < 10; ++i) recorder->Record(Event(StrCat("note ", i)));
  manual.WaitForSleepers(1);  // the first is being tried again
  client_.ClearCalls();
  recorder.reset();
  EXPECT_LE(client_.calls().size(), 2u);
}

// A queue of 1,000 events takes most of a minute at the client's rate, longer than a process has to
// end.
TEST_F(EventsTest, TheEndWritesForAShortTimeAlone) {
  FakeSleeper manual(clock_, FakeSleeper::Mode::kManual);
  auto recorder = std::make_unique<EventRecorder>(client_, Options(), Timing{clock_, manual, 1});
  for (int i = 0; i < 2; ++i) recorder->Record(Event("counted"));
  recorder->Flush();
  client_.FailNext(Verb::kCreate, "events", absl::ResourceExhaustedError("busy"));
  for (int i = 0; i < 100; ++i) recorder->Record(Event("queued", StrCat("job-", i)));
  manual.WaitForSleepers(1);  // the first is being tried again
  client_.ClearCalls();
  client_.SetHook([this](const Call&) {
    clock_.Advance(EventRecorder::kLastWritesMs / 10);
    return absl::OkStatus();
  });
  recorder.reset();
  EXPECT_EQ(client_.calls().size(), 10u);
}

}  // namespace
}  // namespace yardmaster::kube
