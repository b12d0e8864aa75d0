// A job of four workers below a cost cap, two pools, and what a look at its rental has seen.
// TESTONLY. Thread safety: one thread.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/operator/capacity/capacity_step.h"
#include "pkg/operator/testing/pool_manifest.h"

namespace yardmaster::op {

class CapacityStepFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kStartMs = 1'800'000'000'000;
  static constexpr capacity::Micros kUnit = capacity::kMicrosPerUnit;

  explicit CapacityStepFixture(const nlohmann::json& capacity = {{"maxCostPerHour", "50 USD"}})
      : job_(Job(capacity)) {
    pools_ = {Pool("cheap", "10"), Pool("dear", "12")};
    seen_.job = &job_;
    seen_.now_ms = kStartMs;
  }

  static api::CapacityPool Pool(const std::string& name, const std::string& price, int hosts = 8,
                                const std::string& currency = "USD") {
    const auto pool = api::DecodeCapacityPool(
        PoolManifest({.name = name,
                      .price = StrCat(price, " ", currency),
                      .segment = "s0",
                      .max_hosts = hosts,
                      .scaling = {{"provisioningClassName", "c"}, {"timeoutSeconds", 600}}}));
    EXPECT_TRUE(pool.ok()) << pool.status();
    return *pool;
  }
  static api::TrainingJob Job(const nlohmann::json& capacity) {
    const auto job = api::DecodeTrainingJob(
        nlohmann::json{{"apiVersion", "yardmaster.dev/v1alpha1"},
                       {"kind", "TrainingJob"},
                       {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "u"}}},
                       {"spec", {{"workers", 4}, {"capacity", capacity}}}});
    EXPECT_TRUE(job.ok()) << job.status();
    return *job;
  }

  CapacityStep Step() {
    seen_.pools = pools_;
    CapacityStep step = NextCapacityStep(seen_);
    job_.status.capacity = step.status;
    return step;
  }
  CapacityStep StepAfter(std::int64_t seconds) {
    seen_.now_ms += 1000 * seconds;
    return Step();
  }
  const api::CapacityStatus& Status() const { return job_.status.capacity; }
  void Wait() {
    seen_.waits = true;
    seen_.live_pods = 4;
  }
  void Provide() {
    Provisioning there;
    there.provided = {4};
    there.complete = true;
    seen_.provisioning = there;
  }
  void Run() {
    Wait();
    Step();
    seen_.live_pods = 0;
    seen_.waits = false;
    Provide();
    Step();
    seen_.live_pods = 4;
    seen_.placed = true;
    Step();
    ASSERT_EQ(Status().phase, api::RentalPhase::kProvisioned);
  }
  // Pods end, then nothing asks for hosts any more.
  void Leave() {
    seen_.live_pods = 0;
    seen_.placed = false;
    seen_.provisioning = Provisioning{{0}, false, "", {}, true};
  }

  api::TrainingJob job_;
  std::vector<api::CapacityPool> pools_;
  CapacityObservation seen_;
};

}  // namespace yardmaster::op
