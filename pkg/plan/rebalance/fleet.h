// The running gangs while moves are sought: where each stands after the moves so far, which may
// move, and the hosts that gangs about to start will have.
//
// Every move that it makes is checked by the verifier against the cluster as it is at that moment.
// Deterministic. Lifetimes: the snapshot given, the terms and the options outlive it. Thread
// safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/placement/outcome.h"
#include "pkg/plan/rebalance/move.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

class Fleet {
 public:
  // Gangs of the queue that fit now have their hosts at once, and reservations of the queue hold.
  // `terms` by JobId. No plans are allowed yet.
  Fleet(const Snapshot& snapshot, const std::vector<MoveTerms>& terms,
        const RebalanceOptions& options);

  const Snapshot& now() const { return now_; }
  const JobState& state(JobId job) const { return now_.jobs[job.index()]; }
  const std::vector<fabric::HostId>& hosts(JobId job) const {
    return state(job).assignment->host_of_rank;
  }
  // Gangs that may be moved and have not been, ascending: those that run as a whole, whose owner
  // lets them move, and whose pods disruption budgets let be stopped.
  std::vector<JobId> MovableGangs() const;
  // Why a gang may not be moved, for people; empty: it may, or has been.
  std::string WhyFixed(JobId job) const;
  // Every rank has a host.
  bool IsPlaced(JobId job) const;
  bool IsMoved(JobId job) const { return moved_[job.index()] != 0; }
  // Gangs that wait and fit nowhere, and for which others may be moved, in the order of the queue.
  const std::vector<JobId>& waiting() const { return waiting_; }

  placement::Objective PlacesOf(JobId job) const;  // of a running gang where it stands
  double PriceOf(JobId job) const;                 // GPU seconds
  FleetObjective Value() const;
  // As `Value().lost_gpus`, were the running gang there.
  double LostGpusAt(JobId job, const std::vector<fabric::HostId>& hosts);
  // ContentionCost::BusyUplinks of the other gangs. REQUIRES: now().network.
  std::vector<double> BusyUplinksWithout(JobId job);
  // Seconds for which a change of a running gang counts.
  double HorizonOf(JobId job) const;

  void AllowPlans(int plans) { plans_left_ = std::max(0, plans_left_) + plans; }
  // Plans a gang on `cluster`, on hosts of `eligible` where that is not null. Counts as one plan;
  // once there are none left the answer is NotNow.
  placement::GangPlan Search(const placement::Cluster& cluster, JobId job,
                             const placement::HostSet* eligible = nullptr);
  bool is_cut() const { return plans_left_ < 0; }

  // Errors: Internal, where the verifier refuses the place.
  absl::Status MoveTo(JobId job, const std::vector<fabric::HostId>& to);
  // A waiting gang has these hosts from now on. Errors: as of MoveTo.
  absl::Status Admit(JobId waiting, const std::vector<fabric::HostId>& hosts);

 private:
  bool WithinBudgets(JobId job) const;
  template <typename Ask>
  auto With(JobId job, std::optional<Assignment> assignment, Ask ask);

  const std::vector<MoveTerms>& terms_;
  const RebalanceOptions& options_;
  Snapshot now_;
  std::vector<std::uint8_t> moved_;  // by JobId
  std::vector<JobId> waiting_;
  placement::Objective places_;
  double lost_gpus_ = 0;
  int plans_left_ = 0;
};

}  // namespace yardmaster::plan
