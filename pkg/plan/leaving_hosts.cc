#include "pkg/plan/leaving_hosts.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/plan_draft.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::GangPlan;
using placement::Objective;
using placement::Outcome;

// Jobs of one plan that are searched a later place: each costs a search.
constexpr int kMaxSearches = 16;

// No place is better.
bool IsIdeal(const Objective& objective) {
  const Objective one{.fabric_pods = 1, .segments = 1, .domains = 1};
  return objective <= one;
}

std::vector<const Departure*> DeparturesUntil(const Snapshot& snapshot, std::int64_t until_ms) {
  std::vector<const Departure*> departures;
  for (const Departure& departure : snapshot.leaving) {
    const bool is_overdue = departure.free_ms + kLeavingSlackMs < snapshot.now_ms;
    // The grace period that begins a moment after the wait is as long as its limit, usually.
    if (is_overdue || departure.free_ms > until_ms + kLeavingSlackMs) continue;
    departures.push_back(&departure);
  }
  return departures;
}

GangPlan PlanLater(PlanDraft& draft, JobId job, const std::vector<const Departure*>& departures) {
  placement::Cluster now = draft.cluster;
  for (const Departure* departure : departures) {
    const placement::WorkerNeed need(draft.cluster, departure->gpus, departure->requests);
    need.Give(draft.cluster, departure->host);
  }
  GangPlan later = draft.Search(job, /*explain=*/false);
  draft.cluster = std::move(now);
  return later;
}

std::string Gain(const GangPlan& now, const GangPlan& later) {
  if (now.outcome != Outcome::kPlaced) return "it fits then";
  if (later.objective.segments < now.objective.segments) {
    return StrCat(Count(later.objective.segments, "segment"), " then, ", now.objective.segments,
                  " now");
  }
  return "its place is better then";
}

placement::Reason ReasonOf(std::int64_t left_ms, const std::set<HostId>& hosts,
                           const std::set<std::string>& holders, const std::string& gain) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names(holders.begin(), holders.end());
  if (names.size() > kNamed) {
    const std::size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.push_back(StrCat(more, " more"));
  }
  const auto count = static_cast<std::int64_t>(hosts.size());
  return {placement::ReasonCode::kHostsLeaving, workload::TopologyLevel::kFabric, count,
          StrCat("waits up to ", (left_ms + 999) / 1000, " s for ", Count(count, "host"),
                 count == 1 ? " that comes free: " : " that come free: ", Join(names, ", "),
                 names.size() == 1 ? " ends; " : " end; ", gain)};
}

// The later place of the job, if it is to wait for it.
std::optional<GangPlan> BetterLater(PlanDraft& draft, const JobPlan& job,
                                    const std::vector<const Departure*>& departures) {
  const bool placed = job.gang.outcome == Outcome::kPlaced;
  if (placed && IsIdeal(job.gang.objective)) return std::nullopt;
  if (departures.empty() || draft.later_searches++ >= kMaxSearches) return std::nullopt;
  GangPlan later = PlanLater(draft, job.job, departures);
  if (later.outcome != Outcome::kPlaced) return std::nullopt;
  if (placed && !(later.objective < job.gang.objective)) return std::nullopt;
  return later;
}

bool Await(PlanDraft& draft, JobPlan& job, std::int64_t limit_ms) {
  const Snapshot& snapshot = draft.snapshot;
  const std::int64_t until_ms = AwaitsUntilMs(snapshot, job.job, limit_ms);
  if (snapshot.leaving.empty() || until_ms <= snapshot.now_ms) return false;
  const std::vector<const Departure*> departures = DeparturesUntil(snapshot, until_ms);
  const std::optional<GangPlan> later = BetterLater(draft, job, departures);
  if (!later) return false;

  const std::set<HostId> place(later->host_of_rank.begin(), later->host_of_rank.end());
  std::set<HostId> awaited;
  std::set<std::string> holders;
  std::int64_t last_ms = 0;
  for (const Departure* departure : departures) {
    if (place.count(departure->host) == 0) continue;
    awaited.insert(departure->host);
    holders.insert(departure->holder);
    last_ms = std::max(last_ms, departure->free_ms + kLeavingSlackMs);
  }
  if (awaited.empty()) return false;  // the searches were cut at different places
  job.awaited = AwaitedHosts{{place.begin(), place.end()}, std::min(until_ms, last_ms)};
  placement::Reason reason =
      ReasonOf(job.awaited->until_ms - snapshot.now_ms, awaited, holders, Gain(job.gang, *later));
  if (job.gang.outcome == Outcome::kPlaced) job.gang = GangPlan{};
  job.gang.reasons.insert(job.gang.reasons.begin(), std::move(reason));
  draft.KeepFor(job.job, job.awaited->hosts);
  return true;
}

}  // namespace

std::int64_t AwaitsUntilMs(const Snapshot& snapshot, JobId job, std::int64_t limit_ms) {
  return snapshot.jobs[job.index()].awaits_since_ms.value_or(snapshot.now_ms) + limit_ms;
}

Policies AwaitLeavingHosts(std::int64_t limit_ms) {
  const auto await = [limit_ms](PlanDraft& draft, JobPlan& job) {
    return Await(draft, job, limit_ms);
  };
  return {{PlanStep::kFound, await}, {PlanStep::kWaits, await}};
}

}  // namespace yardmaster::plan
