#include "pkg/kube/informer.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLongMs = 60'000;

// What handlers report, in order, as text; tests wait for it.
class Journal {
 public:
  void Write(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  // The next `count` lines, as soon as they are there.
  std::vector<std::string> Take(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] { return lines_.size() >= count; });
    std::vector<std::string> taken(lines_.begin(), lines_.begin() + std::min(count, lines_.size()));
    lines_.erase(lines_.begin(), lines_.begin() + taken.size());
    return taken;
  }
  std::size_t size() {
    std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
};

class InformerTest : public testing::Test {
 protected:
  void MakePod(const std::string& name, int x = 0) {
    ASSERT_TRUE(
        client_
            .Create({Pods(), "default"}, {{"metadata", {{"name", name}}}, {"spec", {{"x", x}}}}, {})
            .ok());
  }
  void SetX(const std::string& name, int x) {
    ASSERT_TRUE(
        client_.Patch({Pods(), "default", name}, MergePatch({{"spec", {{"x", x}}}}), {}).ok());
  }
  void DeletePod(const std::string& name) {
    ASSERT_TRUE(client_.Delete({Pods(), "default", name}, {}).ok());
  }
  static std::int64_t XOf(JsonView pod) { return pod.At({"spec", "x"}).WholeNumber().value_or(-1); }
  InformerHandlers Handlers() {
    InformerHandlers handlers;
    handlers.failed = [this](const absl::Status& status) { failures_.Write(MessageOf(status)); };
    return handlers;
  }
  Timing timing() { return {clock_, sleeper_, 1}; }
  // A list counts when its end is read; its objects are handed on before.
  static bool CountsLists(const Informer& informer, std::int64_t lists) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (informer.stats().lists < lists && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return informer.stats().lists == lists;
  }

  FakeClock clock_;
  FakeSleeper sleeper_{clock_, FakeSleeper::Mode::kAdvance};
  FakeClient client_{clock_};
  Journal journal_;
  Journal failures_;
  CallbackSink sink_{[this](JsonView pod) { journal_.Write(StrCat(NameOf(pod), "=", XOf(pod))); },
                     [this](const ObjectIdentity& pod) { journal_.Write(StrCat("-", pod.name)); }};
};

