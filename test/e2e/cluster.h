// A whole Yardmaster on a real control plane, for the length of a test: the chart's roles,
// simulated hosts, and our three programs as processes with ServiceAccount tokens, which a test may
// kill and start again.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/tls/authority.h"
#include "test/integration/control_plane.h"
#include "test/integration/process.h"

namespace yardmaster::testing {

class Cluster {
 public:
  // A control plane with scheduler and kwok, CRDs, roles, and the fabric hpn-small with `hosts`
  // hosts in each of its two segments. None of our programs runs yet. `kueue`: operators follow
  // Kueue, and may. `observes`: the chart's mode is Observe, and that of extenders and operators.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(int hosts, bool kueue = false,
                                                        bool observes = false);

  // Extenders and operators that are started from now on send traces to that port of this machine.
  void SendTracesTo(int port) { traces_port_ = port; }
  // Of operators that are started from now on, beside those that all have.
  void SetOperatorFlags(std::vector<std::string> flags) { operator_flags_ = std::move(flags); }
  // The first two start the replicas that do not run, until there are two, of which one leads. The
  // extenders are behind test/cluster/service, which stands for their Service. StartAgent starts
  // one agent for all hosts, in place of the one that runs.
  absl::Status StartExtender();
  absl::Status StartOperator();
  absl::Status StartAgent();
  // One more replica, which the caller ends; the Service does not know it.
  absl::StatusOr<std::unique_ptr<Process>> RunExtender(int port, int health_port);
  // Where kube-scheduler calls the Service; connections are refused before StartExtender.
  int extender_port() const;
  // kill -9, all replicas, and gone.
  void KillExtender();
  // The identity in the Lease of "extender" or "operator"; empty while it is not held.
  std::string LeaderOf(const std::string& component) const;
  // When that replica took it, by the clock of this machine; -1 while it is not held.
  std::int64_t LedSinceMs(const std::string& component) const;
  // Sends a signal to the replica that leads, which is then not ours any more: StartExtender and
  // StartOperator replace it. Errors: NotFound while none of ours leads.
  absl::Status SignalLeader(const std::string& component, int signal);

  ControlPlane& plane() { return *plane_; }
  const std::string& plans() const { return plans_; }
  // The sum, over the extenders, of a metric with these labels ("name{label=\"value\"}"); only of
  // processes that observe.
  double ExtenderMetric(const std::string& series) const;
  // With which kube-scheduler calls the extender.
  tls::KeyPair SchedulerCertificate() const;
  // The stdout of `kubectl ARGUMENTS -o json`, or null when kubectl failed.
  nlohmann::json Get(std::vector<std::string> arguments) const;
  // Runs our kubectl plugin as a person would; `input` is what -f - reads.
  absl::StatusOr<std::string> Yardmaster(const std::vector<std::string>& arguments,
                                         const std::string& input = "") const;

 private:
  absl::StatusOr<std::unique_ptr<Process>> Run(const std::string& name,
                                               const std::string& health_port,
                                               std::vector<std::string> arguments);

  std::string folder_;
  std::string plans_;
  bool kueue_ = false;
  bool observes_ = false;
  std::vector<std::string> operator_flags_;
  int traces_port_ = 0;             // 0: they send none
  std::vector<int> metrics_ports_;  // of extenders that observe
  int lives_ = 0;
  std::unique_ptr<ControlPlane> plane_;
  using Replicas = std::array<std::unique_ptr<Process>, 2>;

  Replicas extenders_;
  Replicas operators_;
  std::vector<std::unique_ptr<Process>> signalled_;
  std::unique_ptr<Process> service_;
  std::unique_ptr<Process> agent_;
};

// Looks every 100 ms until `done` or until the time is over; false then.
bool WaitFor(int seconds, const std::function<bool()>& done);
// Status of a condition of an object: "True", "False", "Unknown" or "".
std::string ConditionOf(const nlohmann::json& object, const std::string& type);

}  // namespace yardmaster::testing
