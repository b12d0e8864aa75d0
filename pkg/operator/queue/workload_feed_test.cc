#include "pkg/operator/queue/workload_feed.h"

#include <atomic>
#include <stdexcept>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class WorkloadFeedTest : public ::testing::Test {
 protected:
  json Object(const std::string& name, const std::string& version, const char* kind) {
    return {{"apiVersion", "kueue.x-k8s.io/" + version},
            {"kind", "Workload"},
            {"metadata",
             {{"name", name},
              {"namespace", "team"},
              {"labels", {{api::kJobLabel, "a"}}},
              {"ownerReferences", json::array({{{"apiVersion", "yardmaster.dev/v1alpha1"},
                                                {"kind", kind},
                                                {"name", "a"},
                                                {"uid", "job"},
                                                {"controller", true}}})}}},
            {"spec", {{"queueName", "q"}, {"podSets", json::array()}}}};
  }
  // The cluster does not serve this version.
  void Lack(const std::string& version) {
    lacked_.push_back(version);
    client_.SetHook([this](const kube::Call& call) {
      for (const std::string& one : lacked_) {
        if (call.target.resource.version == one) return absl::NotFoundError("not served");
      }
      return absl::OkStatus();
    });
  }
  bool IsKnown() {
    MutexLock lock(mutex_);
    while (known_ == 0) changed_.wait(lock);
    return true;
  }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  kube::RealSleeper sleeper_;
  std::vector<std::string> lacked_;
  WorkloadCache cache_;
  Mutex mutex_;
  CondVar changed_;
  int known_ ABSL_GUARDED_BY(mutex_) = 0;
  WorkloadFeed feed_{client_,
                     cache_,
                     {.known =
                          [this] {
                            const MutexLock lock(mutex_);
                            ++known_;
                            changed_.notify_all();
                          }},
                     {clock_, sleeper_, 1}};
};

TEST_F(WorkloadFeedTest, TheNewestServedVersionIsRead) {
  Lack("v1beta2");
  client_.Seed(KueueWorkloads("v1beta1"), Object("w", "v1beta1", "TrainingJob"));
  client_.Seed(KueueWorkloads("v1beta1"), Object("of-a-job", "v1beta1", "Job"));
  EXPECT_EQ(cache_.service(), QueueService::kOff);
  feed_.Start();
  ASSERT_TRUE(IsKnown());
  EXPECT_EQ(cache_.service(), QueueService::kServed);
  EXPECT_EQ(cache_.version(), "v1beta1");
  ASSERT_EQ(cache_.OfJob("team/a").size(), 1u);
  EXPECT_EQ(cache_.OfJob("team/a")[0]->queue, "q");
  feed_.Stop();
}

TEST_F(WorkloadFeedTest, AClusterWithoutKueueIsKnownAsOne) {
  Lack("v1beta2");
  Lack("v1beta1");
  EXPECT_FALSE(feed_.Discover());
  EXPECT_EQ(cache_.service(), QueueService::kAbsent);
  lacked_.clear();
  EXPECT_TRUE(feed_.Discover()) << "it was installed";
}

TEST_F(WorkloadFeedTest, AnApiServerThatDoesNotAnswerSaysNothingAboutKueue) {
  client_.FailNext(kube::Verb::kList, "workloads", absl::UnavailableError("no answer"));
  cache_.SetService(QueueService::kUnknown);
  EXPECT_FALSE(feed_.Discover());
  EXPECT_EQ(cache_.service(), QueueService::kUnknown);
}

TEST(WorkloadCacheTest, WhatIsWrittenCountsUntilTheWatchHasCaughtUp) {
  WorkloadCache cache;
  std::vector<std::string> heard;
  cache.Listen([&](const std::string& job) { heard.push_back(job); });
  const auto object = [](const char* version, const char* queue) {
    return json{{"metadata",
                 {{"name", "w"},
                  {"namespace", "team"},
                  {"uid", "u"},
                  {"resourceVersion", version},
                  {"ownerReferences", json::array({{{"apiVersion", "yardmaster.dev/v1alpha1"},
                                                    {"kind", "TrainingJob"},
                                                    {"name", "a"},
                                                    {"uid", "job"},
                                                    {"controller", true}}})}}},
                {"spec", {{"queueName", queue}}}};
  };
  cache.BeginList();
  cache.EndList("5");
  EXPECT_TRUE(cache.OfJob("team/a").empty());
  cache.Assume(JsonView(object("6", "first")));
  ASSERT_EQ(cache.OfJob("team/a").size(), 1u);
  cache.Put(JsonView(object("7", "second")));
  EXPECT_EQ(heard, (std::vector<std::string>{"team/a"}));
  cache.Assume(JsonView(object("6", "first")));
  EXPECT_EQ(cache.OfJob("team/a")[0]->queue, "second");
  cache.Remove(JsonView(object("8", "second")));
  EXPECT_TRUE(cache.OfJob("team/a").empty());
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(WorkloadFeedTest, WhatACallThrowsIsAFailureOfThatCall) {
  client_.SetHook([](const kube::Call&) -> absl::Status { throw std::runtime_error("no memory"); });
  absl::Status failed;
  WorkloadFeed feed(client_, cache_,
                    {.failed =
                         [&](const absl::Status& status) {
                           const MutexLock lock(mutex_);
                           failed = status;
                           changed_.notify_all();
                         }},
                    {clock_, sleeper_, 1});
  feed.Start();
  {
    MutexLock lock(mutex_);
    while (failed.ok()) changed_.wait(lock);
    EXPECT_TRUE(IsDefect(failed)) << failed;
  }
  feed.Stop();
  EXPECT_EQ(cache_.service(), QueueService::kUnknown);
}

}  // namespace
}  // namespace yardmaster::op
