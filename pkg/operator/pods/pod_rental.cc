#include "pkg/operator/pods/pod_rental.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pkg/api/capacity_status.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

using api::ScalingKind;

std::string RequestName(const std::string& job, std::int64_t generation, int request) {
  return StrCat(job, "-rent-", generation, "-", request);
}

void AddRental(const api::TrainingJob& job, api::PodManifest& pod) {
  const api::CapacityStatus& status = job.status.capacity;
  // Without hosts nothing was rented: the ledger has no place for the job (api::AddRental), so that
  // the pod's gate stays closed, and a list without terms would be refused.
  if (!status.active() || status.hosts.empty()) return;
  for (const std::string& value : {job.metadata.uid, std::string(api::kRentedByAny)}) {
    pod.tolerations.push_back({{"key", api::kRentedKey},
                               {"operator", "Equal"},
                               {"value", value},
                               {"effect", "NoSchedule"}});
  }
  const bool has_terms = pod.node_terms.has_value();
  std::vector<api::NodeTermManifest> terms;
  for (const api::NodeTermManifest& term :
       pod.node_terms.value_or(std::vector<api::NodeTermManifest>(1))) {
    // One without requirements selects nothing, and stays like that.
    if (has_terms && term.expressions.empty() && term.fields.empty()) {
      terms.push_back(term);
      continue;
    }
    for (const api::RentedHosts& part : status.hosts) {
      api::NodeTermManifest both = term;
      for (const auto& [key, value] : part.node_labels) {
        both.expressions.push_back({{"key", key}, {"operator", "In"}, {"values", {value}}});
      }
      terms.push_back(std::move(both));
    }
  }
  pod.node_terms = std::move(terms);
  const api::RentedHosts& first = status.hosts.front();
  const bool one_request =
      std::all_of(status.hosts.begin(), status.hosts.end(), [&](const api::RentedHosts& part) {
        return part.scaling == ScalingKind::kProvisioningRequest && part.request == first.request;
      });
  if (one_request && status.phase == api::RentalPhase::kProvisioned) {
    pod.annotations[kConsumeAnnotation] =
        RequestName(job.metadata.name, status.generation, first.request);
  }
}

}  // namespace yardmaster::op
