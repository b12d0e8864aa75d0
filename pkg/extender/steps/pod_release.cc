#include "pkg/extender/steps/pod_release.h"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/ledger/refusals.h"
#include "pkg/extender/steps/pin_patch.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::extender {

struct PodRelease::Work {
  bool first_time;            // its gang has not been released in full yet
  std::int64_t committed_ms;  // its gang
  NamespacedName gang;
  PodPtr pod;
  const api::AssignmentEntry* slot;
  bool backup;

  std::string SlotText() const;
};

namespace {

constexpr std::int64_t kRecoveryMs = 30'000;

bool MayGoThere(const api::Pod& pod, bool backup) {
  const auto tolerates = [&](const char* key) {
    return api::Tolerates(pod.constraints.tolerations, {key, "", api::TaintEffect::kNoSchedule});
  };
  return tolerates(api::kPromisedKey) && (!backup || tolerates(api::kBackupKey));
}

// A pod that still has to be released, or that came without the gate and would be turned away.
bool NeedsPatch(const api::Pod& pod, bool backup) {
  if (pod.gated()) return true;
  return pod.node_name.empty() && !pod.metadata.deleted_ms && !MayGoThere(pod, backup);
}

// Whether a gang that has been released in full lacks a rank, or has one that is on no node.
bool LacksARank(const api::Gang& gang, const GatheredGang& gathered) {
  if (!HoldsHosts(gang.status) || gathered.finished > 0) return false;  // it ends
  if (gathered.unbound == 0 && IsComplete(gathered, gang.job.workers)) return false;
  return api::IsTrue(gang.status.conditions, api::kReleasedCondition);
}

}  // namespace

bool PodRelease::SomeGangRecovers(const PassState& pass) {
  const std::int64_t now_ms = clock_.SteadyMs();
  std::map<NamespacedName, std::int64_t> before;
  before.swap(recovering_since_ms_);
  bool some = false;
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || !LacksARank(*gang->second, *gathered)) continue;
    const auto known = before.find(key);
    const std::int64_t since_ms = known == before.end() ? now_ms : known->second;
    recovering_since_ms_.emplace(key, since_ms);
    some |= now_ms - since_ms < kRecoveryMs;
  }
  return some;
}

std::vector<PodRelease::Work> PodRelease::Collect(const PassState& pass, const Ledger& ledger) {
  std::vector<Work> work;
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || !HoldsHosts(gang->second->status)) continue;
    if (pass.stopping.count(key) != 0 || ledger.InDoubt(key)) continue;
    if (pass.quarantined.count(key) != 0 || pass.backing_off.count(key) != 0) continue;
    if (gathered->gated == 0 && gathered->unbound == 0) continue;
    const auto& slots = gang->second->status.assignments;
    const bool first_time = !api::IsTrue(gang->second->status.conditions, api::kReleasedCondition);
    for (const GangMember& member : gathered->members) {
      if (!member.rank || static_cast<std::size_t>(*member.rank) >= slots.size()) continue;
      const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(*member.rank)];
      const fabric::HostId host = pass.snapshot->places->FindHost(slot.host);
      // A rank whose host is out waits for its replacement instead.
      if (!host.valid()) continue;
      const placement::HostState& state = pass.snapshot->cluster.hosts[host.index()];
      if (state.unavailable != placement::Unavailability::kNo ||
          !NeedsPatch(*member.pod, state.backup))
        continue;
      if (member.pod->gated_by_others()) continue;
      if (IsRefused(gang->second->status, *member.rank, slot.host, pass.snapshot->now_ms)) continue;
      work.push_back(
          {first_time, gang->second->status.committed_ms, key, member.pod, &slot, state.backup});
    }
  }
  std::stable_sort(work.begin(), work.end(), [](const Work& a, const Work& b) {
    return std::tie(a.first_time, a.committed_ms, a.gang) <
           std::tie(b.first_time, b.committed_ms, b.gang);
  });
  return work;
}

