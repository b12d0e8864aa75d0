#include "pkg/plan/rebalance/fleet.h"

#include <algorithm>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::Objective;
using placement::Outcome;

bool HasAllHosts(const JobState& state) {
  if (!state.assignment) return false;
  const std::vector<HostId>& hosts = state.assignment->host_of_rank;
  return static_cast<int>(hosts.size()) == state.job.workers &&
         std::all_of(hosts.begin(), hosts.end(), [](HostId host) { return host.valid(); });
}

bool RunsWhole(const JobState& state) {
  return HasAllHosts(state) && !state.leaving && state.lost_ranks.empty() &&
         state.resize == nullptr && state.problems.empty();
}

double LostGpusIn(const Snapshot& snapshot) {
  return snapshot.network == nullptr ? 0 : ContentionCost(snapshot).LostGpus();
}

absl::Status Checked(const Snapshot& snapshot, JobId job, const std::vector<HostId>& hosts) {
  const absl::Status fit = VerifyPlacement(snapshot, job, hosts);
  if (fit.ok()) return fit;
  return absl::InternalError(StrCat("a move that the verifier refuses: ", MessageOf(fit)));
}

}  // namespace

Fleet::Fleet(const Snapshot& snapshot, const std::vector<MoveTerms>& terms,
             const RebalanceOptions& options)
    : terms_(terms), options_(options), now_(snapshot), moved_(snapshot.jobs.size(), 0) {
  const Plan queue = MakePlan(snapshot, {.placement = options.placement, .policies = {}});
  for (const JobPlan& job : queue.jobs) {
    if (state(job.job).assignment) continue;
    if (job.gang.outcome == Outcome::kPlaced) {
      placement::MoveOccupation(now_.cluster, state(job.job).job, {}, job.gang.host_of_rank);
    } else if (job.gang.outcome == Outcome::kNotNow && state(job.job).may_stop_others) {
      waiting_.push_back(job.job);
    }
  }
  for (const Reservation& reservation : queue.reservations) {
    for (const HostId host : reservation.hosts) {
      now_.cluster.hosts[host.index()].reserved_for = reservation.job.value;
    }
  }
  for (const JobId job : now_.job_ids()) {
    if (HasAllHosts(state(job))) places_ = Changed(places_, {}, PlacesOf(job));
  }
  lost_gpus_ = LostGpusIn(now_);
}

bool Fleet::WithinBudgets(JobId job) const {
  return state(job).may_be_preempted &&
         std::all_of(
             state(job).budgets.begin(), state(job).budgets.end(), [&](const BudgetUse& use) {
               return use.pods <= now_.budgets[static_cast<std::size_t>(use.budget)].allowed;
             });
}

std::vector<JobId> Fleet::MovableGangs() const {
  std::vector<JobId> gangs;
  for (const JobId job : now_.job_ids()) {
    if (moved_[job.index()] == 0 && WhyFixed(job).empty()) gangs.push_back(job);
  }
  return gangs;
}

std::string_view Fleet::WhyFixed(JobId job) const {
  const MoveTerms& terms = terms_[job.index()];
  if (!terms.movable && terms.why_not.empty()) return "its owner keeps it";
  if (!terms.movable) return terms.why_not;
  if (!RunsWhole(state(job))) return "it does not run as a whole";
  return WithinBudgets(job) ? "" : "a disruption budget protects its pods";
}

bool Fleet::IsPlaced(JobId job) const { return HasAllHosts(state(job)); }

Objective Fleet::PlacesOf(JobId job) const {
  return placement::Evaluate(*now_.places, *state(job).groups, hosts(job));
}

double Fleet::PriceOf(JobId job) const {
  return static_cast<double>(state(job).job.gpus()) * terms_[job.index()].lost_seconds;
}

FleetObjective Fleet::Value() const {
  return {static_cast<std::int64_t>(waiting_.size()), places_, lost_gpus_};
}

// Snapshots are large, so one entry of this one is changed and changed back.
template <typename Ask>
auto Fleet::With(JobId job, std::optional<Assignment> assignment, Ask ask) {
  std::swap(now_.jobs[job.index()].assignment, assignment);
  auto answer = ask();
  std::swap(now_.jobs[job.index()].assignment, assignment);
  return answer;
}

double Fleet::LostGpusAt(JobId job, const std::vector<HostId>& hosts) {
  return With(job, Assignment{hosts}, [&] { return LostGpusIn(now_); });
}

std::vector<double> Fleet::BusyUplinksWithout(JobId job) {
  return With(job, std::nullopt, [&] { return ContentionCost(now_).BusyUplinks(); });
}

double Fleet::HorizonOf(JobId job) const {
  const std::optional<std::int64_t> end_ms = ExpectedEndMs(state(job));
  if (!end_ms || *end_ms <= now_.now_ms) return options_.horizon_seconds;
  return std::min(options_.horizon_seconds, static_cast<double>(*end_ms - now_.now_ms) / 1000);
}

placement::GangPlan Fleet::Search(const placement::Cluster& cluster, JobId job,
                                  const placement::HostSet* eligible) {
  if (options_.stop.stop_requested()) plans_left_ = 0;
  if (plans_left_-- <= 0) return {};
  placement::GangRequest request = RequestOf(state(job), job);
  if (eligible != nullptr) request.eligible = eligible;
  return placement::PlanGang(cluster, request, options_.placement);
}

absl::Status Fleet::MoveTo(JobId job, const std::vector<HostId>& to) {
  YM_RETURN_IF_ERROR(Checked(now_, job, to));
  const Objective before = PlacesOf(job);
  placement::MoveOccupation(now_.cluster, state(job).job, hosts(job), to);
  now_.jobs[job.index()].assignment = Assignment{to};
  moved_[job.index()] = 1;
  places_ = Changed(places_, before, PlacesOf(job));
  lost_gpus_ = LostGpusIn(now_);
  return absl::OkStatus();
}

absl::Status Fleet::Admit(JobId waiting, const std::vector<HostId>& hosts) {
  YM_RETURN_IF_ERROR(Checked(now_, waiting, hosts));
  placement::MoveOccupation(now_.cluster, state(waiting).job, {}, hosts);
  std::erase(waiting_, waiting);
  return absl::OkStatus();
}

}  // namespace yardmaster::plan
