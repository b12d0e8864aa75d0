#include "pkg/operator/jobs/compute_domain_write.h"

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/pods/pod_compute_domain.h"
#include "pkg/operator/write_target.h"
#include "pkg/state/template_claims.h"

namespace yardmaster::op {

namespace {

// Why the ComputeDomain, as the API server answered, is none for the job.
StallReason ProblemOfDomain(const api::TrainingJob& job,
                            const absl::StatusOr<nlohmann::json>& created) {
  const auto stall = [](const std::string& problem, const std::string& fix) {
    return StallReason{kComputeDomainUnavailable,
                       StrCat("spec.computeDomain: ", problem, "; ", fix)};
  };
  if (absl::IsNotFound(created.status())) {
    return stall("the cluster has no ComputeDomains (resource.nvidia.com/v1beta1)",
                 "install NVIDIA's DRA driver for GPUs with ComputeDomains, or create the job "
                 "without computeDomain");
  }
  if (IsRefusal(created.status())) {
    return stall(
        StrCat("the ComputeDomain of the job is refused: ", MessageOf(created.status())),
        "set the chart's computeDomains.enabled where the operator lacks the right, else change "
        "what the message names");
  }
  if (!created.ok()) return {};
  const std::string& name = job.metadata.name;
  if (created->contains("/metadata/deletionTimestamp"_json_pointer)) {
    return stall(StrCat("ComputeDomain ", name, " is being deleted"),
                 "the job goes on when NVIDIA's controller has done so");
  }
  if (IsOwnedBy(*created, job)) return {};
  return stall(StrCat("ComputeDomain ", name, " exists and does not belong to this job"),
               "delete the ComputeDomain or create the job under another name");
}

}  // namespace

absl::Status CreateComputeDomain(kube::Client& client, const api::TrainingJob& job,
                                 const state::DeviceTables& devices, bool dry_run,
                                 StallReason& stall) {
  if (state::AskForChannel(state::ClaimsOf(job.pod_template), job.metadata.namespace_name,
                           devices)) {
    stall = {kComputeDomainUnavailable,
             "spec.template.spec.resourceClaims: ask for a channel of another ComputeDomain, and a "
             "host has one; leave the claim out of the template, or create the job without "
             "computeDomain"};
    return absl::OkStatus();
  }
  auto domain = client.Create(TargetOf(kube::ComputeDomains(), job), BuildComputeDomain(job),
                              {.field_manager = kFieldManager, .dry_run = dry_run});
  if (absl::IsAlreadyExists(domain.status())) {
    domain = client.Get(TargetOf(kube::ComputeDomains(), job, job.metadata.name));
    // It ended in between: the next look makes it.
    if (absl::IsNotFound(domain.status())) return absl::AbortedError("the ComputeDomain is gone");
  }
  stall = ProblemOfDomain(job, domain);
  return stall.exists() ? absl::OkStatus() : domain.status();
}

}  // namespace yardmaster::op
