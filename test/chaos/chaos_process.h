// The processes of a history: extenders and operators with their caches and leases, over the API
// server in memory. What a process knows of each kind lags behind, as if its watches were slow;
// like a watch it sees every change in order. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/kube/lease_lock.h"
#include "pkg/operator/network/network_controller.h"
#include "pkg/state/cluster_state.h"
#include "test/chaos/chaos_client.h"

namespace yardmaster::chaos {

// What extenders and operators have in common.
class Process {
 public:
  Process(kube::FakeClient& server, Network& network, const FakeClock& clock,
          const std::string& lease, int life);
  virtual ~Process() = default;

  ChaosClient& client() { return client_; }
  bool leads() const { return lock_.IsLeader(); }
  // One try to take or renew the lease.
  void TickLease() { lock_.Tick().IgnoreError(); }
  void ReleaseLease() { lock_.Release().IgnoreError(); }
  // Takes in some of what its watches have to deliver; with `all` everything.
  void Learn(Random& random, bool all);
  // One pass or round of work. Returns how many writes of it failed.
  virtual int Work() = 0;

 protected:
  ChaosClient client_;
  state::ClusterCache cache_;
  kube::LeaseLock lock_;

 private:
  void LearnKind(state::Kind kind, std::int64_t version);

  kube::FakeClient& server_;
  std::map<state::Kind, std::int64_t> known_;  // the server's version up to which it has seen all
};

class ExtenderProcess final : public Process {
 public:
  ExtenderProcess(kube::FakeClient& server, Network& network, const FakeClock& clock, int life);
  int Work() override;
  // What the webhook answers kube-scheduler when it asks whether a pod may go to a node.
  bool Filter(const nlohmann::json& pod, const std::string& node) const;

 private:
  extender::Webhook webhook_;
  extender::ClusterPlanner planner_;
};

class OperatorProcess final : public Process {
 public:
  OperatorProcess(kube::FakeClient& server, Network& network, const FakeClock& clock, int life);
  int Work() override;

 private:
  op::NetworkController network_plan_;
};

}  // namespace yardmaster::chaos
