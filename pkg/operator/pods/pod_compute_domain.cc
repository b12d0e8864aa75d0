#include "pkg/operator/pods/pod_compute_domain.h"

#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

std::string ChannelTemplateName(const api::TrainingJob& job) {
  return StrCat(job.metadata.name, "-compute-domain");
}

}  // namespace

json BuildComputeDomain(const api::TrainingJob& job) {
  // 0 nodes: those of the pods that are there.
  return {{"apiVersion", "resource.nvidia.com/v1beta1"},
          {"kind", "ComputeDomain"},
          {"metadata",
           {{"name", job.metadata.name},
            {"namespace", job.metadata.namespace_name},
            {"labels", {{api::kJobLabel, job.metadata.name}}},
            {"ownerReferences", json::array({ControllerReference(job)})}}},
          {"spec",
           {{"numNodes", 0},
            {"channel", {{"resourceClaimTemplate", {{"name", ChannelTemplateName(job)}}}}}}}};
}

void AddChannelClaim(const api::TrainingJob& job, api::PodManifest& pod) {
  pod.AddClaim(api::kComputeDomainClaim, ChannelTemplateName(job));
}

}  // namespace yardmaster::op
