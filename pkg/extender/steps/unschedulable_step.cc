#include "pkg/extender/steps/unschedulable_step.h"

#include <algorithm>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/eligible_hosts.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/ledger/refusals.h"
#include "pkg/extender/steps/eviction.h"
#include "pkg/extender/steps/stale_release_step.h"
#include "pkg/kube/api_error.h"
#include "pkg/placement/replacement.h"

namespace yardmaster::extender {

namespace {

// A pod is unschedulable for so long before it is moved.
constexpr std::int64_t kMovePatienceMs = 3'000;
// Of a pod that came without the gate: it was unschedulable before its gang was placed, and
// kube-scheduler backs off before it looks again.
constexpr std::int64_t kMovePatienceWithoutGateMs = 30'000;
constexpr std::int64_t kMaxMovePatienceMs = 300'000;
constexpr std::size_t kMaxAtOnce = kMaxRefusals / 4;  // of a gang; the next pass has the next ones

bool IsPinned(const api::Pod& pod) {
  return std::any_of(pod.constraints.terms.begin(), pod.constraints.terms.end(),
                     [](const api::SelectorTerm& term) { return !term.fields.empty(); });
}

bool WaitsInVain(const GangMember& member) {
  const api::Pod& pod = *member.pod;
  return member.rank && pod.unschedulable && pod.node_name.empty() && pod.scheduling_gates.empty();
}

// Another pod of the gang still holds what this one waits for.
bool IsBeingLeft(const GatheredGang& gathered, const std::string& host) {
  const auto on_it = [&](const GangMember& member) { return member.pod->node_name == host; };
  return std::any_of(gathered.leaving.begin(), gathered.leaving.end(), on_it) ||
         std::any_of(gathered.strays.begin(), gathered.strays.end(), on_it);
}

}  // namespace

void UnschedulableStep::Run(PassState& pass) {
  ++round_;
  for (const plan::JobId id : pass.snapshot->job_ids()) RunOne(pass, id);
  pass.handling.reset();
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
}

void UnschedulableStep::RunOne(PassState& pass, plan::JobId id) {
  const plan::JobState& job = pass.snapshot->jobs[id.index()];
  const NamespacedName& key = job.job.key;
  const GatheredGang* gathered = pass.GatheredOf(key);
  if (!job.assignment || gathered == nullptr || pass.stopping.count(key) != 0) return;
  pass.handling = key;
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  if (gathered->unbound == 0) return EndCondition(pass, key);
  const std::vector<Stuck> stuck = StuckPods(pass, key, *gang);
  if (stuck.empty()) return;
  api::GangStatus refused = gang->status;
  std::vector<int> ranks;
  for (const Stuck& entry : stuck) {
    AddRefusal(refused, entry.rank, entry.host, entry.pod->unschedulable_message,
               pass.snapshot->now_ms);
    ranks.push_back(entry.rank);
  }
  const fabric::BackupPolicy policy =
      pass.snapshot->network ? pass.snapshot->network->spec().backup : fabric::BackupPolicy{};
  const auto eligible = EligibleNow(*pass.snapshot, job, nullptr, refused);
  const placement::GangRequest request{&job.job, job.groups.get(), eligible.get(), id.value};
  const placement::GangPlan plan = placement::ReplaceHosts(
      pass.snapshot->cluster, request, job.assignment->host_of_rank, ranks, policy);
  if (plan.outcome == placement::Outcome::kPlaced) {
    Refuse(pass, key, stuck);
  } else {
    TellNoOtherHost(pass, key, stuck, placement::Sentence(plan));
  }
}

std::vector<UnschedulableStep::Stuck> UnschedulableStep::StuckPods(PassState& pass,
                                                                   const NamespacedName& key,
                                                                   const api::Gang& gang) {
  std::vector<Stuck> stuck;
  const GatheredGang& gathered = *pass.GatheredOf(key);
  const auto& slots = gang.status.assignments;
  for (const GangMember& member : gathered.members) {
    if (stuck.size() == kMaxAtOnce) break;
    if (!WaitsInVain(member) || static_cast<std::size_t>(*member.rank) >= slots.size()) continue;
    const std::string& host = slots[static_cast<std::size_t>(*member.rank)].host;
    if (member.pod->metadata.controller() == nullptr || IsBeingLeft(gathered, host)) continue;
    // Not its slot's host was refused (stale_release_step.h).
    if (ReleasedTo(*member.pod).value_or(host) != host) continue;
    if (IsDue(pass, gang, member)) stuck.push_back({member.pod, *member.rank, host});
  }
  return stuck;
}

bool UnschedulableStep::IsDue(PassState& pass, const api::Gang& gang, const GangMember& member) {
  const std::int64_t now_ms = clock_.SteadyMs();
  const auto [at, is_new] = seen_.try_emplace(member.pod->metadata.uid);
  Seen& seen = at->second;
  seen.round = round_;
  if (is_new) {
    const std::int64_t patience_ms =
        IsPinned(*member.pod) ? kMovePatienceMs : kMovePatienceWithoutGateMs;
    const int doublings =
        std::min(RefusalsOf(gang.status, *member.rank, pass.snapshot->now_ms), 10);
    seen.wait_ms = std::min(patience_ms << doublings, kMaxMovePatienceMs);
    seen.next_ms = now_ms + seen.wait_ms;
  }
  if (seen.next_ms > now_ms) {
    pass.WakeIn(seen.next_ms - now_ms);
    return false;
  }
  seen.wait_ms = std::min(seen.wait_ms * 2, kMaxMovePatienceMs);
  seen.next_ms = now_ms + seen.wait_ms;
  pass.WakeIn(seen.wait_ms);
  return true;
}

// The write goes first: the next leader then knows that the host is not to be tried again.
void UnschedulableStep::Refuse(PassState& pass, const NamespacedName& key,
                               const std::vector<Stuck>& stuck) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const std::int64_t now_ms = clock_.WallMs();
  api::GangStatus status = gang->status;
  for (const Stuck& entry : stuck) {
    AddRefusal(status, entry.rank, entry.host, entry.pod->unschedulable_message, now_ms);
  }
  const Stuck& first = stuck.front();
  const std::string text = StrCat(
      "kube-scheduler refused ", first.host, " for rank ", first.rank,
      stuck.size() > 1 ? StrCat(" (and ", stuck.size() - 1, " more)") : std::string(), ": ",
      first.pod->unschedulable_message, "; the pod is replaced and its rank moves to another host");
  SetCondition(status, *gang, api::kHostRefusedCondition, true, "Moving", text, now_ms);
  if (!ledger_.Write(pass, *gang, status)) return;
  notify_({gang->owner, key.namespace_name, true, "HostRefused", text});
  for (const Stuck& entry : stuck) {
    const api::ObjectMeta& pod = entry.pod->metadata;
    notify_({{"v1", "Pod", pod.name, pod.uid, false},
             key.namespace_name,
             true,
             "HostRefused",
             StrCat(entry.host, " was refused to rank ", entry.rank, ": ",
                    entry.pod->unschedulable_message, "; the pod is replaced")});
    Evict(pass, entry.pod);
  }
}

