#include "pkg/plan/planner.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/plan/alike_searches.h"
#include "pkg/plan/host_holders.h"
#include "pkg/plan/plan_draft.h"
#include "pkg/plan/residual_bandwidth.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::GangPlan;
using placement::Outcome;

class Planner {
 public:
  Planner(const Snapshot& snapshot, const PlanOptions& options)
      : snapshot_(snapshot),
        options_(options),
        draft_(snapshot, options.placement),
        alike_(snapshot) {}

  Plan Run() {
    for (const JobId job : snapshot_.job_ids()) {
      if (!state(job).assignment) continue;
      draft_.plan.jobs.push_back(PlanPlaced(job));
      if (state(job).leaving) draft_.stopped.push_back(job);
    }
    for (const JobId job : QueueOrder(snapshot_)) draft_.plan.jobs.push_back(PlanWaiting(job));
    return std::move(draft_.plan);
  }

 private:
  const JobState& state(JobId job) const { return snapshot_.jobs[job.index()]; }

  // Applies the policies of the step until one does something for the job; returns whether one did.
  bool ApplyPolicies(PlanStep step, JobPlan& job) {
    return std::any_of(options_.policies.begin(), options_.policies.end(),
                       [&](const PlacePolicy& policy) {
                         return policy.step == step && policy.apply(draft_, job);
                       });
  }

  JobPlan PlanPlaced(JobId job) {
    JobPlan out;
    out.job = job;
    if (ApplyPolicies(PlanStep::kPlaced, out)) return out;
    const std::vector<HostId>& hosts = state(job).assignment->host_of_rank;
    out.gang.outcome = Outcome::kPlaced;
    out.gang.host_of_rank = hosts;
    out.gang.optimal = false;
    if (std::all_of(hosts.begin(), hosts.end(), [](HostId host) { return host.valid(); })) {
      out.gang.objective = placement::Evaluate(*snapshot_.places, *state(job).groups, hosts);
      out.gang.bound = out.gang.objective;
    }
    return out;
  }

  JobPlan PlanWaiting(JobId job) {
    JobPlan out;
    out.job = job;
    if (!state(job).problems.empty()) {
      out.gang.outcome = Outcome::kNever;
      for (const std::string& problem : state(job).problems) {
        out.gang.reasons.push_back(
            {placement::ReasonCode::kInvalid, workload::TopologyLevel::kFabric, 1, problem});
      }
      return out;
    }
    if (const GangPlan* known = alike_.Find(job)) {
      out.gang = *known;
    } else {
      SearchFor(job, out);
    }
    if (out.awaited) return out;
    if (out.gang.outcome == Outcome::kPlaced) {
      out.is_new = true;
      out.warnings = Warnings(job, out.gang.host_of_rank);
      draft_.Occupy(job, out.gang.host_of_rank);
      alike_.Changed();
      if (holders_) holders_->Add({job, &out.gang.host_of_rank});
    } else if (out.gang.outcome == Outcome::kNotNow) {
      if (ApplyPolicies(PlanStep::kWaits, out)) {
        alike_.Changed();
      } else if (WaitedLongEnough(snapshot_, job)) {
        KeepPlaceFor(job);
      }
    }
    return out;
  }

  // A place for the job, or why it has none.
  void SearchFor(JobId job, JobPlan& out) {
    out.gang = draft_.Search(job);
    if (out.gang.outcome == Outcome::kPlaced && ApplyPolicies(PlanStep::kFound, out)) {
      alike_.Changed();
    }
    if (out.awaited) return;
    if (out.gang.outcome != Outcome::kPlaced && MayBorrowSpares(job)) TrySpares(job, out);
    NameWhoHasHosts(out.gang);
    if (out.gang.outcome == Outcome::kPlaced) return;
    if (out.gang.outcome == Outcome::kNotNow) ReportReservedHosts(job, out.gang);
    alike_.Store(job, out.gang);
  }

  // A host without a domain is a domain of its own.
  bool SomeTensorGroupLeavesItsDomain(JobId job, const std::vector<HostId>& host_of_rank) const {
    const fabric::Places& places = *draft_.cluster.places;
    const auto domain_of = [&](int worker) {
      return places.domain_of(host_of_rank[static_cast<std::size_t>(worker)]);
    };
    const std::vector<workload::WorkerGroup>& groups = state(job).groups->tensor;
    return std::any_of(groups.begin(), groups.end(), [&](const workload::WorkerGroup& group) {
      return std::any_of(group.workers.begin(), group.workers.end(), [&](int worker) {
        return domain_of(worker) != domain_of(group.workers[0]);
      });
    });
  }

  std::vector<std::string> Warnings(JobId job, const std::vector<HostId>& host_of_rank) const {
    std::vector<std::string> warnings;
    const workload::Job& spec = state(job).job;
    const int tensor = spec.parallelism.tensor;
    int gpus = 0;
    for (const HostId host : host_of_rank) {
      gpus = std::max<int>(gpus, draft_.cluster.hosts[host.index()].gpus);
    }
    // GPUs of another resource are not those that hosts are counted by.
    if (spec.counts_gpus && tensor > gpus && SomeTensorGroupLeavesItsDomain(job, host_of_rank)) {
      warnings.push_back(StrCat("tensor groups of ", tensor, " GPUs do not fit a host of ", gpus,
                                ": their traffic uses the NICs instead of NVLink; tensor: ", gpus,
                                " or less keeps it inside hosts"));
    }
    if (const auto narrow = NarrowestOf(snapshot_, host_of_rank)) {
      warnings.push_back(TextOf(snapshot_, *narrow));
    }
    return warnings;
  }

