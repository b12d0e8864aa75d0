#include "pkg/kube/testing/fake_client.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;

Target Pod(const std::string& name = "") { return {Pods(), "default", name, ""}; }
Target Gang(const std::string& name = "", const std::string& subresource = "") {
  return {Gangs(), "default", name, subresource};
}

class FakeClientTest : public testing::Test {
 protected:
  json MustCreate(const Target& target, json object) {
    absl::StatusOr<json> created = client_.Create(target, object, {});
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *created : json();
  }
  json MakePod(const std::string& name, json labels = json::object()) {
    return MustCreate(
        Pod(), {{"metadata", {{"name", name}, {"labels", labels}}}, {"spec", {{"nodeName", ""}}}});
  }

  FakeClock clock_;
  FakeClient client_{clock_};
};

TEST_F(FakeClientTest, CreateFillsMetadataAndRefusesASecondOne) {
  const json pod = MakePod("a");
  EXPECT_FALSE(UidOf(pod).empty());
  EXPECT_FALSE(ResourceVersionOf(pod).empty());
  EXPECT_EQ(pod["metadata"]["creationTimestamp"], FormatTime(clock_.WallMs()));
  EXPECT_EQ(pod["kind"], "Pod");
  EXPECT_TRUE(absl::IsAlreadyExists(client_.Create(Pod(), pod, {}).status()));
  const json one = MustCreate(Pod(), {{"metadata", {{"generateName", "g-"}}}});
  const json two = MustCreate(Pod(), {{"metadata", {{"generateName", "g-"}}}});
  EXPECT_NE(NameOf(one), NameOf(two));
}

TEST_F(FakeClientTest, ADryRunAnswersAsACreateAndMakesNothing) {
  const json object = {{"metadata", {{"name", "a"}}}, {"spec", {{"x", 1}}}};
  const auto made = client_.Create(Pod(), object, {.dry_run = true});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ((*made)["spec"], object["spec"]);
  EXPECT_FALSE(UidOf(*made).empty());
  EXPECT_TRUE(absl::IsNotFound(client_.Get(Pod("a")).status()));
  EXPECT_TRUE(client_.calls().front().dry_run);
  MakePod("a");
  EXPECT_TRUE(absl::IsAlreadyExists(client_.Create(Pod(), object, {.dry_run = true}).status()));
}

TEST_F(FakeClientTest, AStaleReplaceIsAbortedAndAFreshOneBumpsTheVersion) {
  json gang = MustCreate(Gang(), {{"metadata", {{"name", "g"}}}, {"spec", {{"size", 2}}}});
  const json stale = gang;
  gang["spec"]["size"] = 3;
  absl::StatusOr<json> replaced = client_.Replace(Gang("g"), gang, {});
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ((*replaced)["metadata"]["generation"], 2);
  EXPECT_TRUE(absl::IsAborted(client_.Replace(Gang("g"), stale, {}).status()));
  json blind = *replaced;
  blind["metadata"].erase("resourceVersion");
  EXPECT_TRUE(absl::IsInvalidArgument(client_.Replace(Gang("g"), blind, {}).status()));
}

TEST_F(FakeClientTest, AWriteThatChangesNothingChangesNoVersion) {
  const json gang = MustCreate(Gang(), {{"metadata", {{"name", "g"}}}, {"spec", {{"size", 2}}}});
  absl::StatusOr<json> same = client_.Patch(Gang("g"), MergePatch({{"spec", {{"size", 2}}}}), {});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(ResourceVersionOf(*same), ResourceVersionOf(gang));
}

TEST_F(FakeClientTest, StatusAndTheRestAreWrittenApart) {
  MustCreate(Gang(),
             {{"metadata", {{"name", "g"}}}, {"spec", {{"size", 2}}}, {"status", {{"a", 1}}}});
  EXPECT_FALSE(client_.Find(Gangs(), "default", "g")->contains("status"));
  const json both = {{"spec", {{"size", 3}}}, {"status", {{"a", 2}}}};
  ASSERT_TRUE(client_.Patch(Gang("g", "status"), MergePatch(both), {}).ok());
  json now = *client_.Find(Gangs(), "default", "g");
  EXPECT_EQ(now["spec"]["size"], 2);
  EXPECT_EQ(now["status"]["a"], 2);
  EXPECT_EQ(now["metadata"]["generation"], 1);
  ASSERT_TRUE(
      client_.Patch(Gang("g"), MergePatch({{"spec", {{"size", 3}}}, {"status", nullptr}}), {})
          .ok());
  now = *client_.Find(Gangs(), "default", "g");
  EXPECT_EQ(now["spec"]["size"], 3);
  EXPECT_EQ(now["status"]["a"], 2);
}

