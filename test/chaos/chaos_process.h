// The processes of a history: extenders and operators with their caches and leases, over the API
// server in memory. What a process knows of each kind lags behind by a number of steps of its own,
// as if its watches were slow. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/extender/gang_planner.h"
#include "pkg/kube/lease_lock.h"
#include "pkg/operator/network_controller.h"
#include "pkg/state/cluster_state.h"
#include "test/chaos/chaos_client.h"

namespace yardmaster::chaos {

// What the API server held after each step, by kind.
class Timeline {
 public:
  using Objects = std::map<std::string, std::shared_ptr<const nlohmann::json>>;  // by key

  explicit Timeline(kube::FakeClient& server) : server_(server) { Record(); }
  void Record();
  std::size_t last() const { return frames_.size() - 1; }
  const Objects& At(state::Kind kind, std::size_t frame) const { return frames_[frame].at(kind); }
  // The server's version at that moment.
  std::int64_t Version(std::size_t frame) const { return versions_[frame]; }

 private:
  kube::FakeClient& server_;
  std::vector<std::map<state::Kind, Objects>> frames_;
  std::vector<std::int64_t> versions_;
};

// What extenders and operators have in common.
class Process {
 public:
  Process(kube::FakeClient& server, Network& network, const Timeline& timeline,
          const FakeClock& clock, const std::string& lease, int life);
  virtual ~Process() = default;

  ChaosClient& client() { return client_; }
  bool leads() const { return lock_.IsLeader(); }
  // One try to take or renew the lease.
  void TickLease() { lock_.Tick().IgnoreError(); }
  void ReleaseLease() { lock_.Release().IgnoreError(); }
  // Learns of some of what happened; with `all` of everything.
  void Learn(Random& random, bool all);
  // One pass or round of work. Returns how many writes of it failed.
  virtual int Work() = 0;

 protected:
  ChaosClient client_;
  state::ClusterCache cache_;
  kube::LeaseLock lock_;

 private:
  void LearnKind(state::Kind kind, std::size_t frame);

  const Timeline& timeline_;
  std::map<state::Kind, std::size_t> known_;  // the frame that it has seen
};

class ExtenderProcess final : public Process {
 public:
  ExtenderProcess(kube::FakeClient& server, Network& network, const Timeline& timeline,
                  const FakeClock& clock, int life);
  int Work() override;

 private:
  extender::GangPlanner planner_;
};

class OperatorProcess final : public Process {
 public:
  OperatorProcess(kube::FakeClient& server, Network& network, const Timeline& timeline,
                  const FakeClock& clock, int life);
  int Work() override;

 private:
  op::NetworkController network_plan_;
};

}  // namespace yardmaster::chaos
