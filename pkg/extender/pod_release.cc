#include "pkg/extender/pod_release.h"

#include <mutex>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/extender/pin_patch.h"

namespace yardmaster::extender {

namespace {

struct Release {
  PodPtr pod;
  const api::AssignmentEntry* slot;
  std::string gang;
  bool backup;
};

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

std::vector<Release> WorkOf(const PassState& pass, const Ledger& ledger) {
  std::vector<Release> work;
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || !gang->second->status.committed()) continue;
    if (pass.stopping.count(key) != 0 || ledger.InDoubt(key)) continue;
    if (gathered->gated == 0 && gathered->unbound == 0) continue;
    const auto& slots = gang->second->status.assignments;
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
      work.push_back({member.pod, &slot, gang->second->metadata.name, state.backup});
    }
  }
  return work;
}

}  // namespace

void PodRelease::Run(PassState& pass) {
  const std::vector<Release> work = WorkOf(pass, ledger_);
  std::mutex mutex;
  ParallelFor(work.size(), threads_, [&](std::size_t i) {
    if (!ledger_.may_write()) return;
    const Release& release = work[i];
    const api::ObjectMeta& metadata = release.pod->metadata;
    const kube::Target target{kube::Pods(), metadata.namespace_name, metadata.name, ""};
    const Pin pin{metadata.uid, release.slot->host,
                  api::EncodeSlot({release.gang, release.slot->rank, release.slot->fabric_pod,
                                   release.slot->segment, release.slot->stages}),
                  release.backup};
    auto released = [&]() -> absl::StatusOr<nlohmann::json> {
      YM_ASSIGN_OR_RETURN(const nlohmann::json pod, client_.Get(target));
      YM_ASSIGN_OR_RETURN(const nlohmann::json patch, release.pod->gated()
                                                          ? PinAndReleasePatch(pod, pin)
                                                          : AdmitPatch(pod, pin));
      if (!ledger_.may_write()) return absl::CancelledError("the lease was lost");
      return client_.Patch(target, kube::JsonPatch(patch), {kFieldManager, false, false});
    }();
    if (released.ok()) cache_.Assume(state::Kind::kPod, *released);
    std::lock_guard lock(mutex);
    if (released.ok()) {
      ++pass.report.released_pods;
    } else if (!absl::IsNotFound(released.status())) {
      pass.report.errors.push_back(MessageOf(released.status()));
    }
  });
}

}  // namespace yardmaster::extender
