#include "pkg/operator/jobs/incident.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "pkg/api/gang.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/asked_action.h"
#include "pkg/workload/data_groups.h"

namespace yardmaster::op {

namespace {

using api::FailureAction;
using api::Incident;
using api::IncidentCause;
using api::OnHostLoss;

constexpr std::size_t kShownRanks = 64;
constexpr std::int64_t kStableMs = 600'000;
// Failures of single ranks so soon after the first belong to its incident.
constexpr std::int64_t kJoinMs = 30'000;
constexpr std::int64_t kAvoidHostMs = 86'400'000;
// A host with a fault is out of placement by then, if the fault is still there.
constexpr std::int64_t kAvoidFaultyMs = 3'600'000;
constexpr std::size_t kAvoidedHosts = 32;
// In a message, before what follows from failures that have joined the incident.
constexpr std::string_view kJoined = "; others followed: ";

const Worker& At(const JobObservation& job, int rank) {
  return job.workers[static_cast<std::size_t>(rank)];
}

// "worker 3", "launcher 0".
std::string NameOfMember(const JobObservation& job, int member) {
  const RoleRange* role = job.RoleOf(member);
  return role == nullptr ? StrCat("worker ", member)
                         : StrCat(role->name, " ", member - role->first);
}

std::string Ranks(const JobObservation& job, const std::vector<int>& ranks) {
  if (ranks.size() == 1) return NameOfMember(job, ranks[0]);
  const bool all_ranks = ranks.back() < job.ranks();
  return all_ranks ? StrCat(ranks.size(), " workers, the first is ", ranks[0], ",")
                   : StrCat(ranks.size(), " pods, the first is ", NameOfMember(job, ranks[0]), ",");
}

const char* Consequence(OnHostLoss action) {
  static constexpr const char* kTexts[] = {"replaced alone", "all workers restart",
                                           "the job fails"};
  return kTexts[static_cast<std::size_t>(action)];
}

std::vector<int> Union(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

// With the ranks of the incident before that are not made again yet, where that replaces single
// ones.
struct AskedNow : Asked {
  std::vector<int> unfinished = {};
};

// Of how many data groups the members are, and whether another one goes on.
struct TouchedGroups {
  TouchedGroups(const JobObservation& job, const std::vector<int>& members) {
    std::set<int> seen;
    for (const int member : members) {
      if (member < job.ranks()) seen.insert(job.group_of_rank[static_cast<std::size_t>(member)]);
    }
    touched = seen.size();
    all = static_cast<std::size_t>(
        *std::max_element(job.group_of_rank.begin(), job.group_of_rank.end()) + 1);
    // A status lists so many ranks.
    const bool fits = members.size() <= static_cast<std::size_t>(api::kMaxListedRanks);
    one_goes_on = touched < all && fits;
  }
  std::size_t touched = 0;
  std::size_t all = 0;
  bool one_goes_on = false;
};

// Restarts the data groups of `ranks` in place of all workers, where that is asked and one group at
// least goes on. What follows, for people.
std::string SetMembers(const JobObservation& job, const std::vector<int>& ranks,
                       const AskedNow& asked, Incident& incident) {
  incident.ranks = ranks;
  if (incident.action == OnHostLoss::kReplace) incident.ranks = Union(ranks, asked.unfinished);
  if (incident.action != OnHostLoss::kRestart || !asked.by_group) {
    return Consequence(incident.action);
  }
  std::vector<int> members =
      Union(workload::WithDataGroups(ranks, job.group_of_rank), asked.unfinished);
  const TouchedGroups groups(job, members);
  if (!groups.one_goes_on) return Consequence(incident.action);
  incident.action = OnHostLoss::kReplace;
  incident.ranks = std::move(members);
  return StrCat(groups.touched, " of ", groups.all, " data groups restart",
                groups.touched == 1 ? "s" : "", ", the others go on");
}

std::int64_t BackoffMs(const api::RecoveryPolicy& policy, int consecutive) {
  if (consecutive == 0) return 0;
  std::int64_t seconds = policy.backoff_seconds;
  for (int i = 1; i < consecutive && seconds < policy.max_backoff_seconds; ++i) seconds *= 2;
  return 1000 * std::min<std::int64_t>(seconds, policy.max_backoff_seconds);
}

// Takes one restart out of the budget. False: none is left.
bool TakeRestart(const JobObservation& job, api::RecoveryState& recovery, Incident& incident) {
  const std::int64_t window_ms = std::int64_t{1000} * job.policy.restart_window_seconds;
  if (recovery.restarts_in_window == 0 || job.IsAhead(recovery.window_start_ms) ||
      job.now_ms - recovery.window_start_ms > window_ms) {
    recovery.window_start_ms = incident.start_ms;
    recovery.restarts_in_window = 0;
  }
  if (recovery.restarts_in_window >= job.policy.max_restarts) return false;
  ++recovery.restarts_in_window;
  if (job.running_ms >= kStableMs) recovery.consecutive_restarts = 0;
  incident.counted = true;
  incident.not_before_ms =
      incident.start_ms + BackoffMs(job.policy, recovery.consecutive_restarts++);
  return true;
}

// Adds the host, or makes it avoided for longer; those whose time is over go.
void Avoid(const std::string& host, std::int64_t now_ms, std::int64_t length_ms,
           std::vector<api::AvoidedHost>& avoided) {
  // The API server keeps whole seconds.
  std::int64_t until_ms = (now_ms + length_ms) / 1000 * 1000;
  for (const api::AvoidedHost& known : avoided) {
    if (known.host == host) until_ms = std::max(until_ms, known.until_ms);
  }
  std::erase_if(avoided, [&](const api::AvoidedHost& known) {
    return known.until_ms <= now_ms || known.host == host;
  });
  if (avoided.size() >= kAvoidedHosts) {
    avoided.erase(
        std::min_element(avoided.begin(), avoided.end(), [](const auto& a, const auto& b) {
          return std::pair(a.until_ms, a.host) < std::pair(b.until_ms, b.host);
        }));
  }
  avoided.push_back({host, until_ms});
  std::sort(avoided.begin(), avoided.end(),
            [](const auto& a, const auto& b) { return a.host < b.host; });
}

void AvoidHostOfRoot(const JobObservation& job, const Asked& asked, api::RecoveryState& recovery) {
  const std::string& host = At(job, asked.root).host;
  if (asked.moves() && !host.empty()) Avoid(host, job.now_ms, kAvoidHostMs, recovery.avoided);
}

void DecideFailure(const JobObservation& job, const std::vector<int>& failed, const AskedNow& asked,
                   api::RecoveryState& recovery, Incident& incident) {
  const Worker& worker = At(job, asked.root);
  incident.cause = IncidentCause::kWorkerFailed;
  incident.action = asked.action;
  incident.first_rank = asked.root;
  incident.host = worker.host;
  for (const api::ContainerExit& exit : worker.exits) {
    if (exit.exit_code != 0 && !incident.exit_code) incident.exit_code = exit.exit_code;
  }
  incident.blames_host = !asked.of_role && !worker.host.empty() && !asked.ignored &&
                         !IsDisrupted(worker) &&
                         (asked.rule == nullptr || asked.rule->action != FailureAction::kFail);
  AvoidHostOfRoot(job, asked, recovery);
  std::string why =
      StrCat(Ranks(job, failed), IsDisrupted(worker) ? " was disrupted" : " failed",
             incident.exit_code ? StrCat(" with exit code ", *incident.exit_code) : std::string(),
             incident.host.empty() ? std::string() : StrCat(" on host ", incident.host));
  if (!asked.ignored && incident.action != OnHostLoss::kFail &&
      !TakeRestart(job, recovery, incident)) {
    incident.action = OnHostLoss::kFail;
    why += StrCat(" after ", Count(recovery.restarts_in_window, "restart"));
  }
  incident.message = StrCat(why, ": ", SetMembers(job, failed, asked, incident),
                            asked.moves() && incident.action != OnHostLoss::kFail
                                ? StrCat(", rank ", asked.root, " on another host")
                                : std::string());
}

// The first segment, or domain, that is lost as a whole with hosts of these members; empty: none.
std::string LostPlaceOf(const JobObservation& job, const std::vector<int>& members,
                        std::string HostVerdict::*place) {
  for (const int member : members) {
    const std::string& name = At(job, member).host_verdict.*place;
    if (!name.empty()) return name;
  }
  return "";
}

// What its hosts were lost with, the larger place first; kHostLost: with nothing else.
IncidentCause CauseOfLoss(const JobObservation& job, const std::vector<int>& members) {
  if (!LostPlaceOf(job, members, &HostVerdict::segment).empty()) return IncidentCause::kSegmentLost;
  if (!LostPlaceOf(job, members, &HostVerdict::domain).empty()) return IncidentCause::kDomainLost;
  return IncidentCause::kHostLost;
}

void DecideLoss(const JobObservation& job, const std::vector<int>& ranks, IncidentCause cause,
                const AskedNow& asked, api::RecoveryState& recovery, Incident& incident) {
  incident.first_rank = ranks[0];
  const Worker& first = At(job, ranks[0]);
  incident.host = first.phase == WorkerPhase::kMissing ? first.slot_host : first.host;
  incident.action = asked.action;
  incident.cause = cause;
  if (cause == IncidentCause::kWorkerRemoved) {
    incident.message = StrCat(Ranks(job, ranks),
                              " was removed by others: ", SetMembers(job, ranks, asked, incident));
    return;
  }
  const bool fails = incident.action == OnHostLoss::kFail;
  if (incident.cause != IncidentCause::kHostLost) {
    const bool of_segment = incident.cause == IncidentCause::kSegmentLost;
    const std::string_view kind = of_segment ? "segment" : "domain";
    std::string& place = of_segment ? incident.segment : incident.domain;
    place = LostPlaceOf(job, ranks, of_segment ? &HostVerdict::segment : &HostVerdict::domain);
    incident.message = StrCat(Ranks(job, ranks), " lost ", kind, " ", place, ": ",
                              SetMembers(job, ranks, asked, incident));
    if (!fails) incident.message += StrCat(", those there in other ", kind, "s");
    return;
  }
  if (HaveFault(job, ranks)) {
    const HostVerdict& verdict = At(job, ranks[0]).host_verdict;
    incident.cause = IncidentCause::kHostFault;
    if (verdict.slow_rank >= 0) {
      incident.cause = IncidentCause::kSlowHost;
      incident.first_rank = verdict.slow_rank;
      incident.blames_host = true;
    }
    incident.message = StrCat(Ranks(job, ranks), " is on host ", incident.host, " with ",
                              verdict.fault_name, ": ", SetMembers(job, ranks, asked, incident));
    for (const int rank : ranks) {
      const Worker& worker = At(job, rank);
      if (worker.host_verdict.reachable()) {
        // Nothing else keeps the job from a host that is slow.
        const bool slow = worker.host_verdict.slow_rank >= 0;
        Avoid(worker.host, job.now_ms, slow ? kAvoidHostMs : kAvoidFaultyMs, recovery.avoided);
      }
    }
    return;
  }
  incident.message = StrCat(Ranks(job, ranks), " lost host ", incident.host, ": ",
                            SetMembers(job, ranks, asked, incident));
}

// Of an incident that concerns all, the ranks that caused it are listed for people.
void LimitRanks(Incident& incident) {
  if (incident.action != OnHostLoss::kReplace && incident.ranks.size() > kShownRanks) {
    incident.ranks.resize(kShownRanks);
  }
}

// What an incident of single ranks or data groups that is not over has not finished: it is part of
// the next one, too. Of data groups that go on, a rank without a pod would be another incident.
std::vector<int> Unfinished(const JobObservation& job, const Incident* active) {
  std::vector<int> unfinished;
  if (active == nullptr || active->action != OnHostLoss::kReplace) return unfinished;
  for (const int rank : active->ranks) {
    // The job may have become smaller since: a growth that found no room was given up.
    if (rank >= static_cast<int>(job.workers.size())) continue;
    const Worker& worker = At(job, rank);
    if (worker.phase == WorkerPhase::kMissing && job.group_of_rank.empty()) continue;
    if (worker.attempt < active->attempt) unfinished.push_back(rank);
  }
  return unfinished;
}

// Adds ranks to an incident that moves single ranks, or restarts data groups; where no group is
// left that goes on, it becomes a restart of the job. False: there is none to join.
bool JoinIncident(const JobObservation& job, const std::vector<int>& ranks, IncidentCause cause,
                  const Asked& asked, api::RecoveryState& recovery) {
  const Incident* active = recovery.active();
  if (active == nullptr || active->action != OnHostLoss::kReplace || active->cause != cause ||
      job.now_ms - active->start_ms > kJoinMs) {
    return false;
  }
  Incident& incident = recovery.incidents.back();
  // A worker's failure is more than that of a role: its own policy decides.
  if (OnlyRoles(job, ranks) != OnlyRoles(job, incident.ranks)) return false;
  if (asked.action != OnHostLoss::kReplace && !asked.by_group) return false;
  if (ActionFor(job, ranks, OnHostLoss::kReplace) != OnHostLoss::kReplace) return false;
  // A failure that counts against the restart budget does not join an incident that does not.
  const bool failed = cause == IncidentCause::kWorkerFailed;
  if (failed && !asked.ignored && !incident.counted) return false;
  // It has another cause, and its host is avoided.
  if (cause == IncidentCause::kHostLost && HaveFault(job, ranks)) return false;
  for (int rank : ranks) {
    const auto at = std::lower_bound(incident.ranks.begin(), incident.ranks.end(), rank);
    // A rank that was recreated already has failed again: that is another incident.
    if (at != incident.ranks.end() && *at == rank) return false;
    if (At(job, rank).attempt >= incident.attempt) return false;
  }
  if (failed) AvoidHostOfRoot(job, asked, recovery);
  incident.ranks = Union(
      incident.ranks, asked.by_group ? workload::WithDataGroups(ranks, job.group_of_rank) : ranks);
  incident.message.resize(std::min(incident.message.size(), incident.message.find(kJoined)));
  incident.message += kJoined;
  if (asked.by_group && !TouchedGroups(job, incident.ranks).one_goes_on) {
    incident.action = OnHostLoss::kRestart;
    recovery.min_attempt = incident.attempt;
    incident.message += Consequence(incident.action);
    LimitRanks(incident);
  } else {
    incident.message += StrCat(incident.ranks.size(), " pods in all");
  }
  return true;
}

bool StalledThereBefore(const api::RecoveryState& recovery, const std::string& host,
                        std::int64_t now_ms) {
  return std::any_of(recovery.incidents.begin(), recovery.incidents.end(),
                     [&](const Incident& earlier) {
                       return earlier.cause == IncidentCause::kStalled && earlier.host == host &&
                              now_ms - earlier.start_ms < kAvoidHostMs;
                     });
}

void Begin(Incident incident, api::RecoveryState& recovery) {
  if (recovery.active() != nullptr) recovery.incidents.back().end_ms = incident.start_ms;
  recovery.attempt = incident.attempt;
  if (incident.action == OnHostLoss::kRestart) recovery.min_attempt = incident.attempt;
  recovery.incidents.push_back(std::move(incident));
  if (recovery.incidents.size() > api::kKeptIncidents) {
    recovery.incidents.erase(recovery.incidents.begin());
  }
}

}  // namespace

const char* NameOf(api::IncidentCause cause) {
  return api::kIncidentCauseNames[static_cast<std::size_t>(cause)].data();
}

bool DecideIncident(const JobObservation& job, const RankFailures& failures,
                    api::RecoveryState& recovery) {
  const bool lost = !failures.lost.empty();
  const bool failed = !lost && !failures.failed.empty();
  const std::vector<int>& ranks = lost     ? failures.lost
                                  : failed ? failures.failed
                                           : failures.removed;
  if (ranks.empty()) return false;
  const IncidentCause cause = lost     ? CauseOfLoss(job, ranks)
                              : failed ? IncidentCause::kWorkerFailed
                                       : IncidentCause::kWorkerRemoved;
  AskedNow asked{failed ? AskedByFailure(job, ranks) : AskedByLoss(job, ranks, cause)};
  if (JoinIncident(job, ranks, cause, asked, recovery)) return true;
  asked.unfinished = Unfinished(job, recovery.active());
  Incident incident;
  // The API server keeps whole seconds.
  incident.start_ms = job.now_ms / 1000 * 1000;
  incident.attempt = recovery.attempt + 1;
  if (failed) {
    DecideFailure(job, ranks, asked, recovery, incident);
  } else {
    DecideLoss(job, ranks, cause, asked, recovery, incident);
  }
  LimitRanks(incident);
  Begin(std::move(incident), recovery);
  return true;
}

void BeginMove(const JobObservation& job, api::RecoveryState& recovery) {
  Incident incident;
  incident.start_ms = job.now_ms / 1000 * 1000;
  incident.attempt = recovery.attempt + 1;
  incident.cause = IncidentCause::kMoved;
  incident.action = OnHostLoss::kRestart;
  incident.message =
      StrCat("the job moves to other hosts, which are kept for it: ", Consequence(incident.action));
  Begin(std::move(incident), recovery);
}

void RestartStalled(const JobObservation& job, const std::string& why,
                    const std::vector<int>& suspects, api::RecoveryState& recovery) {
  Incident incident;
  // The API server keeps whole seconds.
  incident.start_ms = job.now_ms / 1000 * 1000;
  incident.attempt = recovery.attempt + 1;
  incident.cause = IncidentCause::kStalled;
  incident.action = OnHostLoss::kRestart;
  incident.ranks = suspects;
  LimitRanks(incident);
  std::set<std::string> hosts;
  for (const int rank : suspects) hosts.insert(At(job, rank).host);
  if (hosts.size() == 1) {
    incident.first_rank = suspects[0];
    incident.host = *hosts.begin();
  }
  std::string end;
  if (!TakeRestart(job, recovery, incident)) {
    incident.action = OnHostLoss::kFail;
    end = StrCat(" after ", Count(recovery.restarts_in_window, "restart"));
  } else if (!incident.host.empty() && !job.rented) {
    incident.blames_host = StalledThereBefore(recovery, incident.host, job.now_ms);
    Avoid(incident.host, job.now_ms, kAvoidFaultyMs, recovery.avoided);
    end = StrCat(", not on host ", incident.host);
  }
  incident.message = StrCat(why, ": ", Consequence(incident.action), end);
  Begin(std::move(incident), recovery);
}

void FailAtDeadline(const JobObservation& job, api::RecoveryState& recovery) {
  Incident incident;
  incident.start_ms = job.now_ms / 1000 * 1000;
  incident.attempt = recovery.attempt + 1;
  incident.cause = IncidentCause::kDeadlineExceeded;
  incident.action = OnHostLoss::kFail;
  incident.message =
      StrCat("the job has run for spec.activeDeadlineSeconds (",
             job.run.active_deadline_seconds.value_or(0), "): ", Consequence(incident.action));
  Begin(std::move(incident), recovery);
}

}  // namespace yardmaster::op