void UnschedulableStep::TellNoOtherHost(PassState& pass, const NamespacedName& key,
                                        const std::vector<Stuck>& stuck, const std::string& why) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const Stuck& first = stuck.front();
  const std::string text = StrCat("kube-scheduler refused ", first.host, " for rank ", first.rank,
                                  ": ", first.pod->unschedulable_message,
                                  "; the pod waits there, because no other host fits: ", why);
  api::GangStatus status = gang->status;
  if (!SetCondition(status, *gang, api::kHostRefusedCondition, true, "NoOtherHost", text,
                    clock_.WallMs())) {
    return;
  }
  if (ledger_.Write(pass, *gang, status)) {
    notify_({gang->owner, key.namespace_name, true, "HostRefused", text});
  }
}

void UnschedulableStep::EndCondition(PassState& pass, const NamespacedName& key) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  if (!api::IsTrue(gang->status.conditions, api::kHostRefusedCondition)) return;
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kHostRefusedCondition, false, "Bound", "every pod is bound",
               clock_.WallMs());
  ledger_.Write(pass, *gang, status);
}

void UnschedulableStep::Evict(PassState& pass, const PodPtr& pod) {
  if (!ledger_.may_write()) return;
  const absl::Status evicted = EvictPod(client_, pod->metadata, EvictWhen::kSameVersion);
  if (evicted.ok()) {
    ++pass.report.refused_hosts;
  } else if (!kube::IsGone(evicted)) {
    pass.report.errors.push_back(MessageOf(evicted));
  }
}

}  // namespace yardmaster::extender
