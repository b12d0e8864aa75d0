// The cluster of a history of moves: hosts of two segments, TrainingJobs of two workers, and
// kube-scheduler and kubelets, as far as a move depends on them. Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::chaos {

class MoveCluster {
 public:
  explicit MoveCluster(const FakeClock& clock);

  kube::FakeClient& server() { return server_; }

  // A move of some job to some hosts, which may be taken, its own, or out. The job's name.
  std::string AskForMove(Random& random, const std::string& id);
  // A worker fails, or a host is lost or comes back.
  std::string Disturb(Random& random);
  void ReturnHosts();
  // Some pods start where kube-scheduler would send them, some of those that are deleted end. With
  // `all` every one. `filter`: whether a pod may go to a node, as an extender says.
  using Filter = std::function<bool(const nlohmann::json& pod, const std::string& node)>;
  bool RunPods(Random& random, bool all, const Filter& filter);

  nlohmann::json Job(const std::string& name) const;
  // The first promise that does not hold; empty: all do.
  std::string BrokenPromise() const;
  // A job that does not run in full; empty: all do.
  std::string Unfinished() const;

 private:
  void PutNode(const std::string& name, bool ready);
  nlohmann::json PodsOf(const std::string& job) const;
  bool StartPod(nlohmann::json pod, const Filter& filter);

  kube::FakeClient server_;
  std::vector<std::string> hosts_;
  std::set<std::string> lost_;
};

}  // namespace yardmaster::chaos
