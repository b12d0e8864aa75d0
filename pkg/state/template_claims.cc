#include "pkg/state/template_claims.h"

#include <memory>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/json/json_view.h"
#include "pkg/state/device_overlay.h"

namespace yardmaster::state {

namespace {

// A pod that has the claims and asks for nothing else.
std::shared_ptr<const api::Pod> PodWith(const std::vector<api::ClaimOfPod>& claims,
                                        const std::string& namespace_name,
                                        const DeviceTables& tables) {
  ClusterState named;
  named.devices.classes = tables.classes;
  for (const api::ClaimOfPod& claim : claims) {
    auto object = tables.claims.Find({namespace_name, claim.claim});
    if (object != nullptr) named.devices.claims.Put(std::move(object));
    auto made_from = tables.templates.Find({namespace_name, claim.claim_template});
    if (made_from != nullptr) named.devices.templates.Put(std::move(made_from));
  }
  DeviceOverlay overlay;
  overlay.Apply(std::move(named));
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.namespace_name = namespace_name;
  pod->claims = claims;
  return overlay.WithClaims(pod);
}

}  // namespace

std::vector<api::ClaimOfPod> ClaimsOf(const api::PodTemplate& pod_template) {
  if (!pod_template.has_claims()) return {};
  const nlohmann::json pod = pod_template.ToJson();
  return api::ClaimsOfTemplate(JsonView(pod)["spec"]);
}

bool AskForGpus(const std::vector<api::ClaimOfPod>& claims, const std::string& namespace_name,
                const DeviceTables& tables, const std::string& gpu_resource) {
  if (claims.empty() || tables.empty()) return false;
  const auto counted = PodWith(claims, namespace_name, tables);
  return !counted->claims_problem.empty() || counted->gpus() > 0 ||
         workload::AmountOf(counted->requests, gpu_resource) > 0;
}

bool AskForChannel(const std::vector<api::ClaimOfPod>& claims, const std::string& namespace_name,
                   const DeviceTables& tables) {
  if (claims.empty() || tables.empty()) return false;
  return workload::AmountOf(PodWith(claims, namespace_name, tables)->requests,
                            api::kChannelOfHost) > 0;
}

}  // namespace yardmaster::state
