// Gives back what asks for hosts and no decision names: NodeClaims of jobs that are gone, and
// NodeClaims and ProvisioningRequests of living jobs that a process which was paused asked for when
// it did not lead any more.
//
// A name has the number of the rental that it was asked for in (capacity_objects.h), and numbers
// only grow. What the present decision does not name is therefore named by none again. The decision
// is read from the API server after the objects: one that was there then was asked for by this
// decision or by one before it.
//
// What a job's decision does not name goes after kLateMs in which this process has seen that, and
// not while a pod is on its Node or a Gang keeps the Node for one; pods that every host has do not
// count. So do NodeClaims of a job that is being deleted, however long others keep its object. What
// belongs to a job whose rental cannot be read stays, and so does what names no job: others have
// made it. PodTemplates cost nothing and go with their job.
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

  // OK where the cluster has no NodeClaims or no ProvisioningRequests.
  // Errors: of the code of the first, with a line of each object that could not be read or deleted,
  // at most 20. What one object fails for keeps no other from being given back.
  absl::Status Sweep();

 private:
  // What asks for hosts, and the job that it is for.
  struct Found {
    kube::Target target;
    std::string uid;
    std::string node;  // empty: none, or not known
    std::string job_key;
    std::string job_uid;
  };
  // What a job's decision names: "<plural>/<name>".
  struct Decision {
    bool job_gone = false;
    bool job_deleted = false;  // it is there still; it names nothing
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
  // `seen`: decisions in the cache, by the job's uid. `there`: uids of what was found are added.
  // False: it could not be listed.
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
  std::map<std::string, std::int64_t> late_since_ms_;  // by uid, steady
};

}  // namespace yardmaster::op