TEST_F(FakeClientTest, AJsonPatchWithAFailedTestChangesNothing) {
  const json pod = MakePod("a");
  const json operations =
      json::array({{{"op", "add"}, {"path", "/spec/x"}, {"value", 1}},
                   {{"op", "test"}, {"path", "/metadata/uid"}, {"value", "another"}}});
  EXPECT_TRUE(
      absl::IsFailedPrecondition(client_.Patch(Pod("a"), JsonPatch(operations), {}).status()));
  EXPECT_EQ(*client_.Find(Pods(), "default", "a"), pod);
  const json missing = json::array({{{"op", "remove"}, {"path", "/spec/schedulingGates/0"}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(client_.Patch(Pod("a"), JsonPatch(missing), {}).status()));
}

TEST_F(FakeClientTest, AMergePatchWithAnotherUidIsAborted) {
  MakePod("a");
  const json patch = {{"metadata", {{"uid", "another"}, {"annotations", {{"k", "v"}}}}}};
  EXPECT_TRUE(absl::IsAborted(client_.Patch(Pod("a"), MergePatch(patch), {}).status()));
}

TEST_F(FakeClientTest, FinalizersHoldADeletionBack) {
  MustCreate(Gang(), {{"metadata", {{"name", "g"}, {"finalizers", {"yardmaster.dev/x"}}}}});
  ASSERT_TRUE(client_.Delete(Gang("g"), {}).ok());
  ASSERT_TRUE(client_.Find(Gangs(), "default", "g")->at("metadata").contains("deletionTimestamp"));
  ASSERT_TRUE(
      client_.Patch(Gang("g"), MergePatch({{"metadata", {{"finalizers", nullptr}}}}), {}).ok());
  EXPECT_EQ(client_.Find(Gangs(), "default", "g"), std::nullopt);
  EXPECT_TRUE(absl::IsNotFound(client_.Delete(Gang("g"), {})));
}

TEST_F(FakeClientTest, DeletePreconditionsProtectANamesake) {
  const json pod = MakePod("a");
  EXPECT_TRUE(absl::IsAborted(client_.Delete(Pod("a"), {.uid = "another"})));
  EXPECT_TRUE(absl::IsAborted(client_.Delete(Pod("a"), {.resource_version = "1"})));
  EXPECT_TRUE(client_.Delete(Pod("a"), {.uid = UidOf(pod)}).ok());
}

TEST_F(FakeClientTest, BindingAssignsANodeOnce) {
  MakePod("a");
  const Target binding{Pods(), "default", "a", "binding"};
  const json body = {{"target", {{"name", "n1"}}}};
  ASSERT_TRUE(client_.Create(binding, body, {}).ok());
  EXPECT_EQ((*client_.Find(Pods(), "default", "a"))["spec"]["nodeName"], "n1");
  EXPECT_TRUE(absl::IsAborted(client_.Create(binding, body, {}).status()));
}

TEST_F(FakeClientTest, PagesAreOneSnapshotUntilCompaction) {
  for (int i = 0; i < 5; ++i) MakePod(StrCat("p", i));
  absl::StatusOr<ListPage> first = ReadListPage(client_, Pod(), {.limit = 2});
  ASSERT_TRUE(first.ok());
  MakePod("p9");
  absl::StatusOr<ListPage> second =
      ReadListPage(client_, Pod(), {.limit = 2, .continue_token = first->continue_token});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->resource_version, first->resource_version);
  client_.Compact();
  EXPECT_TRUE(absl::IsOutOfRange(
      ReadListPage(client_, Pod(), {.limit = 2, .continue_token = second->continue_token})
          .status()));
  const auto all = ListAll(client_, Pod(), {.limit = 4});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 6u);
}

TEST_F(FakeClientTest, ListAllBeginsAgainWhenItsTokenGetsTooOld) {
  for (int i = 0; i < 5; ++i) MakePod(StrCat("p", i));
  client_.FailNext(Verb::kList, "pods", absl::OutOfRangeError("expired"), 2);
  const auto all = ListAll(client_, Pod(), {.limit = 2});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 5u);
  client_.FailNext(Verb::kList, "pods", absl::OutOfRangeError("expired"), 9);
  EXPECT_TRUE(absl::IsOutOfRange(ListAll(client_, Pod()).status()));
}

// Collects a watch's events as "ADDED a" on its own thread.
class Watcher {
 public:
  Watcher(FakeClient& client, Target target, WatchOptions options)
      : thread_([this, &client, target, options](std::stop_token stop) {
          absl::Status status =
              client.Watch(target, options, stop, [this](const WatchEvent& event) {
                constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
                std::lock_guard lock(mutex_);
                events_.push_back(
                    StrCat(kNames[static_cast<int>(event.type)], " ", NameOf(event.object)));
                changed_.notify_all();
              });
          std::lock_guard lock(mutex_);
          status_ = status;
          changed_.notify_all();
        }) {}
  std::vector<std::string> Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return events_.size() >= count; });
    return events_;
  }
  absl::Status WaitForEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }
  absl::Status Stop() {
    thread_.request_stop();
    return WaitForEnd();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
  std::optional<absl::Status> status_;
  std::jthread thread_;
};

