#include "pkg/plan/plan_memo.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;

Snapshot Full() {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 1, 5));
  AddJob(s, "runs", 3);
  Place(s, JobId(0), {HostId(0), HostId(1), HostId(2)});
  AddJob(s, "waits", 2);
  return s;
}

TEST(PlanMemoTest, AnEqualSnapshotHasThePlanOfTheOneBefore) {
  const Snapshot s = Full();
  PlanMemo memo;
  EXPECT_EQ(memo.Find(s), nullptr);
  memo.Store(s, MakePlan(s));
  Snapshot later = s;
  later.now_ms += 1'000;
  later.warnings = {"Node n9: has no place"};
  const Plan* plan = memo.Find(later);
  ASSERT_NE(plan, nullptr);
  ASSERT_EQ(plan->jobs.size(), 2u);
  EXPECT_EQ(plan->jobs[1].gang.reasons, MakePlan(later).jobs[1].gang.reasons);
}

TEST(PlanMemoTest, WhateverPlanningLooksAtMakesAnotherPlanNecessary) {
  const Snapshot s = Full();
  PlanMemo memo;
  memo.Store(s, MakePlan(s));
  const std::vector<std::function<void(Snapshot&)>> changes = {
      [](Snapshot& c) { c.cluster.hosts[3].free_gpus = 0; },
      [](Snapshot& c) { c.cluster.hosts[3].reserved_for = 0; },
      [](Snapshot& c) { c.cluster.hosts[3].unavailable = placement::Unavailability::kCordoned; },
      [](Snapshot& c) { c.cluster.resources.free = {1}; },
      [](Snapshot& c) {
        c.cluster.gpu_models = std::make_shared<const std::vector<std::string>>(1, "NVIDIA-H100");
      },
      [](Snapshot& c) { c.jobs[1].job.workers = 1; },
      [](Snapshot& c) { c.jobs[1].job.priority = 3; },
      [](Snapshot& c) { c.jobs[1].problems = {"spec: is odd"}; },
      [](Snapshot& c) {
        c.jobs[1].eligible =
            std::make_shared<const std::vector<std::uint8_t>>(c.cluster.hosts.size(), 0);
      },
      [](Snapshot& c) {
        c.jobs[1].preferred =
            std::make_shared<const std::vector<std::uint8_t>>(c.cluster.hosts.size(), 0);
      },
      [](Snapshot& c) { c.jobs[0].assignment->host_of_rank[0] = HostId(3); },
      [](Snapshot& c) { c.jobs[0].assignment.reset(); },
      [](Snapshot& c) { c.jobs.pop_back(); },
      [](Snapshot& c) { c.places = std::make_shared<const fabric::Places>(*c.places); },
      // Reservations look at the time, and waits for hosts that come free.
      [](Snapshot& c) { c.jobs[1].job.reserve_after_ms = 60'000; },
      [](Snapshot& c) { c.jobs[1].gave_back_ms = 1; },
      [](Snapshot& c) { c.jobs[1].expedited_since_ms = 1; },
      [](Snapshot& c) {
        c.leaving.push_back({HostId(0), 1'000, 8, {}, "Pod default/a"});
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Snapshot changed = s;
    changes[i](changed);
    EXPECT_EQ(memo.Find(changed), nullptr) << i;
  }
  EXPECT_NE(memo.Find(s), nullptr);
}

}  // namespace
}  // namespace yardmaster::plan
