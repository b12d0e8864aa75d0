#include "pkg/operator/waiting/wait_feed.h"

#include <set>
#include <stdexcept>

#include "pkg/base/mutex.h"
#include "pkg/base/run_once.h"
#include "pkg/operator/testing/wait_fixture.h"

namespace yardmaster::op {
namespace {

class WaitFeedTest : public WaitFixture {
 protected:
  // Waits until the key was reported `times` times.
  void Await(const std::string& key, std::size_t times) {
    MutexLock lock(mutex_);
    while (seen_.count(key) < times) changed_.wait(lock);
  }

  kube::RealSleeper sleeper_;
  Mutex mutex_;
  CondVar changed_;
  std::multiset<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  WaitFeed feed_{client_,
                 {[this](const std::string& key) {
                   const MutexLock lock(mutex_);
                   seen_.insert(key);
                   changed_.notify_all();
                 }},
                 {clock_, sleeper_, 1}};
};

TEST_F(WaitFeedTest, JobsWithTheLabelAreReportedAndOthersAreNot) {
  SeedJob(2);
  json other = SuspendedJob(2);
  other["metadata"]["name"] = "other";
  other["metadata"]["labels"] = json::object();
  client_.Seed(Jobs(), other);
  feed_.Start();
  Await("team/Job/a", 1);
  client_.WaitForWatches(Jobs(), 1);
  ChangeJob({{"spec", {{"suspend", false}}}});
  Await("team/Job/a", 2);
  ChangeJob({{"metadata", {{"labels", {{api::kWaitLabel, nullptr}}}}}});
  Await("team/Job/a", 3);
  feed_.Stop();
  const MutexLock lock(mutex_);
  EXPECT_EQ(seen_.count("team/Job/other"), 0u);
}

TEST_F(WaitFeedTest, AClusterWithoutJobSetsIsServedAllTheSame) {
  client_.SetHook([](const kube::Call& call) {
    return call.target.resource.kind == "JobSet" ? absl::NotFoundError("not served")
                                                 : absl::OkStatus();
  });
  SeedJob(2);
  feed_.Start();
  Await("team/Job/a", 1);
  feed_.Stop();
}

TEST_F(WaitFeedTest, WhatACallThrowsIsAFailureOfThatCall) {
  client_.SetHook([](const kube::Call&) -> absl::Status { throw std::runtime_error("no memory"); });
  std::vector<absl::Status> failed;
  WaitFeed feed(client_,
                {[](const std::string&) {},
                 [&](const absl::Status& status) {
                   const MutexLock lock(mutex_);
                   failed.push_back(status);
                   changed_.notify_all();
                 }},
                {clock_, sleeper_, 1});
  feed.Start();
  {
    MutexLock lock(mutex_);
    while (failed.size() < 2) changed_.wait(lock);  // Jobs and JobSets
    EXPECT_TRUE(IsDefect(failed[0]) && IsDefect(failed[1])) << failed[0];
  }
  feed.Stop();
}

}  // namespace
}  // namespace yardmaster::op
