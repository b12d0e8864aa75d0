// Pods of TrainingJobs with any template: for all bytes the job is refused with a text, or each of
// its pods can be built, and what was built has the types of core/v1.
//
// The input is a pod template, of the workers and of a role. Every job is built as one that
// restarts in place, one that rents its hosts, and one with each kind of checkpoint.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod_manifest.h"
#include "pkg/api/training_job.h"
#include "pkg/json/json_view.h"
#include "pkg/operator/pods/pod_builder.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file
using nlohmann::json;

json JobWith(const json& pod_template) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", api::kTrainingJobKind},
          {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "u"}}},
          {"spec",
           {{"workers", 2},
            {"gpusPerWorker", 8},
            {"template", pod_template},
            {"roles", json::array({{{"name", "r"}, {"template", pod_template}}})}}}};
}

void CheckPod(const json& pod) {
  const json object = {{"pod", pod}};
  api::FieldErrors errors;
  api::FieldReader in(&object, "", api::UnknownFields::kIgnore, &errors);
  const api::PodManifest built = api::ReadPodManifest(in, "pod");
  if (!errors.empty() || built.labels.at(api::kJobLabel) != "a") std::abort();
  if (api::EncodePodManifest(built) != pod) std::abort();
}

void Build(const api::TrainingJob& job) {
  for (const bool in_place : {false, true}) {
    const op::WorkerShape shape{.workers = 2,
                                .gpus_per_worker = 8,
                                .gpu_resource = job.job.gpu_resource,
                                .attempt = 3,
                                .avoid_hosts = "n1",
                                .nodes = in_place ? "1:2" : "",
                                .restarts_in_place = in_place,
                                .claims_channel = in_place};
    CheckPod(op::BuildPod(job, shape, 1));
    CheckPod(op::BuildRolePod(job, shape, 2));
  }
}

void BuildVariants(api::TrainingJob job) {
  Build(job);
  job.checkpoint.directory = "/ckpt";
  job.checkpoint.claim = "data";
  job.checkpoint.mark = api::CheckpointMarkBy::kFile;
  job.checkpoint.request = api::CheckpointRequest::kAnnotation;
  Build(job);
  job.checkpoint.request = api::CheckpointRequest::kCommand;
  job.checkpoint.command = {"save"};
  api::RentedHosts hosts;
  hosts.scaling = api::ScalingKind::kProvisioningRequest;
  hosts.hosts = 1;
  hosts.node_labels = {{"pool", "a"}};
  job.status.capacity.phase = api::RentalPhase::kProvisioned;
  job.status.capacity.hosts = {hosts};
  Build(job);
}

void Check(const json& pod_template) {
  const json object = JobWith(pod_template);
  const auto job = api::DecodeTrainingJob(object, api::UnknownFields::kIgnore);
  if (job.ok()) return BuildVariants(*job);
  if (job.status().message().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  JsonParser parser;
  const auto pod_template = parser.Parse({reinterpret_cast<const char*>(data), size});
  if (pod_template.ok()) Check(pod_template->ToJson());
  return 0;
}
