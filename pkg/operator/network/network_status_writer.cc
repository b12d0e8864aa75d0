#include "pkg/operator/network/network_status_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/network/fabric_status.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

constexpr int kConflictTries = 3;
// Numbers that differ by less are the same, computed in another order.
constexpr double kSameNumber = 1e-6;

bool SameNumber(double a, double b) {
  return std::abs(a - b) <= kSameNumber * std::max(std::abs(a), std::abs(b));
}

bool SameStatus(const api::NetworkStatus& a, const api::NetworkStatus& b) {
  return a.level == b.level && a.source == b.source && SameNumber(a.intensity, b.intensity) &&
         SameNumber(a.priority, b.priority) &&
         SameNumber(a.flop_per_iteration, b.flop_per_iteration) &&
         SameNumber(a.communication_seconds, b.communication_seconds);
}

// Whether the condition is there, with any transition time.
bool Says(const std::vector<api::Condition>& conditions, const api::Condition& wanted) {
  const api::Condition* now = api::FindCondition(conditions, wanted.type);
  return now != nullptr && now->status == wanted.status && now->reason == wanted.reason &&
         now->message == wanted.message;
}

}  // namespace

void NetworkStatusWriter::NotifyConditionChanges(const api::Fabric& fabric,
                                                 const api::FabricStatus& status) const {
  if (!on_notice_) return;
  for (const char* type :
       {kLinksUpCondition, kLinksCleanCondition, kWiringVerifiedCondition, kPathsTrustedCondition,
        kPathsPlannedCondition, kSegmentsUpCondition, kDomainsUpCondition}) {
    const api::Condition* now = api::FindCondition(status.conditions, type);
    const api::Condition* before = api::FindCondition(fabric.status.conditions, type);
    if (now == nullptr) continue;
    const bool bad = now->status == api::ConditionStatus::kFalse;
    const bool was_bad = before != nullptr && before->status == api::ConditionStatus::kFalse;
    if (bad == was_bad) continue;
    on_notice_({api::kFabricKind, "", fabric.metadata.name, fabric.metadata.uid, bad, now->reason,
                now->message});
  }
}

void NetworkStatusWriter::WriteFabric(const api::Fabric& fabric, const api::FabricStatus& status,
                                      RoundReport& report) {
  if (status == fabric.status) return;
  nlohmann::json patch = {
      {"metadata",
       {{"uid", fabric.metadata.uid}, {"resourceVersion", fabric.metadata.resource_version}}},
      {"status", api::EncodeFabricStatus(status)}};
  // An empty list is not written, and a merge patch leaves what it does not name.
  if (status.lost_domains.empty() && !fabric.status.lost_domains.empty()) {
    patch["status"]["lostDomains"] = nullptr;
  }
  auto written = client_.Patch({kube::Fabrics(), "", fabric.metadata.name, "status"},
                               kube::MergePatch(patch), {kFieldManager});
  if (written.ok()) {
    cache_.Assume(state::Kind::kFabric, *written);
    ++report.statuses;
    NotifyConditionChanges(fabric, status);
  } else if (!absl::IsNotFound(written.status())) {
    report.Fail(StrCat("Fabric ", fabric.metadata.name), written.status());
  }
}

void NetworkStatusWriter::WriteGang(const api::Gang& gang, const api::NetworkStatus& network,
                                    const std::vector<api::Condition>& others,
                                    RoundReport& report) {
  if (gang.status.network && SameStatus(*gang.status.network, network) &&
      api::IsTrue(gang.status.conditions, api::kNetworkPlannedCondition) &&
      std::all_of(others.begin(), others.end(), [&](const api::Condition& condition) {
        return Says(gang.status.conditions, condition);
      })) {
    return;
  }
  const std::string name = StrCat("Gang ", gang.metadata.namespace_name, "/", gang.metadata.name);
  const kube::Target target{kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name,
                            "status"};
  api::Gang next = gang;
  for (int attempt = 0; attempt < kConflictTries; ++attempt) {
    next.status.network = network;
    api::SetCondition(next.status.conditions,
                      {api::kNetworkPlannedCondition, api::ConditionStatus::kTrue, "Planned",
                       StrCat("level ", network.level), gang.metadata.generation, 0},
                      clock_.WallMs());
    for (const api::Condition& condition : others) {
      api::SetCondition(next.status.conditions, condition, clock_.WallMs());
    }
    auto written = client_.Replace(target, api::EncodeGang(next), {kFieldManager});
    if (written.ok()) {
      cache_.Assume(state::Kind::kGang, *written);
      ++report.statuses;
      return;
    }
    if (!absl::IsAborted(written.status())) {
      if (!absl::IsNotFound(written.status())) report.Fail(name, written.status());
      return;
    }
    // The extender wrote in between: keep its part, add ours.
    auto fresh = client_.Get({kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name, ""});
    if (!fresh.ok()) {
      if (!absl::IsNotFound(fresh.status())) report.Fail(name, fresh.status());
      return;
    }
    auto decoded = api::DecodeGang(*fresh, api::Decoding::kLenient);
    if (!decoded.ok()) return;
    next = *std::move(decoded);
  }
  report.Fail(name, absl::AbortedError(StrCat("its status was changed by others ", kConflictTries,
                                              " times in a row")));
}

}  // namespace yardmaster::op