void PodRelease::HoldBack(PassState& pass, std::vector<Work>& work) {
  NetworkWait::PodsOfGangs gated;
  for (const Work& next : work) {
    if (next.pod->gated()) gated[next.gang].push_back(next.pod);
  }
  const std::set<NamespacedName> held = network_wait_.Run(pass, gated);
  std::erase_if(work, [&](const Work& next) { return held.count(next.gang) != 0; });
}

std::string PodRelease::Work::SlotText() const {
  return api::EncodeSlot({gang.name, slot->rank, slot->fabric_pod, slot->segment, slot->stages});
}

absl::StatusOr<nlohmann::json> PodRelease::Write(const Work& work) {
  try {
    return Release(work);
  } catch (const std::exception& error) {
    return absl::InternalError(
        StrCat("Pod ", KeyOf(work.pod->metadata).text(), ": its release failed: ", error.what()));
  }
}

absl::StatusOr<nlohmann::json> PodRelease::Release(const Work& work) {
  const api::ObjectMeta& metadata = work.pod->metadata;
  const kube::Target target{kube::Pods(), metadata.namespace_name, metadata.name, ""};
  const bool names_host = !work.pod->selected_host().empty();
  const Pin pin{metadata.uid, names_host ? "" : work.slot->host, work.SlotText(), work.backup};
  const kube::WriteOptions options{kFieldManager};
  if (const auto patch = ReleasePatchOf(*work.pod, pin)) {
    if (!ledger_.may_write()) return absl::CancelledError("the lease was lost");
    auto released = client_.Patch(target, kube::JsonPatch(*patch), options);
    // Refused: the pod is not as it was known, and is read.
    const bool stale = absl::IsInvalidArgument(released.status()) ||
                       absl::IsAborted(released.status()) ||
                       absl::IsFailedPrecondition(released.status());
    if (!stale) return released;
  }
  YM_ASSIGN_OR_RETURN(const nlohmann::json pod, client_.Get(target));
  YM_ASSIGN_OR_RETURN(const nlohmann::json patch,
                      work.pod->gated() ? PinAndReleasePatch(pod, pin) : AdmitPatch(pod, pin));
  if (!ledger_.may_write()) return absl::CancelledError("the lease was lost");
  return client_.Patch(target, kube::JsonPatch(patch), options);
}

void PodRelease::Run(PassState& pass) {
  // Of a gang whose patches are refused no more than these are tried in one pass.
  constexpr int kMaxFailures = 3;
  std::vector<Work> work = Collect(pass, ledger_);
  HoldBack(pass, work);
  const std::int64_t begin_ms = clock_.SteadyMs();
  const std::int64_t end_ms = begin_ms + options_.slice_ms;
  Mutex mutex;
  std::map<NamespacedName, int> failures;
  bool is_over = false;  // this slice; others end apart from it
  const std::size_t threads =
      SomeGangRecovers(pass) ? (options_.threads + 3) / 4 : options_.threads;
  ParallelFor(work.size(), threads, [&](std::size_t i) {
    if (!ledger_.may_write()) return;
    const NamespacedName& key = work[i].gang;
    {
      MutexLock lock(mutex);
      is_over |= clock_.SteadyMs() >= end_ms;
      pass.report.releases_left |= is_over;
      const auto failed = failures.find(key);
      if (failed != failures.end() && failed->second >= kMaxFailures) return;
      if (is_over) return;
    }
    const absl::StatusOr<nlohmann::json> released = Write(work[i]);
    if (released.ok()) cache_.Assume(state::Kind::kPod, *released);
    MutexLock lock(mutex);
    if (released.ok()) {
      ++pass.report.released_pods;
    } else if (!absl::IsNotFound(released.status())) {
      pass.report.errors.push_back(MessageOf(released.status()));
      NoteFailure(pass, key, released.status());
      if (kube::IsDenied(released.status())) ++failures[key];
    }
  });
  pass.report.waited_ms += clock_.SteadyMs() - begin_ms;
}

}  // namespace yardmaster::extender