  // Puts first the reason that the job would fit on hosts that are kept for others, where it would.
  void ReportReservedHosts(JobId job, GangPlan& gang) const {
    const bool any = std::any_of(draft_.cluster.hosts.begin(), draft_.cluster.hosts.end(),
                                 [&](const placement::HostState& host) {
                                   return host.reserved_for >= 0 && host.reserved_for != job.value;
                                 });
    if (!any) return;
    placement::Cluster open = draft_.cluster;
    for (placement::HostState& host : open.hosts) host.reserved_for = -1;
    placement::PlannerOptions quick = options_.placement;
    quick.explain = false;
    const GangPlan otherwise = placement::PlanGang(open, draft_.RequestOf(job), quick);
    if (otherwise.outcome != Outcome::kPlaced) return;
    std::vector<placement::Reason> reasons = WaitsForTurn(otherwise.host_of_rank, job);
    reasons.insert(reasons.end(), gang.reasons.begin(), gang.reasons.end());
    gang.reasons = std::move(reasons);
  }

  // Names the jobs that have the occupied hosts, those that this plan has placed included.
  void NameWhoHasHosts(GangPlan& gang) {
    if (gang.occupied.empty()) return;
    if (!holders_) {
      holders_.emplace(snapshot_);
      for (const JobPlan& placed : draft_.plan.jobs) {
        const JobState& holder = state(placed.job);
        if (placed.gang.outcome == Outcome::kPlaced) {
          holders_->Add({placed.job, &placed.gang.host_of_rank});
        } else if (holder.assignment) {
          holders_->Add({placed.job, &holder.assignment->host_of_rank});
        }
      }
    }
    holders_->Name(gang);
  }

  // Counts, at every level, of what the job would get and is kept for others.
  std::vector<placement::Reason> WaitsForTurn(const std::vector<HostId>& host_of_rank,
                                              JobId job) const {
    std::set<HostId> hosts;
    std::set<fabric::SegmentId> segments;
    std::set<fabric::FabricPodId> pods;
    std::set<int> owners;
    for (HostId host : host_of_rank) {
      const int owner = draft_.cluster.hosts[host.index()].reserved_for;
      if (owner < 0 || owner == job.value) continue;
      hosts.insert(host);
      segments.insert(snapshot_.places->segment_of(host));
      pods.insert(snapshot_.places->fabric_pod_of(host));
      owners.insert(owner);
    }
    std::vector<std::string> names;
    for (int owner : owners) {
      const JobState& first = state(JobId(owner));
      names.push_back(first.owner.empty() ? first.job.key.text() : first.owner);
    }
    const auto count = [](const auto& set) { return static_cast<std::int64_t>(set.size()); };
    using placement::ReasonCode;
    using workload::TopologyLevel;
    return {{ReasonCode::kWaitsForTurn, TopologyLevel::kFabric, count(hosts),
             StrCat("waits for its turn: it would fit with ", Count(count(hosts), "host"),
                    " kept for ", Join(names, ", "), ", which goes first")},
            {ReasonCode::kWaitsForTurn, TopologyLevel::kFabricPod, count(pods),
             StrCat("they are in ", Count(count(pods), "fabric pod"))},
            {ReasonCode::kWaitsForTurn, TopologyLevel::kSegment, count(segments),
             StrCat("and ", Count(count(segments), "segment"))}};
  }

  bool MayBorrowSpares(JobId job) const {
    return state(job).job.preemptible && draft_.backup_policy().lend_to_preemptible;
  }

  void TrySpares(JobId job, JobPlan& out) {
    placement::Cluster lent = draft_.cluster;
    for (placement::HostState& host : lent.hosts) host.backup = false;
    placement::PlannerOptions quick = options_.placement;
    quick.explain = false;
    GangPlan gang = placement::PlanGang(lent, draft_.RequestOf(job), quick);
    if (gang.outcome != Outcome::kPlaced) return;
    out.gang = std::move(gang);
    out.uses_backup = true;
  }

  void KeepPlaceFor(JobId job) {
    auto reservation = Reserve(snapshot_, draft_.cluster, job, options_.placement);
    if (!reservation) return;
    draft_.KeepFor(job, reservation->hosts);
    alike_.Changed();
    draft_.plan.reservations.push_back(*std::move(reservation));
  }

  const Snapshot& snapshot_;
  const PlanOptions& options_;
  PlanDraft draft_;
  AlikeSearches alike_;
  std::optional<HostHolders> holders_;  // once a gang found hosts occupied
};

}  // namespace

Plan MakePlan(const Snapshot& snapshot, const PlanOptions& options) {
  return Planner(snapshot, options).Run();
}

}  // namespace yardmaster::plan
