#include "pkg/extender/steps/unschedulable_step.h"

#include <algorithm>
#include <utility>

#include "pkg/api/refusals.h"
#include "pkg/base/strings.h"
#include "pkg/extender/facts/eligible_hosts.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/stale_release_step.h"

namespace yardmaster::extender {

namespace {

// A pod is unschedulable for so long before it is moved.
constexpr std::int64_t kMovePatienceMs = 3'000;
// Of a pod that came without the gate: it was unschedulable before its gang was placed, and
// kube-scheduler backs off before it looks again.
constexpr std::int64_t kMovePatienceWithoutGateMs = 30'000;
constexpr std::int64_t kMaxMovePatienceMs = 300'000;
constexpr std::size_t kMaxAtOnce =
    api::kMaxRefusals / 4;  // of a gang; the next pass has the next ones

bool IsPinned(const api::Pod& pod) {
  return std::any_of(pod.constraints.terms.begin(), pod.constraints.terms.end(),
                     [](const api::SelectorTerm& term) { return !term.fields.empty(); });
}

bool WaitsInVain(const gather::GangMember& member) {
  const api::Pod& pod = *member.pod;
  return member.rank && pod.unschedulable && pod.node_name.empty() && pod.scheduling_gates.empty();
}

// Another pod of the gang still holds what this one waits for.
bool IsBeingLeft(const gather::GatheredGang& gathered, const std::string& host) {
  const auto on_it = [&](const gather::GangMember& member) {
    return member.pod->node_name == host;
  };
  return std::any_of(gathered.leaving.begin(), gathered.leaving.end(), on_it) ||
         std::any_of(gathered.strays.begin(), gathered.strays.end(), on_it);
}

// The write goes first: the next leader then knows that the host is not to be tried again.
Decision Refuse(const PassFacts& facts, const std::shared_ptr<const api::Gang>& gang,
                const std::vector<StuckPod>& stuck) {
  const NamespacedName key = KeyOf(gang->metadata);
  const std::int64_t now_ms = facts.now.wall_ms;
  api::GangStatus status = gang->status;
  for (const StuckPod& entry : stuck) {
    AddRefusal(status, entry.rank, entry.host, entry.pod->unschedulable_message, now_ms);
  }
  const StuckPod& first = stuck.front();
  const std::string text = StrCat(
      "kube-scheduler refused ", first.host, " for rank ", first.rank,
      stuck.size() > 1 ? StrCat(" (and ", stuck.size() - 1, " more)") : std::string(), ": ",
      first.pod->unschedulable_message, "; the pod is replaced and its rank moves to another host");
  SetCondition(status, *gang, api::kHostRefusedCondition, true, "Moving", text, now_ms);
  Decision decision{{CommitGangStatus{key, gang, std::move(status)},
                     Event{gang->owner, key.namespace_name, true, "HostRefused", text}}};
  Decision evictions;
  evictions.threads = 1;
  for (const StuckPod& entry : stuck) {
    const api::ObjectMeta& pod = entry.pod->metadata;
    decision.effects.push_back(
        Event{{"v1", "Pod", pod.name, pod.uid, false},
              key.namespace_name,
              true,
              "HostRefused",
              StrCat(entry.host, " was refused to rank ", entry.rank, ": ",
                     entry.pod->unschedulable_message, "; the pod is replaced")});
    evictions.effects.push_back(
        EvictPod{EvictionsOf(key), entry.pod, EvictWhen::kSameVersion, &PassReport::refused_hosts});
  }
  decision.then = [evictions](const PassFacts&, const EffectOutcomes& outcomes) {
    return outcomes.front().done() ? evictions : Decision{};
  };
  return decision;
}

Decision ReportNoOtherHost(const PassFacts& facts, const std::shared_ptr<const api::Gang>& gang,
                           const StuckPod& first, const std::string& why) {
  const NamespacedName key = KeyOf(gang->metadata);
  const std::string text = StrCat("kube-scheduler refused ", first.host, " for rank ", first.rank,
                                  ": ", first.pod->unschedulable_message,
                                  "; the pod waits there, because no other host fits: ", why);
  api::GangStatus status = gang->status;
  if (!SetCondition(status, *gang, api::kHostRefusedCondition, true, "NoOtherHost", text,
                    facts.now.wall_ms)) {
    return {};
  }
  return {{CommitGangStatus{key, gang, std::move(status)},
           Event{gang->owner, key.namespace_name, true, "HostRefused", text}}};
}

Decision EndCondition(const PassFacts& facts, const std::shared_ptr<const api::Gang>& gang,
                      const char* reason, const char* message) {
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kHostRefusedCondition, false, reason, message,
               facts.now.wall_ms);
  return {{CommitGangStatus{KeyOf(gang->metadata), gang, std::move(status)}}};
}

}  // namespace