TEST_F(InformerTest, ItListsInPagesThenFollows) {
  for (int i = 0; i < 5; ++i) MakePod(StrCat("p", i));
  Informer informer(client_, Pods(), {.page_size = 2}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_EQ(client_.CountCalls(Verb::kList, "pods"), 3);
  EXPECT_THAT(journal_.Take(5), ElementsAre("p0=0", "p1=0", "p2=0", "p3=0", "p4=0"));
  SetX("p1", 7);
  DeletePod("p2");
  MakePod("p9");
  EXPECT_THAT(journal_.Take(3), ElementsAre("p1=7", "-p2", "p9=0"));
}

TEST_F(InformerTest, WhatTheSinkThrowsForOneObjectIsAFailureThatNamesItAndEndsNothing) {
  MakePod("bad");
  MakePod("good");
  CallbackSink sink(
      [this](JsonView pod) {
        if (NameOf(pod) == "bad") throw std::runtime_error("type must be string");
        journal_.Write(NameOf(pod));
      },
      nullptr);
  Informer informer(client_, Pods(), {}, sink, Handlers(), timing());
  informer.Start();
  EXPECT_THAT(journal_.Take(1), ElementsAre("good"));
  EXPECT_THAT(failures_.Take(1), ElementsAre(testing::AllOf(HasSubstr("Pod default/bad"),
                                                            HasSubstr("type must be string"))));
  SetX("bad", 7);
  EXPECT_THAT(failures_.Take(1), ElementsAre(HasSubstr("Pod default/bad")));
  MakePod("next");
  EXPECT_THAT(journal_.Take(1), ElementsAre("next"));
  EXPECT_EQ(informer.stats().lists, 1) << "nothing was read again";
}

TEST_F(InformerTest, ABrokenWatchResumesWithoutListingAgain) {
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  MakePod("a");
  EXPECT_THAT(journal_.Take(1), ElementsAre("a=0"));
  client_.FailNext(Verb::kWatch, "pods", absl::UnavailableError("refused"), 3);
  client_.EndWatches(Pods(), absl::UnavailableError("cut"));
  SetX("a", 1);
  MakePod("b");
  EXPECT_THAT(journal_.Take(2), ElementsAre("a=1", "b=0"));
  EXPECT_THAT(failures_.Take(4), ElementsAre("cut", "refused", "refused", "refused"));
  EXPECT_EQ(informer.stats().lists, 1);
}

TEST_F(InformerTest, ABookmarkMovesTheResumePointPastCompaction) {
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  MakePod("a");
  journal_.Take(1);
  for (int i = 0; i < 3; ++i) client_.Seed(Nodes(), {{"metadata", {{"name", "n"}}}});
  const std::int64_t events = informer.stats().events;
  client_.SendBookmark(Pods());
  while (informer.stats().events == events) std::this_thread::yield();
  client_.Compact();
  client_.EndWatches(Pods());
  MakePod("b");
  EXPECT_THAT(journal_.Take(1), ElementsAre("b=0"));
  EXPECT_EQ(informer.stats().lists, 1);
}

TEST_F(InformerTest, AfterHistoryIsGoneTheDifferenceIsReportedDeletionsIncluded) {
  MakePod("a");
  MakePod("b");
  MakePod("c");
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  journal_.Take(3);
  client_.WaitForWatches(Pods(), 1);
  // The next watch is refused until all of this has happened.
  bool done = false;
  client_.SetHook([&](const Call& call) {
    if (call.verb == Verb::kWatch && !done) {
      done = true;
      client_.Seed(Pods(),
                   {{"metadata", {{"name", "b"}, {"uid", "another"}}}, {"spec", {{"x", 5}}}});
      SetX("c", 3);
      DeletePod("a");
      client_.Compact();
    }
    return absl::OkStatus();
  });
  client_.EndWatches(Pods(), absl::UnavailableError("cut"));
  EXPECT_THAT(journal_.Take(4), ElementsAre("-b", "b=5", "c=3", "-a"));
  EXPECT_TRUE(CountsLists(informer, 2));
}

TEST_F(InformerTest, AnObjectMadeAgainUnderItsNameIsDeletedAndAdded) {
  MakePod("a", 1);
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  client_.Seed(Pods(), {{"metadata", {{"name", "a"}, {"uid", "another"}}}, {"spec", {{"x", 2}}}});
  EXPECT_THAT(journal_.Take(3), ElementsAre("a=1", "-a", "a=2"));
}

TEST_F(InformerTest, AFailingListIsTriedAgainWithGrowingDelaysAndNamedOnTimeout) {
  client_.FailNext(Verb::kList, "pods", absl::PermissionDeniedError("pods is forbidden"), 4);
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  const std::vector<std::int64_t> slept = sleeper_.slept();
  ASSERT_GE(slept.size(), 4u);
  EXPECT_LT(slept[0], 1600);
  EXPECT_GE(slept[3], 6400);
  informer.Stop();

  client_.FailNext(Verb::kList, "pods", absl::PermissionDeniedError("pods is forbidden"), 1 << 30);
  FakeSleeper manual(clock_, FakeSleeper::Mode::kManual);
  Informer denied(client_, Pods(), {}, sink_, {}, {clock_, manual, 1});
  denied.Start();
  manual.WaitForSleepers(1);
  const absl::Status status = denied.WaitForSync(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(MessageOf(status), HasSubstr("pods is forbidden"));
}

TEST_F(InformerTest, WatchesThatOnlyFailLeadToANewList) {
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  client_.FailNext(Verb::kWatch, "pods", absl::UnavailableError("version too large"), 5);
  informer.Start();
  failures_.Take(5);
  MakePod("a");
  EXPECT_THAT(journal_.Take(1), ElementsAre("a=0"));
  EXPECT_TRUE(CountsLists(informer, 2));
}

TEST_F(InformerTest, AWatchThatEndsAtOnceIsNotAskedForInATightLoop) {
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  client_.FailNext(Verb::kWatch, "pods", absl::OkStatus(), 2, FaultWhen::kAfterEffect);
  informer.Start();
  failures_.Take(2);
  EXPECT_GE(sleeper_.slept().size(), 1u);
}

TEST_F(InformerTest, AStreamedListGoesOnAsTheWatch) {
  client_.AllowStreamedLists();
  MakePod("a");
  MakePod("b");
  Informer informer(client_, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_EQ(client_.CountCalls(Verb::kList, "pods"), 0);
  EXPECT_EQ(informer.stats().streamed_lists, 1);
  EXPECT_THAT(journal_.Take(2), ElementsAre("a=0", "b=0"));
  DeletePod("a");
  EXPECT_THAT(journal_.Take(1), ElementsAre("-a"));
  EXPECT_EQ(client_.CountCalls(Verb::kWatch, "pods"), 1);
  // The watch resumes from what the stream brought last.
  client_.EndWatches(Pods(), absl::UnavailableError("cut"));
  SetX("b", 4);
  EXPECT_THAT(journal_.Take(1), ElementsAre("b=4"));
  EXPECT_EQ(informer.stats().lists, 1);
}

TEST_F(InformerTest, WhatChangesWhileAListIsStreamedIsNotLost) {
  client_.AllowStreamedLists();
  MakePod("a");
  MakePod("b");
  CallbackSink sink(
      [this](JsonView pod) {
        if (NameOf(pod) == "b") {
          SetX("a", 5);
          DeletePod("b");
        }
        journal_.Write(StrCat(NameOf(pod), "=", XOf(pod)));
      },
      [this](const ObjectIdentity& pod) { journal_.Write(StrCat("-", pod.name)); });
  Informer informer(client_, Pods(), {.stream_lists = true}, sink, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  ASSERT_EQ(journal_.size(), 4u);
  EXPECT_THAT(journal_.Take(4), ElementsAre("a=0", "b=0", "a=5", "-b"));
  EXPECT_EQ(sink.size(), 1u);
}

TEST_F(InformerTest, AServerThatCannotStreamListsIsAskedForPages) {
  MakePod("a");
  Informer informer(client_, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_EQ(client_.CountCalls(Verb::kList, "pods"), 1);
  EXPECT_EQ(informer.stats().streamed_lists, 0);
  EXPECT_EQ(failures_.size(), 0u);
}

TEST_F(InformerTest, AStreamedListThatBreaksOffIsFollowedByPages) {
  client_.AllowStreamedLists();
  MakePod("a");
  client_.FailNext(Verb::kWatch, "pods", absl::UnavailableError("cut by a proxy"));
  Informer informer(client_, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_EQ(client_.CountCalls(Verb::kList, "pods"), 1);
  EXPECT_THAT(failures_.Take(1), ElementsAre("cut by a proxy"));
}

// Takes a streamed list, and never says that it has ended: as a server that ignores what it was
// asked for, or a proxy that holds the end back.
class EndlessListClient final : public Client {
 public:
  EndlessListClient(Client& client, FakeClock& clock) : client_(client), clock_(clock) {}
  absl::StatusOr<json> Get(const Target& target) override { return client_.Get(target); }
  absl::StatusOr<PageEnd> ReadPage(const Target& target, const ListOptions& options,
                                   const OnObject& on_object) override {
    return client_.ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const Target& target, const json& object,
                              const WriteOptions& options) override {
    return client_.Create(target, object, options);
  }
  absl::StatusOr<json> Replace(const Target& target, const json& object,
                               const WriteOptions& options) override {
    return client_.Replace(target, object, options);
  }
  absl::StatusOr<json> Patch(const Target& target, const PatchBody& patch,
                             const WriteOptions& options) override {
    return client_.Patch(target, patch, options);
  }
  absl::Status Delete(const Target& target, const DeleteOptions& options) override {
    return client_.Delete(target, options);
  }
  absl::Status Watch(const Target& target, const WatchOptions& options, std::stop_token stop,
                     const std::function<void(const WatchEvent&)>& on_event) override {
    if (!options.send_initial_events) return client_.Watch(target, options, stop, on_event);
    ++streams;
    auto listed = client_.ReadPage(target, {}, [&](JsonView object) {
      on_event({WatchEventType::kAdded, object});
    });
    // Until the server ends it as asked, or the transport does a little later.
    clock_.Advance((options.timeout_seconds + 15) * std::int64_t{1000});
    return listed.ok() ? absl::DeadlineExceededError("no end in time") : listed.status();
  }

  int streams = 0;

 private:
  Client& client_;
  FakeClock& clock_;
};

TEST_F(InformerTest, AStreamedListThatNeverEndsIsFollowedByPagesBeforeAProcessGivesUp) {
  MakePod("a");
  EndlessListClient endless(client_, clock_);
  Informer informer(endless, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  const std::int64_t began_ms = clock_.SteadyMs();
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_LT(clock_.SteadyMs() - began_ms, 60'000) << "a process waits for 120 s";
  EXPECT_EQ(informer.stats().streamed_lists, 0);
  client_.WaitForWatches(Pods(), 1);
  // Nor is it asked again.
  client_.FailNext(Verb::kWatch, "pods", absl::OutOfRangeError("too old"));
  client_.EndWatches(Pods(), absl::UnavailableError("cut"));
  ASSERT_TRUE(CountsLists(informer, 2));
  EXPECT_EQ(endless.streams, 1);
}

TEST_F(InformerTest, AfterALongStreamedListTheNextListIsReadAtOnce) {
  client_.AllowStreamedLists();
  Informer informer(client_, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  informer.Start();
  for (int lists = 1; lists <= 3; ++lists) {
    ASSERT_TRUE(CountsLists(informer, lists));
    clock_.Advance(kLongMs);
    client_.FailNext(Verb::kWatch, "pods", absl::OutOfRangeError("too old"));
    client_.EndWatches(Pods(), absl::UnavailableError("cut"));
    EXPECT_THAT(failures_.Take(2), ElementsAre("cut", "too old"));
  }
  ASSERT_TRUE(CountsLists(informer, 4));
  EXPECT_THAT(sleeper_.slept(), IsEmpty());
}

TEST_F(InformerTest, AnEventOfAStreamedListBeginsTheBackoffAgain) {
  client_.AllowStreamedLists();
  const absl::Status down = absl::UnavailableError("down");
  client_.FailNext(Verb::kWatch, "pods", down, 3);
  client_.FailNext(Verb::kList, "pods", down, 3);
  Informer informer(client_, Pods(), {.stream_lists = true}, sink_, Handlers(), timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  MakePod("a");
  EXPECT_THAT(journal_.Take(1), ElementsAre("a=0"));
  const std::size_t outage = sleeper_.slept().size();
  EXPECT_EQ(outage, 6u);
  client_.FailNext(Verb::kWatch, "pods", down);
  client_.EndWatches(Pods(), absl::UnavailableError("cut"));
  SetX("a", 1);
  EXPECT_THAT(journal_.Take(1), ElementsAre("a=1"));
  const std::vector<std::int64_t> slept = sleeper_.slept();
  ASSERT_EQ(slept.size(), outage + 1);
  EXPECT_LT(slept.back(), 1'600);
}

TEST_F(InformerTest, SelectorsReachTheServer) {
  MakePod("a");
  client_.Seed(Pods(), {{"metadata", {{"name", "b"}}}, {"spec", {{"nodeName", "n1"}}}});
  Informer informer(client_, Pods(), {.field_selector = "spec.nodeName=n1"}, sink_, Handlers(),
                    timing());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  EXPECT_THAT(journal_.Take(1), ElementsAre("b=-1"));
  informer.Stop();
  EXPECT_EQ(sink_.size(), 1u);
}

TEST_F(InformerTest, LastContactMovesWithListsAndEvents) {
  Informer informer(client_, Pods(), {}, sink_, Handlers(), timing());
  EXPECT_EQ(informer.LastContactMs(), -1);
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(kLongMs).ok());
  const std::int64_t listed = informer.LastContactMs();
  EXPECT_GE(listed, 0);
  client_.WaitForWatches(Pods(), 1);
  clock_.Advance(5000);
  const std::int64_t events = informer.stats().events;
  client_.SendBookmark(Pods());
  while (informer.LastContactMs() < listed + 5000) std::this_thread::yield();
  EXPECT_EQ(informer.stats().events, events + 1);
}

TEST_F(InformerTest, StopEndsItAndWaitersKnow) {
  client_.FailNext(Verb::kList, "pods", absl::UnavailableError("down"), 1 << 30);
  FakeSleeper manual(clock_, FakeSleeper::Mode::kManual);
  Informer informer(client_, Pods(), {}, sink_, {}, {clock_, manual, 1});
  informer.Start();
  manual.WaitForSleepers(1);
  informer.Stop();
  EXPECT_TRUE(absl::IsCancelled(informer.WaitForSync(kLongMs)));
}

}  // namespace
}  // namespace yardmaster::kube
