#include "pkg/extender/steps/stale_release_step.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/eviction.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {

// The host that pin_patch.h has written: the last field of every term.
std::string PinOf(const api::Pod& pod) {
  if (pod.constraints.terms.empty() || pod.constraints.terms.front().fields.empty()) return "";
  const api::SelectorRequirement& field = pod.constraints.terms.front().fields.back();
  const bool one = field.op == api::SelectorOperator::kIn && field.values.size() == 1;
  return one && field.key == "metadata.name" ? field.values.front() : "";
}

// Null: the rank has no slot now.
const std::string* SlotHost(const api::Gang& gang, int rank) {
  const auto& slots = gang.status.assignments;
  const bool has_slot = HoldsHosts(gang.status) && static_cast<std::size_t>(rank) < slots.size();
  return has_slot ? &slots[static_cast<std::size_t>(rank)].host : nullptr;
}

}  // namespace

std::optional<std::string> ReleasedTo(const api::Pod& pod) {
  if (!pod.scheduling_gates.empty() || !pod.selected_host().empty()) return std::nullopt;
  if (!api::Find(pod.metadata.annotations, api::kSlotAnnotation)) return std::nullopt;
  std::string host = pod.node_name.empty() ? PinOf(pod) : pod.node_name;
  return host.empty() ? std::nullopt : std::optional(std::move(host));
}

void StaleReleaseStep::Run(PassState& pass) {
  std::map<NamespacedName, Looked> before;
  before.swap(in_place_);
  for (const auto& [key, gathered] : pass.gathered) {
    if (gathered->gated == static_cast<int>(gathered->members.size())) continue;
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || gang->second->status.plan_generation == 0) continue;
    if (IsFinished(gang->second->status) || ledger_.InDoubt(key)) continue;
    if (pass.stopping.count(key) != 0 || pass.quarantined.count(key) != 0) continue;
    const auto looked = before.find(key);
    const Looked now{gathered, gang->second};
    if (looked != before.end() && looked->second == now) {
      in_place_.insert(before.extract(looked));
      continue;
    }
    pass.handling = key;
    if (RunOne(pass, key, *now.gang, *gathered)) in_place_.emplace(key, now);
  }
  std::erase_if(refused_, [&](const auto& entry) { return pass.gathered.count(entry.first) == 0; });
  pass.handling.reset();
}

std::vector<StaleReleaseStep::Stale> StaleReleaseStep::StalePods(
    const NamespacedName& key, const api::Gang& gang, const GatheredGang& gathered) const {
  std::vector<Stale> stale;
  for (const GangMember& member : gathered.members) {
    if (!member.rank || *member.rank < 0) continue;
    if (member.pod->metadata.controller() == nullptr) continue;
    std::optional<std::string> host = ReleasedTo(*member.pod);
    if (!host) continue;
    const std::string* slot = SlotHost(gang, *member.rank);
    if (slot != nullptr && *slot == *host) continue;
    stale.push_back({&member, *std::move(host)});
  }
  const auto last = refused_.find(key);
  if (last == refused_.end()) return stale;
  const auto at = std::find_if(stale.begin(), stale.end(), [&](const Stale& pod) {
    return pod.member->pod->metadata.uid == last->second;
  });
  if (at != stale.end()) std::rotate(stale.begin(), std::next(at), stale.end());
  return stale;
}

bool StaleReleaseStep::RunOne(PassState& pass, const NamespacedName& key, const api::Gang& gang,
                              const GatheredGang& gathered) {
  constexpr int kMaxFailures = 3;  // in one pass
  const std::vector<Stale> stale = StalePods(key, gang, gathered);
  if (stale.empty()) return true;
  if (pass.backing_off.count(EvictionsOf(key)) != 0) return false;
  int failures = 0;
  for (const Stale& pod : stale) {
    if (!Recall(pass, key, gang, pod) && ++failures == kMaxFailures) break;
  }
  return false;
}

bool StaleReleaseStep::MayRecallBound(PassState& pass, const api::ObjectMeta& pod) {
  const std::int64_t now_ms = clock_.SteadyMs();
  while (!recalled_ms_.empty() && now_ms - recalled_ms_.front() >= options_.window_ms) {
    recalled_ms_.pop_front();
  }
  if (recalled_ms_.size() < options_.max_bound) return true;
  if (!recalled_ms_.empty()) pass.WakeIn(recalled_ms_.front() + options_.window_ms - now_ms);
  pass.report.problems.push_back(
      StrCat("Pod ", pod.namespace_name, "/", pod.name, ": it runs on another host than its Gang ",
             "says, and ", options_.max_bound, " such pods were replaced in the last ",
             options_.window_ms / 60'000, " min; it is left alone for now: compare the Gang's ",
             "status.assignments with where its pods run"));
  return false;
}

bool StaleReleaseStep::Recall(PassState& pass, const NamespacedName& key, const api::Gang& gang,
                              const Stale& stale) {
  if (!ledger_.may_write()) return true;
  const api::ObjectMeta& meta = stale.member->pod->metadata;
  const bool bound = !stale.member->pod->node_name.empty();
  if (bound && !MayRecallBound(pass, meta)) return true;
  const absl::Status evicted = EvictPod(client_, meta, EvictWhen::kSamePod);
  if (!evicted.ok()) {
    if (kube::IsGone(evicted)) return true;
    pass.report.errors.push_back(MessageOf(evicted));
    NoteFailure(pass, EvictionsOf(key), evicted);
    refused_[key] = meta.uid;
    return false;
  }
  ++pass.report.recalled_pods;
  if (bound) recalled_ms_.push_back(clock_.SteadyMs());
  const int rank = *stale.member->rank;
  const std::string* slot = SlotHost(gang, rank);
  const std::string now = slot != nullptr
                              ? StrCat("rank ", rank, " belongs on ", *slot, " now")
                              : StrCat("gang ", gang.metadata.name, " has no place now");
  notify_({{"v1", "Pod", meta.name, meta.uid, false},
           meta.namespace_name,
           true,
           "ReleasedTooLate",
           StrCat("it was released for ", stale.host, ", and ", now, "; the pod is replaced")});
  return true;
}

}  // namespace yardmaster::extender
