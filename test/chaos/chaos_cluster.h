// The cluster of a history: hosts, jobs of five kinds with the controllers that own them, and
// kube-scheduler, as far as the ledger depends on them, over an API server in memory. What must
// hold after every step is checked here on what the API server holds, apart from the code that
// keeps it. Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::chaos {

class ChaosCluster {
 public:
  explicit ChaosCluster(const FakeClock& clock);

  kube::FakeClient& server() { return server_; }

  // What people and machines do. Each does nothing where there is nothing to do it to.
  void AddJob(Random& random);
  void AddJob(const std::string& kind, int workers, int priority);
  // A resumed job may have another size than before; TrainingJobs keep theirs.
  void SuspendOrResumeJob(Random& random);
  void ResumeJobs();
  // A job that is neither finished nor suspended wants another number of workers.
  void ScaleJob(Random& random);
  void FinishJob(Random& random);
  void DeleteJob(Random& random);
  void FailPod(Random& random);
  void LoseOrReturnHost(Random& random);
  void ReturnHosts();

  // What the other controllers do, as often as they like.
  void RunOwners();
  // `filter`: whether a pod may go to a node, as an extender says.
  using Filter = std::function<bool(const nlohmann::json& pod, const std::string& node)>;
  void RunScheduler(const Filter& filter);
  void CollectGarbage();

  // The first promise that does not hold; empty: all do.
  std::string BrokenPromise();
  // A job that has all its pods, no place, and enough free hosts; empty: there is none. Also a pod
  // that its gang's plan does not agree with. For a cluster that was left in peace.
  std::string Unfinished() const;

 private:
  struct Job {
    std::string name;
    std::string kind;
    int workers = 0;
    int priority = 0;
    int life = 0;  // pods made so far
    bool suspended = false;
    bool finished = false;
  };

  void AddFabric();
  void AddNode(int segment, int host, bool ready);
  void PutOwner(const Job& job);
  void AddPod(Job& job, int rank);
  Job* AnyJob(Random& random, const std::function<bool(const Job&)>& fits);
  std::vector<nlohmann::json> PodsOf(const std::string& job) const;
  void DeletePods(const std::string& job);

  kube::FakeClient server_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, bool> ready_;         // by Node
  std::map<std::string, std::size_t> slots_;  // of each Gang at the last check, by uid
  int next_job_ = 0;
};

}  // namespace yardmaster::chaos
