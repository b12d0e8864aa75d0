#include "pkg/extender/steps/gate_step.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/eviction.h"
#include "pkg/extender/steps/pin_patch.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxTimeoutSeconds = 366 * 86'400;
// Of a gang whose writes or evictions are refused no more than these are tried in one pass.
constexpr int kMaxFailures = 3;

// A gang that has run in full for so long since its placement is marked so.
constexpr std::int64_t kSettledMs = 60'000;
// kube-scheduler may not have looked at a released pod that is younger.
constexpr std::int64_t kYoungMs = 30'000;

// When the last of its pods was made: no wait is counted before the set was there.
std::int64_t WaitsSince(const GatheredGang& gathered) {
  std::int64_t since_ms = 0;
  for (const GangMember& member : gathered.members) {
    since_ms = std::max(since_ms, member.pod->metadata.created_ms);
  }
  return since_ms;
}

// Every rank that has a host is bound or has ended; pods that the gang grows by may still wait.
bool RunsInFull(const GatheredGang* gathered, int placed) {
  if (gathered == nullptr) return false;
  // Every pass asks this of every gang that was placed a short time ago.
  if (gathered->unbound == 0 && gathered->whole >= placed) return true;
  const int wanted = placed - static_cast<int>(gathered->ended.size());
  if (static_cast<int>(gathered->members.size()) - gathered->unbound < wanted) return false;
  const auto bound = std::count_if(
      gathered->members.begin(), gathered->members.end(), [&](const GangMember& member) {
        return member.rank && *member.rank < placed && !member.pod->node_name.empty();
      });
  return bound == wanted;
}

// No pod of it is on a node, and kube-scheduler has looked at each that is released.
bool NoneWasBound(const GatheredGang* gathered, std::int64_t now_ms) {
  if (gathered == nullptr || gathered->members.empty() || AnyBound(*gathered)) return false;
  const auto on_node = [](const GangMember& member) { return !member.pod->node_name.empty(); };
  const auto is_young = [now_ms](const GangMember& member) {
    return !member.pod->gated() && now_ms - member.pod->metadata.created_ms < kYoungMs;
  };
  return std::none_of(gathered->leaving.begin(), gathered->leaving.end(), on_node) &&
         std::none_of(gathered->strays.begin(), gathered->strays.end(), on_node) &&
         std::none_of(gathered->members.begin(), gathered->members.end(), is_young);
}

}  // namespace

bool GateStep::Slice::IsOver(PassReport& report) const {
  if (clock_.SteadyMs() < end_ms_) return false;
  report.releases_left = true;
  return true;
}

void GateStep::Run(PassState& pass, const std::vector<PodPtr>& idle) {
  ReleaseIdle(pass, idle);
  CheckGates(pass);
  CheckReady(pass);
  pass.handling.reset();
}

void GateStep::ReleaseIdle(PassState& pass, const std::vector<PodPtr>& idle) {
  const Slice slice(clock_, options_.slice_ms);
  for (const PodPtr& pod : idle) {
    // Refused writes of such a pod back off as a gang's do.
    const NamespacedName key{pod->metadata.namespace_name, "pod " + pod->metadata.name};
    if (pass.backing_off.count(key) != 0) continue;
    if (slice.IsOver(pass.report)) return;
    NoteFailure(pass, key, Release(pass, *pod, "it asks for no GPU"));
  }
}

GateStep::Options GateStep::LimitsOf(PassState& pass, const GatheredGang* gathered) const {
  Options limits = options_;
  if (gathered == nullptr || gathered->members.empty()) return limits;
  const api::ObjectMeta& pod = gathered->members.front().pod->metadata;
  const auto report = [&](const char* key, std::string_view text, const char* fix) {
    pass.report.problems.push_back(StrCat("Pod ", KeyOf(pod).text(), ": metadata.annotations[\"",
                                          key, "\"]: \"", text, "\" is not used; ", fix));
  };
  const auto milliseconds = [&](const char* key, std::int64_t least,
                                const char* fix) -> std::optional<std::int64_t> {
    const auto text = api::Find(pod.annotations, key);
    if (!text) return std::nullopt;
    const auto number = ParseNumber<std::int64_t>(*text);
    if (number && *number >= least && *number <= kMaxTimeoutSeconds) return *number * 1000;
    report(key, *text, fix);
    return std::nullopt;
  };
  if (const auto ms = milliseconds(api::kGateTimeoutAnnotation, 0,
                                   "write whole seconds, at most a year; 0: no limit")) {
    limits.gate_timeout_ms = *ms;
  }
  if (const auto text = api::Find(pod.annotations, api::kGateTimeoutActionAnnotation)) {
    if (*text == "Release" || *text == "Fail") {
      limits.gate_action = *text == "Fail" ? GateTimeoutAction::kFail : GateTimeoutAction::kRelease;
    } else {
      report(api::kGateTimeoutActionAnnotation, *text, "write Release or Fail");
    }
  }
  // No limit would be longer than the process's.
  const auto ready_ms =
      milliseconds(api::kReadyTimeoutAnnotation, 1, "write whole seconds from 1 to a year");
  if (ready_ms) {
    limits.ready_timeout_ms =
        options_.ready_timeout_ms > 0 ? std::min(options_.ready_timeout_ms, *ready_ms) : *ready_ms;
  }
  return limits;
}

