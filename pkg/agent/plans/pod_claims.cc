#include "pkg/agent/plans/pod_claims.h"

#include <utility>

namespace yardmaster::agent {

namespace {

constexpr std::int64_t kTimeoutMs = 2'000;

}  // namespace

PodClaims::PodClaims(const Clock& clock, const std::string& socket)
    : clock_(clock),
      kubelet_(socket.empty() ? nullptr : std::make_unique<rpc::PodResourcesClient>(socket)) {}

void PodClaims::QueryKubelet() {
  const std::int64_t now = clock_.SteadyMs();
  if (kubelet_ == nullptr || now < next_query_ms_) return;
  next_query_ms_ = now + kQueryIntervalMs;
  auto devices = kubelet_->List(kTimeoutMs);
  if (devices.ok()) devices_ = *std::move(devices);
  const MutexLock lock(mutex_);
  problem_ = devices.status();
}

std::vector<PodClaim> PodClaims::Claims(const std::vector<std::string>& pod_uids,
                                        const FindPod& find) {
  QueryKubelet();
  std::vector<PodClaim> claims;
  for (const std::string& uid : pod_uids) {
    const std::optional<PodInput> pod = find(uid);
    if (!pod) continue;
    PodClaim claim{uid, {}, pod->network_status, pod->host_network};
    for (const rpc::PodDevices& devices : devices_) {
      if (devices.pod_namespace != pod->ns || devices.pod_name != pod->name) continue;
      for (const auto& device : devices.devices) claim.kubelet_devices.push_back(device.id);
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

absl::Status PodClaims::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

}  // namespace yardmaster::agent
