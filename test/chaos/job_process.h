// An operator that runs TrainingJobs in a history: cache, hosts, marks and job controller over the
// API server in memory, with the queue of jobs that are due. A new object is a new process: it
// knows what it lists, and nothing else. One thread, so that the order of calls is a function of
// what it knows. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/operator/hosts/node_faults.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/jobs/jobs_by_host.h"
#include "pkg/state/cluster_state.h"
#include "test/chaos/chaos_client.h"

namespace yardmaster::chaos {

class JobProcess {
 public:
  JobProcess(kube::FakeClient& server, Network& network, const FakeClock& clock,
             const op::PlaceOptions& place);

  ChaosClient& client() { return client_; }
  // Reconciles until nothing is due now, or the process was killed.
  void Work();
  // Steady time at which something is due next; nothing: it waits for a change.
  std::optional<std::int64_t> next_due_ms() const;

 private:
  void Learn();
  void Enqueue(state::Kind kind, const api::ObjectMeta& metadata);
  // The job that has been due longest; nothing: none is due now.
  std::optional<std::string> TakeDue();
  void AddAfter(const std::string& job, std::int64_t delay_ms);
  void MarkHosts();

  kube::FakeClient& server_;
  const FakeClock& clock_;
  ChaosClient client_;
  const std::vector<op::FaultRule> fault_rules_ = op::DefaultFaultRules();
  state::ClusterCache cache_;
  op::HostHealth hosts_;
  op::JobsByHost jobs_by_host_;
  op::HostMarker marker_;
  op::JobController controller_;
  std::map<state::Kind, std::int64_t> known_;   // the server's version up to which it has seen all
  std::map<std::string, std::int64_t> due_ms_;  // by job; steady time
  std::uint64_t marked_at_ = 0;                 // the cache's version at the last round of marks
  std::optional<std::int64_t> marks_due_ms_;
};

}  // namespace yardmaster::chaos
