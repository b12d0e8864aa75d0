// Fleet is the state of the running gangs during the search for moves: the hosts of each gang after
// the moves so far, whether it may move, and the hosts of gangs that are about to start.
//
// The verifier checks every move against the state of the cluster at that moment.
//
// Deterministic. Lifetimes: the terms and the options outlive the fleet. Thread safety: one thread.
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
  // Gives their hosts to the gangs of the queue that fit now, and keeps the reservations of the
  // queue. `terms`: by JobId. Initially no plans are allowed.
  Fleet(const Snapshot& snapshot, const std::vector<MoveTerms>& terms,
        const RebalanceOptions& options);

  const Snapshot& now() const { return now_; }
  const JobState& state(JobId job) const { return now_.jobs[job.index()]; }
  const std::vector<fabric::HostId>& hosts(JobId job) const {
    return state(job).assignment->host_of_rank;
  }
  // Returns the gangs that may be moved and have not been, ascending. They run as a whole, their
  // owner permits moves, and disruption budgets allow their eviction.
  std::vector<JobId> MovableGangs() const;
  // Returns why a gang may not be moved; empty: it may, or has been.
  std::string_view WhyFixed(JobId job) const;
  // Whether every rank has a host.
  bool IsPlaced(JobId job) const;
  bool IsMoved(JobId job) const { return moved_[job.index()] != 0; }
  // Gangs that wait, do not fit, and may have others moved for them, in the order of the queue.
  const std::vector<JobId>& waiting() const { return waiting_; }

  placement::Objective PlacesOf(JobId job) const;  // objective of a running gang
  double PriceOf(JobId job) const;                 // GPU seconds
  FleetObjective Value() const;
  // Returns `Value().lost_gpus` for the case that the running gang has these hosts.
  double LostGpusAt(JobId job, const std::vector<fabric::HostId>& hosts);
  // Returns ContentionCost::BusyUplinks of the other gangs. REQUIRES: now().network.
  std::vector<double> BusyUplinksWithout(JobId job);
  // Returns for how many seconds a change of a running gang counts.
  double HorizonOf(JobId job) const;

  void AllowPlans(int plans) { plans_left_ = std::max(0, plans_left_) + plans; }
  // Plans a gang on `cluster`, restricted to `eligible` unless that is null. Uses up one plan.
  // Without plans left it returns an empty plan, which is NotNow.
  placement::GangPlan Search(const placement::Cluster& cluster, JobId job,
                             const placement::HostSet* eligible = nullptr);
  bool is_cut() const { return plans_left_ < 0; }

  // Errors: Internal if the verifier rejects the place.
  absl::Status MoveTo(JobId job, const std::vector<fabric::HostId>& to);
  // Gives these hosts to a waiting gang. Errors: as MoveTo.
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
