// Maintains the operator's marks on Nodes (node_marks.h), one round at a time. It quarantines hosts
// for failures that TrainingJobs report, and while they have a fault for which jobs leave them
// (node_faults.h); and it ends quarantines and fences. If more than `fault_share` of the hosts and
// more than `fault_hosts` are reported faulty, the reports are not trusted, and no host is
// quarantined for a fault.
//
// Fence sets a fence before pods of a lost host are removed by force. A round removes it once the
// Node is Ready and none of its pods is being deleted. A fence ends the pods of all tenants on the
// host, so the Node must have been NotReady for `fence_after_ms`, even if a job has a shorter
// grace.
//
// Level triggered: a round reads only the cache. Thread safety: Fence and IsFenced from any thread,
// RunOnce from one. Lifetimes: client and cache outlive the object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/api/host_record.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/client.h"
#include "pkg/operator/hosts/host_quarantine.h"
#include "pkg/operator/hosts/node_faults.h"
#include "pkg/operator/hosts/node_marks.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

struct HostNotice {
  std::string host;
  std::string uid;
  bool warning = false;
  std::string reason;  // "HostQuarantined", "HostReleased", "HostFenced", "HostUnfenced"
  std::string note;
};

class HostMarker {
 public:
  struct Options {
    FencePolicy fence = FencePolicy::kNone;
    std::int64_t fence_after_ms = 30'000;  // the default of recovery.hostGraceSeconds
    QuarantineLimits quarantine;
    std::vector<FaultRule> faults = DefaultFaultRules();
    double fault_share = 0.2;
    int fault_hosts = 3;
  };
  // `again_ms`: when the next quarantine for failures ends. Failures are those of hosts.
  struct Report : RunResult {
    int quarantined = 0;  // hosts
    int fenced = 0;       // by the operator
  };
  using Notify = std::function<void(const HostNotice&)>;

  HostMarker(kube::Client& client, state::ClusterCache& cache, Options options, Notify notify)
      : client_(client), cache_(cache), options_(options), notify_(std::move(notify)) {}

  // True if pods of a lost host may be removed by force: by policy, or because its Node is gone or
  // out of service.
  bool IsFenced(const std::string& host) const;
  // Returns how long to wait before Fence may be called for a host that has been NotReady for
  // `not_ready_ms`; 0: now.
  std::int64_t FenceWaitMs(std::int64_t not_ready_ms) const;
  // With kOutOfService, sets the taint. OK also if nothing is to be done, for example if the Node
  // is Ready again.
  absl::Status Fence(const std::string& host);

  // `now_ms`: wall time.
  Report RunOnce(std::int64_t now_ms);

 private:
  // Returns the hosts that jobs leave for a fault, with the fault; empty if the reports are not
  // trusted.
  std::map<std::string, std::string> FaultyHosts(const state::ClusterState& cluster) const;
  // `record`: the known failures of the host. `fault`: the fault for which jobs leave it; empty:
  // none.
  absl::Status Mark(const api::Node& node, const api::HostRecord& record, const std::string& fault,
                    bool in_deletion, std::int64_t now_ms, Report& report);
  absl::Status Write(const api::Node& node, const nlohmann::json& patch);
  void Announce(const api::Node& node, const NodeMarks& before, const NodeMarks& after,
                const std::string& why);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Options options_;
  const Notify notify_;
};

}  // namespace yardmaster::op
