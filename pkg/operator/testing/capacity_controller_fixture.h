// The controller of rented hosts over the API server in memory. TESTONLY. Thread safety: one
// thread.
#pragma once

#include <utility>

#include "gtest/gtest.h"

#include "pkg/kube/testing/relist.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {

class CapacityControllerFixture : public JobFixture {
 protected:
  // One look at the job "team/a" by a process that has read everything.
  void ReconcileCapacity() {
    state::ClusterCache cache;
    for (const auto& [kind, resource] : {std::pair{state::Kind::kPod, kube::Pods()},
                                         {state::Kind::kGang, kube::Gangs()},
                                         {state::Kind::kTrainingJob, kube::TrainingJobs()},
                                         {state::Kind::kCapacityPool, kube::CapacityPools()}}) {
      kube::Relist(client_, resource, cache.sink(kind));
    }
    HostHealth hosts;
    CapacityController controller(client_, cache, hosts, clock_, [](const JobNotice&) {});
    EXPECT_TRUE(controller.Reconcile("team/a").ok());
  }
};

}  // namespace yardmaster::op
