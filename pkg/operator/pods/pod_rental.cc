#include "pkg/operator/pods/pod_rental.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/capacity_status.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

using api::ScalingKind;
using nlohmann::json;

namespace {

bool IsEmptyTerm(const json& term) {
  return !term.is_object() || (term.value("matchExpressions", json::array()).empty() &&
                               term.value("matchFields", json::array()).empty());
}

}  // namespace

std::string RequestName(const std::string& job, std::int64_t generation, int request) {
  return StrCat(job, "-rent-", generation, "-", request);
}

void AddRental(const json& training_job, json& pod) {
  const json::json_pointer at("/status/capacity");
  if (!training_job.contains(at)) return;
  api::FieldErrors errors;
  const api::CapacityStatus status = api::ReadCapacityStatus(
      {&training_job[at], "status.capacity", api::UnknownFields::kIgnore, &errors});
  // Without hosts nothing was rented: the ledger has no place for the job (api::AddRental), so that the pod's
  // gate stays closed, and a list without terms would be refused.
  if (!status.active() || status.hosts.empty() || !errors.empty()) return;
  json& spec = pod["spec"];
  const json metadata = training_job.value("metadata", json::object());
  for (const std::string& value :
       {metadata.value("uid", std::string()), std::string(api::kRentedByAny)}) {
    spec["tolerations"].push_back({{"key", api::kRentedKey},
                                   {"operator", "Equal"},
                                   {"value", value},
                                   {"effect", "NoSchedule"}});
  }
  json& required =
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  json own = required.is_object() ? required.value("nodeSelectorTerms", json::array())
                                  : json::array({json::object()});
  json terms = json::array();
  for (const json& term : own) {
    // One without requirements selects nothing, and stays like that.
    if (required.is_object() && IsEmptyTerm(term)) {
      terms.push_back(term);
      continue;
    }
    for (const api::RentedHosts& part : status.hosts) {
      json both = term;
      for (const auto& [key, value] : part.node_labels) {
        both["matchExpressions"].push_back({{"key", key}, {"operator", "In"}, {"values", {value}}});
      }
      terms.push_back(std::move(both));
    }
  }
  required["nodeSelectorTerms"] = std::move(terms);
  const api::RentedHosts& first = status.hosts.front();
  const bool one_request =
      std::all_of(status.hosts.begin(), status.hosts.end(), [&](const api::RentedHosts& part) {
        return part.scaling == ScalingKind::kProvisioningRequest && part.request == first.request;
      });
  if (one_request && status.phase == api::RentalPhase::kProvisioned) {
    pod["metadata"]["annotations"][kConsumeAnnotation] =
        RequestName(metadata.value("name", std::string()), status.generation, first.request);
  }
}

}  // namespace yardmaster::op