TEST_F(FakeClientTest, AWatchReplaysHistoryAndFollows) {
  const std::string version = ResourceVersionOf(MakePod("a"));
  MakePod("b");
  Watcher watcher(client_, Pod(), {.resource_version = version});
  EXPECT_THAT(watcher.Wait(1), ElementsAre("ADDED b"));
  ASSERT_TRUE(client_.Delete(Pod("a"), {}).ok());
  client_.SendBookmark(Pods());
  EXPECT_THAT(watcher.Wait(3), ElementsAre("ADDED b", "DELETED a", "BOOKMARK "));
  EXPECT_TRUE(absl::IsCancelled(watcher.Stop()));
}

TEST_F(FakeClientTest, AnObjectThatBeginsOrCeasesToMatchIsAddedOrDeleted) {
  MakePod("a", {{"x", "0"}});
  Watcher watcher(client_, Pod(), {.label_selector = "x=1", .resource_version = "1000"});
  auto set = [&](const char* value) {
    return client_.Patch(Pod("a"), MergePatch({{"metadata", {{"labels", {{"x", value}}}}}}), {})
        .ok();
  };
  ASSERT_TRUE(set("1") && set("2"));
  EXPECT_THAT(watcher.Wait(2), ElementsAre("ADDED a", "DELETED a"));
}

TEST_F(FakeClientTest, AWatchFromBeforeCompactionIsOutOfRange) {
  const std::string version = ResourceVersionOf(MakePod("a"));
  MakePod("b");
  client_.Compact();
  Watcher old(client_, Pod(), {.resource_version = version});
  EXPECT_TRUE(absl::IsOutOfRange(old.WaitForEnd()));
}

TEST_F(FakeClientTest, WatchesEndWhenToldTo) {
  Watcher watcher(client_, Pod(), {});
  MakePod("a");
  watcher.Wait(1);
  client_.EndWatches(Pods(), absl::UnavailableError("gone"));
  EXPECT_TRUE(absl::IsUnavailable(watcher.WaitForEnd()));
}

TEST_F(FakeClientTest, FaultsHitTheirVerbAndPlaceAndHappenBeforeOrAfterTheEffect) {
  MakePod("a");
  client_.FailNext(Verb::kDelete, "pods", absl::UnavailableError("before"));
  EXPECT_TRUE(absl::IsUnavailable(client_.Delete(Pod("a"), {})));
  EXPECT_NE(client_.Find(Pods(), "default", "a"), std::nullopt);
  client_.FailNext(Verb::kDelete, "pods", absl::UnavailableError("after"), 1,
                   FaultWhen::kAfterEffect);
  EXPECT_TRUE(client_.Get(Pod("a")).ok());
  EXPECT_TRUE(absl::IsUnavailable(client_.Delete(Pod("a"), {})));
  EXPECT_EQ(client_.Find(Pods(), "default", "a"), std::nullopt);
}

TEST_F(FakeClientTest, TheHookSeesEveryCallAndMayRefuseIt) {
  int writes = 0;
  client_.SetHook([&](const Call& call) {
    if (call.verb != Verb::kCreate) return absl::OkStatus();
    return ++writes > 1 ? absl::UnavailableError("killed") : absl::OkStatus();
  });
  MakePod("a");
  EXPECT_TRUE(
      absl::IsUnavailable(client_.Create(Pod(), {{"metadata", {{"name", "b"}}}}, {}).status()));
  EXPECT_EQ(client_.All(Pods()).size(), 1u);
  EXPECT_EQ(client_.CountCalls(Verb::kCreate, "pods"), 2);
  EXPECT_EQ(client_.calls().front().body["metadata"]["name"], "a");
}

TEST_F(FakeClientTest, ARuleRefusesChangesOfItsType) {
  json gang = MustCreate(Gang(), {{"metadata", {{"name", "g"}}}, {"spec", {{"size", 2}}}});
  client_.SetRule(Gangs(), [](const json& before, const json& after) {
    return after["spec"]["size"] < before["spec"]["size"]
               ? absl::InvalidArgumentError("size must not shrink")
               : absl::OkStatus();
  });
  const auto resize = [&](int size) {
    return client_.Patch(Gang("g"), MergePatch({{"spec", {{"size", size}}}}), {}).status();
  };
  EXPECT_TRUE(resize(3).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(resize(2)));
  EXPECT_EQ((*client_.Find(Gangs(), "default", "g"))["spec"]["size"], 3);
}

TEST_F(FakeClientTest, AProcessKilledAtAWriteStillReadsAndWatches) {
  MakePod("a");
  const KillAtWrite kill(client_, 0);
  EXPECT_TRUE(client_.Get(Pod("a")).ok());
  int seen = 0;
  std::stop_source stop;
  EXPECT_TRUE(absl::IsCancelled(client_.Watch(Pod(), {}, stop.get_token(), [&](const WatchEvent&) {
    ++seen;
    stop.request_stop();
  })));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(kill.writes(), 0);
  EXPECT_TRUE(absl::IsCancelled(client_.Delete(Pod("a"), {})));
  EXPECT_TRUE(client_.Find(Pods(), "default", "a").has_value());
}

}  // namespace
}  // namespace yardmaster::kube