std::vector<Work> UnschedulableStep::Plan(const PassFacts& facts) {
  // Pods that no gang was asked for in the last pass are forgotten.
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
  ++round_;
  std::vector<Work> works;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const plan::JobState& job = facts.snapshot->jobs[id.index()];
    if (!job.assignment || facts.IsStopping(job.job.key)) continue;
    const bool marked =
        api::IsTrue(facts.GangOf(id)->status.conditions, api::kHostRefusedCondition);
    const gather::GatheredGang* gathered = facts.GatheredOf(job.job.key);
    if ((gathered == nullptr || gathered->unbound == 0) && !marked) continue;
    works.push_back({job.job.key, [this, id](const PassFacts& now) { return Decide(now, id); }});
  }
  return works;
}

Decision UnschedulableStep::Decide(const PassFacts& facts, plan::JobId id) {
  const plan::Snapshot& snapshot = *facts.snapshot;
  const plan::JobState& job = snapshot.jobs[id.index()];
  const std::shared_ptr<const api::Gang> gang = facts.gangs.at(job.job.key);
  const gather::GatheredGang* gathered = facts.GatheredOf(job.job.key);
  if (gathered == nullptr || gathered->members.empty()) {
    return EndCondition(facts, gang, "NoPods", "the gang has no pod");
  }
  if (gathered->unbound == 0) {
    // Else the pod that was evicted is still to be made again.
    const bool whole = gathered->whole >= static_cast<int>(job.assignment->host_of_rank.size());
    return whole ? EndCondition(facts, gang, "Bound", "every pod is bound") : Decision{};
  }
  Decision decision;
  const std::vector<StuckPod> stuck = StuckPods(facts, *gang, decision.effects);
  if (stuck.empty()) return decision;
  api::GangStatus refused = gang->status;
  std::vector<int> ranks;
  for (const StuckPod& entry : stuck) {
    AddRefusal(refused, entry.rank, entry.host, entry.pod->unschedulable_message, snapshot.now_ms);
    ranks.push_back(entry.rank);
  }
  plan::JobState moving = job;
  moving.eligible = EligibleNow(snapshot, job, nullptr, refused);
  const placement::GangPlan plan = ReplaceUntriedFirst(snapshot, id, moving, refused, ranks);
  Decision next = plan.outcome == placement::Outcome::kPlaced
                      ? Refuse(facts, gang, stuck)
                      : ReportNoOtherHost(facts, gang, stuck.front(), placement::Sentence(plan));
  decision.then = [next = std::move(next)](const PassFacts&, const EffectOutcomes&) {
    return next;
  };
  return decision;
}

std::vector<StuckPod> UnschedulableStep::StuckPods(const PassFacts& facts, const api::Gang& gang,
                                                   std::vector<Effect>& effects) {
  std::vector<StuckPod> stuck;
  const gather::GatheredGang& gathered = *facts.GatheredOf(KeyOf(gang.metadata));
  const auto& slots = gang.status.assignments;
  for (const gather::GangMember& member : gathered.members) {
    if (stuck.size() == kMaxAtOnce) break;
    if (!WaitsInVain(member) || static_cast<std::size_t>(*member.rank) >= slots.size()) continue;
    const std::string& host = slots[static_cast<std::size_t>(*member.rank)].host;
    if (member.pod->metadata.controller() == nullptr || IsBeingLeft(gathered, host)) continue;
    // Not its slot's host was refused (stale_release_step.h).
    if (ReleasedTo(*member.pod).value_or(host) != host) continue;
    if (IsDue(facts, gang, member, effects)) stuck.push_back({member.pod, *member.rank, host});
  }
  return stuck;
}

bool UnschedulableStep::IsDue(const PassFacts& facts, const api::Gang& gang,
                              const gather::GangMember& member, std::vector<Effect>& effects) {
  const std::int64_t now_ms = facts.now.steady_ms;
  const auto [at, is_new] = seen_.try_emplace(member.pod->metadata.uid);
  Seen& seen = at->second;
  seen.round = round_;
  if (is_new) {
    const std::int64_t patience_ms =
        IsPinned(*member.pod) ? kMovePatienceMs : kMovePatienceWithoutGateMs;
    const int doublings =
        std::min(RefusalsOf(gang.status, *member.rank, facts.snapshot->now_ms), 10);
    seen.wait_ms = std::min(patience_ms << doublings, kMaxMovePatienceMs);
    seen.next_ms = now_ms + seen.wait_ms;
  }
  if (seen.next_ms > now_ms) {
    effects.push_back(WakeIn{seen.next_ms - now_ms});
    return false;
  }
  seen.wait_ms = std::min(seen.wait_ms * 2, kMaxMovePatienceMs);
  seen.next_ms = now_ms + seen.wait_ms;
  effects.push_back(WakeIn{seen.wait_ms});
  return true;
}

}  // namespace yardmaster::extender
