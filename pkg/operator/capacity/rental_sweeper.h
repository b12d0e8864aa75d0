// Deletes objects that request hosts and belong to no decision: NodeClaims of jobs that are gone,
// and NodeClaims and ProvisioningRequests of living jobs that a paused process created after it had
// lost leadership.
//
// A name contains the number of its rental (capacity_objects.h), and numbers only grow. So a name
// that the present decision does not contain is in no later one either. The decision is read from
// the API server after the objects: an object that was listed belongs to this decision or to an
// earlier one.
//
//   - An object that its job's decision does not name is deleted after this process has seen that
//     for kLateMs, and not while a pod is on its Node or a Gang keeps the Node for one. Pods that
//     every host has do not count.
//   - The same holds for NodeClaims of a job that is being deleted, however long others keep its
//     object.
//   - Objects of a job whose rental cannot be read are kept, and so are objects that name no job,
//     because other components created them.
//   - PodTemplates cost nothing and are deleted with their job.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives the sweeper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/job_notice.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class RentalSweeper {
 public:
  static constexpr std::int64_t kLateMs = 60'000;

  using Notify = std::function<void(const JobNotice&)>;

  RentalSweeper(kube::Client& client, const state::ClusterCache& cache, const Clock& clock,
                Notify notify)
      : client_(client), cache_(cache), clock_(clock), notify_(std::move(notify)) {}

  // OK if the cluster serves no NodeClaims or no ProvisioningRequests. Errors: the code of the
  // first one, with a line for each object that could not be read or deleted, at most 20. A failure
  // for one object does not stop the others.
  absl::Status Sweep();

 private:
  // An object that requests hosts, and its job.
  struct Found {
    kube::Target target;
    std::string uid;
    std::string node;  // empty: none, or not known
    std::string job_key;
    std::string job_uid;
  };
  // The objects that a job's decision names: "<plural>/<name>".
  struct Decision {
    bool job_gone = false;
    bool job_deleted = false;  // it still exists; its decision names nothing
    bool readable = true;
    std::set<std::string> names;
  };

  class Failures {
   public:
    void Add(const std::string& what, const absl::Status& why);
    absl::Status status() const;

   private:
    static constexpr std::size_t kMaxFailures = 20;
    absl::Status first_;
    std::vector<std::string> lines_;
    std::size_t count_ = 0;
  };

  static Decision DecisionOf(const api::TrainingJob& job);
  // `seen`: decisions in the cache, by the job's uid. Adds the uids of listed objects to `there`.
  // False: they could not be listed.
  bool SweepKind(const kube::Resource& resource, const std::map<std::string, Decision>& seen,
                 std::set<std::string>& there, Failures& failures);
  absl::Status List(const kube::Resource& resource, std::vector<Found>& found);
  absl::StatusOr<Decision> ReadDecision(const Found& found);
  absl::Status GiveBackIfLate(const Found& found, const Decision& decision);
  absl::Status Delete(const Found& found);

  kube::Client& client_;
  const state::ClusterCache& cache_;
  const Clock& clock_;
  Notify notify_;
  std::map<std::string, std::int64_t> late_since_ms_;  // by uid; steady clock
};

}  // namespace yardmaster::op
