// The cluster of a history of TrainingJobs: hosts, jobs, what people and machines do to them, and
// the other controllers as far as an operator depends on them: the extender, kube-scheduler,
// kubelets, the programs in the containers and the garbage collector.
//
// Every job has hosts of its own, so that no job's place depends on when another one came. Nothing
// here depends on who wrote what when: two operators that bring the cluster to the same state see
// the same things happen. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::chaos {

class JobCluster {
 public:
  explicit JobCluster(const FakeClock& clock);

  kube::FakeClient& server() { return server_; }

  // One thing that people or machines do; says what. Nothing happens where there is nothing to do
  // it to.
  std::string Act(Random& random);
  // One look of all other controllers. True: something changed.
  bool Tick();
  // All that there is, without times, uids and versions.
  nlohmann::json Picture() const;
  // A job that has done its work and has not succeeded; empty: there is none. For a cluster at
  // rest.
  std::string Unfinished() const;
  int jobs_made() const { return next_job_; }

 private:
  struct Job {
    std::string name;
    std::string uid;
    int pool = 0;          // its hosts
    bool answers = false;  // its program writes a checkpoint when it is asked
    bool done = false;     // its program has ended without an error
  };
  using Pods = std::vector<nlohmann::json>;

  // What people do.
  std::string AddJob(Random& random);
  std::string SuspendOrResume(Random& random);
  std::string Scale(Random& random);
  std::string DeleteJob(Random& random);
  // What happens to pods and hosts.
  std::string FailWorkers(Random& random);
  std::string FailRole(Random& random);
  std::string RemovePods(Random& random);
  std::string Finish(Random& random);
  std::string LoseHost(Random& random);
  std::string ReturnHost();

  // What the other controllers do. True: something changed.
  bool CollectGarbage();
  bool Plan(const Job& job, const Pods& pods);
  bool GiveBack(const api::Gang& gang);
  // The hosts of the ranks, with another one where a rank cannot run on its own; empty: there are
  // too few.
  std::vector<std::string> HostsFor(const Job& job, std::vector<std::string> hosts,
                                    const std::map<int, nlohmann::json>& waiting) const;
  bool StartPods(const Job& job, const Pods& pods);
  bool RunKubelets(const Job& job, const Pods& pods);
  bool WriteCheckpoint(const nlohmann::json& pod, const Pods& pods);

  void PutNode(const std::string& name, bool ready, bool leaving);
  const Job* AnyJob(Random& random) const;
  // One that runs, with all its workers.
  const Job* AnyRunningJob(Random& random) const;
  nlohmann::json ObjectOf(const Job& job) const;
  void PatchSpec(const Job& job, const nlohmann::json& spec);
  // Of a job, by name.
  Pods PodsOf(const Job& job) const;
  // A pod of the job that runs; null: none does.
  nlohmann::json AnyRunning(const Job& job, bool of_role, Random& random) const;
  bool MayHost(const std::string& host, const nlohmann::json& pod) const;
  // The container ends; its kubelet starts it again where the pod says so.
  void EndContainer(nlohmann::json pod, int code, int second);
  void Run(nlohmann::json pod, const std::string& host);

  const FakeClock& clock_;
  kube::FakeClient server_;
  std::map<std::string, Job> jobs_;
  std::set<std::string> lost_;                   // hosts that are not Ready, gone or leaving
  std::map<std::string, std::int64_t> started_;  // by pod uid: the restart its container began with
  int next_job_ = 0;
};

}  // namespace yardmaster::chaos
