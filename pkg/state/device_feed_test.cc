#include "pkg/state/device_feed.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/state/cluster_feed.h"

namespace yardmaster::state {
namespace {

using nlohmann::json;

constexpr std::int64_t kLongMs = 60'000;

class DeviceFeedTest : public testing::Test {
 protected:
  // As a server that has this version alone, or none ("").
  void Serve(const std::string& version) {
    client_.SetHook([version](const kube::Call& call) {
      const kube::Resource& resource = call.target.resource;
      if (resource.group != "resource.k8s.io") return absl::OkStatus();
      if (version.empty() || resource.version != version)
        return absl::NotFoundError("no such version");
      return absl::OkStatus();
    });
  }
  void Seed(const std::string& version) {
    kube::Resource classes = kube::DeviceClasses();
    classes.version = version;
    client_.Seed(classes, {{"metadata", {{"name", "gpu"}}}, {"spec", json::object()}});
  }

  RealClock clock_;
  kube::RealSleeper sleeper_;
  kube::FakeClient client_{clock_};
  ClusterCache cache_;
  std::vector<absl::Status> failures_;
  DeviceFeed feed_{client_, cache_,
                   [this](Kind, const absl::Status& status) { failures_.push_back(status); },
                   kube::Timing{clock_, sleeper_, 1}};
};

TEST_F(DeviceFeedTest, TheVersionThatIsServedIsRead) {
  Serve("v1beta1");
  Seed("v1beta1");
  feed_.Start();
  ASSERT_TRUE(feed_.WaitForSync(kLongMs).ok());
  EXPECT_TRUE(feed_.HasSynced());
  EXPECT_EQ(cache_.Take().devices.classes.size(), 1u);
}

TEST_F(DeviceFeedTest, AClusterWithoutTheApiIsInSyncAtOnce) {
  Serve("");
  EXPECT_FALSE(feed_.HasSynced());
  feed_.Start();
  EXPECT_TRUE(feed_.WaitForSync(kLongMs).ok());
  EXPECT_TRUE(feed_.HasSynced());
  EXPECT_TRUE(failures_.empty());
  EXPECT_TRUE(cache_.Take().devices.empty());
}

TEST_F(DeviceFeedTest, AMissingRightIsToldAndDevicesAreNotCounted) {
  client_.SetHook([](const kube::Call&) { return absl::PermissionDeniedError("may not list"); });
  feed_.Start();
  EXPECT_TRUE(feed_.WaitForSync(kLongMs).ok());
  feed_.Stop();
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_TRUE(absl::IsPermissionDenied(failures_[0]));
}

TEST_F(DeviceFeedTest, AServerThatDoesNotAnswerIsAskedUntilTheProcessEnds) {
  client_.SetHook([](const kube::Call&) { return absl::UnavailableError("starting"); });
  feed_.Start();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(feed_.WaitForSync(kLongMs, stop.get_token())));
  EXPECT_FALSE(feed_.HasSynced());
  feed_.Stop();
}

}  // namespace
}  // namespace yardmaster::state
