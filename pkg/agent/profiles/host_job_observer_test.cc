#include "pkg/agent/profiles/host_job_observer.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

class JobObserverTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-job-observer");
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(StrCat(root_, "/class/infiniband/mlx5_0/ports/1/counters"));
    options_.sysfs_root = root_;
    options_.traffic.interval_ms = 100;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void AddPod(const std::string& uid, const std::string& gang) {
    rpc::PodPlanStatus pod;
    pod.pod_uid = uid;
    pod.gang = gang;
    pods_.push_back(pod);
  }

  HostJobObserver::Sources Sources() {
    return {[this] { return pods_; }, [this] { return fabric_; },
            [this](const rpc::IterationReport& report) {
              reports_.push_back(report);
              return absl::OkStatus();
            },
            [this](const std::vector<LocalNicPort>&) { return nics_; }};
  }

  // Jobs that send in the last quarter of every period, watched for some time.
  void Watch(HostJobObserver& observer, std::int64_t until_ms) {
    while (now_ms_ < until_ms) {
      for (const auto& [device, period] : periods_ms_) {
        const std::int64_t sent = now_ms_ / period * (period / 4) +
                                  std::max<std::int64_t>(0, now_ms_ % period - period * 3 / 4);
        std::ofstream(
            StrCat(root_, "/class/infiniband/", device, "/ports/1/counters/port_xmit_data"))
            << sent * 1'000'000;
      }
      now_ms_ += observer.Step(now_ms_);
    }
  }

  std::string root_;
  ObserverOptions options_;
  std::optional<FabricView> fabric_ = FabricView{"f", 1, "", {}, 1, 1};
  std::vector<rpc::PodPlanStatus> pods_;
  std::vector<rpc::IterationReport> reports_;
  std::vector<PodNics> nics_;
  std::map<std::string, std::int64_t> periods_ms_ = {{"mlx5_0", 2000}};
  std::int64_t now_ms_ = 0;
};

TEST_F(JobObserverTest, TheOnlyGangsPodOnTheHostIsMeasured) {
  AddPod("u1", "trainingjob-a");
  AddPod("u2", "");  // of no gang
  HostJobObserver observer(options_, Sources());
  Watch(observer, 200'000);
  ASSERT_FALSE(reports_.empty());
  EXPECT_EQ(reports_[0].pod_uid, "u1");
  EXPECT_NEAR(*reports_[0].means.iteration_seconds, 2, 0.03);
  ASSERT_EQ(reports_[0].means.sent_bytes.size(), 1u);
  EXPECT_NEAR(reports_[0].means.sent_bytes[0], 4 * 500e6, 5e7);
  EXPECT_EQ(observer.measured(), static_cast<std::int64_t>(reports_.size()));
}

TEST_F(JobObserverTest, TwoGangsOnOneHostAreNotToldApartAndNotMeasured) {
  AddPod("u1", "trainingjob-a");
  AddPod("u2", "trainingjob-b");
  HostJobObserver observer(options_, Sources());
  Watch(observer, 200'000);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(JobObserverTest, TwoGangsWithNicsOfTheirOwnAreBothMeasured) {
  std::filesystem::create_directories(StrCat(root_, "/class/infiniband/mlx5_1/ports/1/counters"));
  periods_ms_["mlx5_1"] = 3200;
  AddPod("u1", "trainingjob-a");
  AddPod("u2", "trainingjob-b");
  nics_ = {{"u1", NicSource::kKubelet, {{0, 0, "", "mlx5_0", 1}}},
           {"u2", NicSource::kMultus, {{1, 0, "", "mlx5_1", 1}}}};
  HostJobObserver observer(options_, Sources());
  Watch(observer, 200'000);
  std::map<std::string, double> seconds;
  for (const auto& report : reports_) seconds[report.pod_uid] = *report.means.iteration_seconds;
  EXPECT_NEAR(seconds["u1"], 2, 0.03);
  EXPECT_NEAR(seconds["u2"], 3.2, 0.05);
}

TEST_F(JobObserverTest, APodThatReportsItselfIsNotMeasured) {
  AddPod("u1", "trainingjob-a");
  HostJobObserver observer(options_, Sources());
  observer.StopMeasuring("u1");
  Watch(observer, 200'000);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(JobObserverTest, PortsThatAreNotAllThereAreNotMeasured) {
  AddPod("u1", "trainingjob-a");
  fabric_->rails = 8;
  HostJobObserver observer(options_, Sources());
  Watch(observer, 200'000);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(JobObserverTest, WhatTheShimsOfAllPodsDidIsSummedUp) {
  options_.sysfs_root = "";
  options_.kubelet_pods_folder = StrCat(root_, "/pods");
  for (const char* uid : {"u1", "u2"}) {
    AddPod(uid, "trainingjob-a");
    const std::string volume = StrCat(options_.kubelet_pods_folder, "/", uid,
                                      "/volumes/kubernetes.io~empty-dir/yardmaster-status");
    std::filesystem::create_directories(volume);
    std::ofstream(StrCat(volume, "/verbs-1.jsonl"))
        << R"({"event":"connected","qp":1,"planned":50001,"actual":50001})"
           "\n"
           R"({"event":"passed","qp":2,"why":"no plan"})"
           "\n";
  }
  AddPod("u3", "trainingjob-a");  // has no shim
  HostJobObserver observer(options_, Sources());
  observer.Step(0);
  EXPECT_EQ(observer.shims().steered, 2);
  EXPECT_EQ(observer.shims().unplanned, 2);
  EXPECT_EQ(observer.shims().reasons.at("no plan"), 2);
}

}  // namespace
}  // namespace yardmaster::agent