void GateStep::CheckGates(PassState& pass) {
  std::vector<NamespacedName> keys;
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang != pass.gangs.end() && HoldsHosts(gang->second->status)) continue;
    if (pass.backing_off.count(key) != 0) continue;
    // Waiting for a controller of others is not waiting for us.
    if (gathered->gated > 0 && gathered->held_by_others == 0) keys.push_back(key);
  }
  std::rotate(keys.begin(), std::lower_bound(keys.begin(), keys.end(), next_), keys.end());
  const Slice slice(clock_, options_.slice_ms);
  const std::int64_t now_ms = clock_.WallMs();
  for (const NamespacedName& key : keys) {
    const std::shared_ptr<const GatheredGang> gathered = pass.gathered.at(key);
    const Options limits = LimitsOf(pass, gathered.get());
    if (limits.gate_timeout_ms == 0) continue;
    const std::int64_t waited_ms = now_ms - WaitsSince(*gathered);
    if (waited_ms < limits.gate_timeout_ms) {
      pass.WakeIn(limits.gate_timeout_ms - waited_ms);
      continue;
    }
    next_ = key;
    if (slice.IsOver(pass.report)) return;
    pass.handling = key;
    EndWaiting(pass, *gathered, waited_ms, limits.gate_action, slice);
  }
}

void GateStep::EndWaiting(PassState& pass, const GatheredGang& gathered, std::int64_t waited_ms,
                          GateTimeoutAction action, const Slice& slice) {
  const NamespacedName key{gathered.namespace_name, gathered.name};
  const bool fail = action == GateTimeoutAction::kFail;
  std::string why = StrCat("gang ", gathered.name, " had no place for ", waited_ms / 1000, " s");
  if (const auto gang = pass.gangs.find(key); gang != pass.gangs.end()) {
    const auto* planned =
        api::FindCondition(gang->second->status.conditions, api::kPlannedCondition);
    if (planned != nullptr) why += ": " + planned->message;
  }
  int done = 0;
  int failures = 0;
  bool all = true;
  for (const GangMember& member : gathered.members) {
    if (!member.pod->gated()) continue;
    all = failures < kMaxFailures && !slice.IsOver(pass.report);
    if (!all) break;
    const absl::Status written =
        fail ? Fail(pass, *member.pod, why) : Release(pass, *member.pod, why);
    done += written.ok() ? 1 : 0;
    // A pod that is gone stands in the way of no other.
    failures += written.ok() || kube::IsGone(written) ? 0 : 1;
    NoteFailure(pass, key, written);
  }
  // Not planned in this pass: it would be placed in part.
  pass.gathered.erase(key);
  if (done == 0 || !all) return;
  ++pass.report.gate_timeouts;
  notify_({gathered.members.front().membership->owner, gathered.namespace_name, true, "GateTimeout",
           StrCat(why,
                  fail ? "; its pods were failed" : "; its pods go to the scheduler as they are")});
}

void GateStep::CheckReady(PassState& pass) {
  std::vector<NamespacedName> keys;
  for (const auto& [key, gang] : pass.gangs) {
    if (!HoldsHosts(gang->status) || pass.quarantined.count(key) != 0) continue;
    if (pass.backing_off.count(key) != 0) continue;
    if (!api::IsTrue(gang->status.conditions, api::kRunningCondition)) keys.push_back(key);
  }
  const Slice slice(clock_, options_.slice_ms);
  for (const NamespacedName& key : keys) {
    pass.handling = key;
    CheckReadyOne(pass, key, slice);
  }
}

