// The jobs of a snapshot, kept from one ClusterState to the next: what each Gang and each
// TrainingJob without one asks for, and where a committed gang stands. See snapshot_builder.h for
// the rules.
//
// A job is read again when its Gang or TrainingJob is another object than before, or when hosts
// have another number or kind of GPUs. When hosts have other ids, its assignment is read again or
// renamed. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/rank_resolver.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/host_index.h"
#include "pkg/state/host_limits.h"

namespace yardmaster::state {

// True on a Gang once every pod of it has finished; its hosts are free again.
inline constexpr char kFinishedCondition[] = "Finished";

struct KeptJob {
  plan::JobState state;                         // eligible is left out
  std::shared_ptr<const api::Gang> gang;        // or null
  std::shared_ptr<const api::TrainingJob> job;  // or null
  std::shared_ptr<const HostLimit> limit;       // of rank 0; null: not asked for yet
  // Of a gang whose roles ask for different nodes, by role; else empty.
  std::vector<std::shared_ptr<const HostLimit>> role_limits;

  const api::NodeConstraints& constraints() const {
    return gang != nullptr ? gang->constraints : job->constraints;
  }
  const api::NodeConstraints& ConstraintsOf(const api::GangRole& role) const {
    return role.constraints ? *role.constraints : constraints();
  }
  // Of the pod of that rank.
  const std::vector<api::Toleration>& TolerationsOf(int rank) const;
  // Asks for `limit` and `role_limits`, where that was not done yet.
  void AskForLimits(HostLimits& limits);
  // Sets the hosts of `snapshot_job` by the limits, after their Update.
  void SetHosts(plan::JobState& snapshot_job);
  // The rank of a pod of that index in its subgroup.
  std::optional<int> RankOf(std::string_view subgroup, int index) const;

  // What SetHosts made last, and of which limits' hosts.
  std::shared_ptr<const std::vector<placement::RoleHosts>> role_hosts;
  std::shared_ptr<const placement::HostSet> hosts_of_any;

  // JobIndex's own: the Update that last saw the job, and how many of `state.problems` do not come
  // from its assignment.
  std::uint64_t round = 0;
  std::size_t own_problems = 0;
};

class JobIndex {
 public:
  // Keys of jobs that are new or gone, or that were read again, or their assignments.
  std::set<NamespacedName> Update(const ClusterState& cluster, const HostIndex& hosts,
                                  const HostChanges& changes);

  std::map<NamespacedName, KeptJob>& jobs() { return jobs_; }
  KeptJob* Find(const NamespacedName& key);

 private:
  using JobPtr = std::shared_ptr<const api::TrainingJob>;
  using JobsByGang = std::map<NamespacedName, JobPtr>;

  static JobPtr ExtractOwner(const api::Gang& gang, JobsByGang& jobs);
  void UpdateJob(const NamespacedName& key, std::shared_ptr<const api::Gang> gang, JobPtr job);
  workload::Job JobOf(const NamespacedName& key, const KeptJob& kept,
                      const api::JobSpec& spec) const;
  std::shared_ptr<const plan::Resize> ResizeOf(const NamespacedName& key, const KeptJob& kept,
                                               std::vector<std::string>& problems) const;
  // What makes it impossible to plan the job, whatever hosts there are.
  std::vector<std::string> ProblemsOf(const workload::Job& job) const;
  void Read(const NamespacedName& key, KeptJob& kept);
  static bool MoveAssignment(const HostChanges& changes, KeptJob& kept);
  void ReadAssignment(const fabric::Places& places, KeptJob& kept);
  static void ReadNext(const fabric::Places& places, KeptJob& kept);

  std::map<NamespacedName, KeptJob> jobs_;
  int gpus_per_host_ = 0;
  std::string gpu_resource_;
  bool read_all_ = false;
  std::uint64_t round_ = 0;
  std::set<NamespacedName> changed_;
};

}  // namespace yardmaster::state
