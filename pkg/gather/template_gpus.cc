#include "pkg/gather/template_gpus.h"

#include "pkg/api/field_reader.h"
#include "pkg/api/kept_metadata.h"
#include "pkg/api/metadata.h"
#include "pkg/api/pod_requests.h"

namespace yardmaster::gather {

std::optional<bool> AsksForGpus(JsonView pod_template) {
  if (pod_template.At({"spec", "containers"}).size() == 0) return std::nullopt;
  if (pod_template.At({"spec", "resourceClaims"}).size() > 0) return true;
  // A template needs no name; other faults of it are the API server's to refuse.
  api::FieldErrors ignored;
  api::FieldReader in(pod_template, "", api::UnknownFields::kIgnore, &ignored);
  const api::ObjectMeta metadata =
      api::ReadMetadata(in, api::Namespaced::kYes, &api::KeptOfWorkloads());
  api::FieldReader spec = in.Object("spec");
  api::FieldReader status = in.OpenObject("status");
  const workload::ResourceList requests = api::ReadPodRequests(spec, status, metadata);
  return workload::AmountOf(requests, api::GpuResourceOf(metadata, requests)) > 0;
}

}  // namespace yardmaster::gather