void GateStep::CheckReadyOne(PassState& pass, const NamespacedName& key, const Slice& slice) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  const GatheredGang* gathered = pass.GatheredOf(key);
  const std::int64_t now_ms = clock_.WallMs();
  const std::int64_t waited_ms = now_ms - gang->status.committed_ms;
  const std::int64_t ready_ms = LimitsOf(pass, gathered).ready_timeout_ms;
  if (RunsInFull(gathered, gang->placed_workers())) {
    // Without a limit of its own that is written when a gang has shown that it stays.
    if (ready_ms > 0 || waited_ms >= kSettledMs) return MarkRunning(pass, key, slice);
    return pass.WakeIn(kSettledMs - waited_ms);
  }
  const std::int64_t unbound_ms = options_.unbound_timeout_ms;
  std::string why;
  if (ready_ms > 0 && waited_ms >= ready_ms) {
    why = StrCat("the gang did not run in full within ", ready_ms / 1000, " s of its placement");
  } else if (unbound_ms > 0 && waited_ms >= unbound_ms && NoneWasBound(gathered, now_ms)) {
    why = StrCat("no pod of the gang was bound within ", unbound_ms / 1000, " s of its placement");
  }
  if (why.empty()) {
    for (const std::int64_t limit_ms : {ready_ms, unbound_ms, waited_ms + kYoungMs}) {
      if (limit_ms > waited_ms) pass.WakeIn(limit_ms - waited_ms);
    }
    return;
  }
  pass.stopping.insert(key);  // no pod of it is released any more
  const std::vector<PodPtr> pods = Evictable(gathered);
  if (!pods.empty()) return Evict(pass, key, pods, slice);
  if (gathered == nullptr || NoneCanRun(*gathered)) return GiveBack(pass, key, why);
  Evict(pass, key, WithMoreGrace(gathered, now_ms, options_.max_grace_ms), slice,
        options_.max_grace_ms);
}

void GateStep::GiveBack(PassState& pass, const NamespacedName& key, const std::string& why) {
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  api::GangStatus status = GivenBack(*gang, "NotReadyInTime", why, clock_.WallMs());
  // Set anew, so that its transition says when the gang went to the back of the queue.
  std::erase_if(status.conditions, [](const api::Condition& condition) {
    return condition.type == api::kRequeuedCondition;
  });
  SetCondition(status, *gang, api::kRequeuedCondition, true, "NotReadyInTime", why,
               clock_.WallMs());
  if (!ledger_.Write(pass, *gang, status)) return;
  pass.stopping.erase(key);
  ++pass.report.given_back;
  notify_({gang->owner, key.namespace_name, true, "NotReadyInTime",
           why + "; its hosts are free, and it queues behind the others"});
}

void GateStep::MarkRunning(PassState& pass, const NamespacedName& key, const Slice& slice) {
  if (slice.IsOver(pass.report)) return;
  const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
  api::GangStatus status = gang->status;
  SetCondition(status, *gang, api::kRunningCondition, true, "AllBound", "every pod is bound",
               clock_.WallMs());
  ledger_.Write(pass, *gang, status);
}

absl::Status GateStep::Keep(PassState& pass, const absl::StatusOr<json>& written) {
  if (written.ok()) {
    cache_.Assume(state::Kind::kPod, *written);
  } else if (!kube::IsGone(written.status())) {
    pass.report.errors.push_back(MessageOf(written.status()));
  }
  return written.status();
}

absl::Status GateStep::Release(PassState& pass, const api::Pod& pod, const std::string& why) {
  if (!ledger_.may_write()) return absl::CancelledError("the lease was lost");
  const kube::Target target{kube::Pods(), pod.metadata.namespace_name, pod.metadata.name, ""};
  return Keep(pass, [&]() -> absl::StatusOr<json> {
    YM_ASSIGN_OR_RETURN(const json object, client_.Get(target));
    if (object.value("/metadata/uid"_json_pointer, "") != pod.metadata.uid) {
      return absl::NotFoundError("another pod of that name");
    }
    YM_ASSIGN_OR_RETURN(const json patch, OpenGatePatch(object, why));
    return client_.Patch(target, kube::JsonPatch(patch), {kFieldManager});
  }());
}

absl::Status GateStep::Fail(PassState& pass, const api::Pod& pod, const std::string& why) {
  if (!ledger_.may_write()) return absl::CancelledError("the lease was lost");
  const kube::Target target{kube::Pods(), pod.metadata.namespace_name, pod.metadata.name, "status"};
  const json patch = {
      {"metadata", {{"uid", pod.metadata.uid}}},
      {"status", {{"phase", "Failed"}, {"reason", "GateTimeout"}, {"message", why}}}};
  return Keep(pass, client_.Patch(target, kube::MergePatch(patch), {kFieldManager}));
}

void GateStep::Evict(PassState& pass, const NamespacedName& gang, const std::vector<PodPtr>& pods,
                     const Slice& slice, std::optional<std::int64_t> grace_ms) {
  int failures = 0;
  for (const PodPtr& pod : pods) {
    if (failures == kMaxFailures || !ledger_.may_write() || slice.IsOver(pass.report)) return;
    const absl::Status evicted = EvictPod(client_, pod->metadata, EvictWhen::kSamePod, grace_ms);
    if (evicted.ok()) {
      ++pass.report.evicted_pods;
    } else if (!kube::IsGone(evicted)) {
      ++failures;
      pass.report.errors.push_back(MessageOf(evicted));
      NoteFailure(pass, gang, evicted);
    }
  }
}

}  // namespace yardmaster::extender
