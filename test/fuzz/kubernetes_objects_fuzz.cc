// Objects as the API server sends them: for all bytes, every decoder ends in a value or an error
// that says something, an object that was read is written and read back the same, and what the API
// server has is read as far as it can be.
//
// Each input is given to all decoders: an object of one kind is a hostile one of the others.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/agent/plans/pod_input.h"
#include "pkg/api/capacity_pool.h"
#include "pkg/api/disruption_budget.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/kueue_workload.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/devices/device_objects.h"
#include "pkg/gather/ended_replicas.h"
#include "pkg/gather/owner_size.h"
#include "pkg/gather/owner_stages.h"
#include "pkg/gather/owner_state.h"
#include "pkg/json/json_view.h"
#include "pkg/operator/waiting/wait_request.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

template <typename Value>
bool Read(const absl::StatusOr<Value>& value) {
  if (!value.ok() && value.status().message().empty()) std::abort();
  return value.ok();
}

// `decode` of what `encode` wrote is the same object.
template <typename Value, typename Encode, typename Decode>
void CheckRoundTrip(const absl::StatusOr<Value>& value, Encode encode, Decode decode) {
  if (!Read(value)) return;
  const nlohmann::json written = encode(*value);
  const auto again = decode(JsonView(written));
  if (!again.ok() || encode(*again) != written) std::abort();
}

void CheckOurs(JsonView object) {
  CheckRoundTrip(api::DecodeTrainingJob(object), api::EncodeTrainingJob,
                 [](JsonView v) { return api::DecodeTrainingJob(v); });
  CheckRoundTrip(api::DecodeGang(object), api::EncodeGang,
                 [](JsonView v) { return api::DecodeGang(v); });
  CheckRoundTrip(api::DecodeFabric(object), api::EncodeFabric,
                 [](JsonView v) { return api::DecodeFabric(v); });
  CheckRoundTrip(api::DecodeCapacityPool(object), api::EncodeCapacityPool,
                 [](JsonView v) { return api::DecodeCapacityPool(v); });
  Read(api::DecodeTrainingJob(object, api::UnknownFields::kIgnore));
  Read(api::DecodeFabric(object, api::UnknownFields::kIgnore));
  Read(api::DecodeCapacityPool(object, api::UnknownFields::kIgnore));
  Read(api::DecodeGang(object, api::Decoding::kLenient));
}

void CheckKubernetes(JsonView object, const nlohmann::json& document) {
  Read(api::DecodePod(object));
  Read(api::DecodePod(object, api::Decoding::kLenient));
  Read(api::DecodeNode(object));
  Read(devices::DecodeResourceSlice(object));
  Read(devices::DecodeDeviceClass(object));
  Read(devices::DecodeResourceClaim(object));
  Read(devices::DecodeResourceClaimTemplate(object));
  Read(api::DecodeDisruptionBudget(document));
  Read(api::DecodeKueueWorkload(object));
  Read(api::DecodeResourceFlavor(object));
  (void)agent::ReadPod(object);
}

// As an owner of any kind: a tenant may write one, and an index list is as long as it says.
void CheckOwner(JsonView object) {
  for (const int index : gather::EndedIndexes(object)) {
    if (index < 0 || index >= 16'384) std::abort();
  }
  gather::GatheredGang pods;
  for (const char* subgroup : {"0", "1", "worker"}) {
    (void)gather::JobOfSubgroup(object, subgroup);
    api::Membership member;
    member.subgroup = subgroup;
    pods.members.push_back({std::make_shared<const api::Pod>(),
                            std::make_shared<const api::Membership>(member), std::nullopt});
  }
  for (const auto& [api_version, kind] :
       {std::pair("jobset.x-k8s.io/v1alpha2", "JobSet"),
        std::pair("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        std::pair("kubeflow.org/v2beta1", "MPIJob"), std::pair("ray.io/v1", "RayCluster"),
        std::pair("batch.volcano.sh/v1alpha1", "Job")}) {
    const api::OwnerReference owner{api_version, kind, "a", "u", false};
    (void)gather::SizeOf(owner, object);
    const gather::Stages stages = gather::StagesOf(owner, object, pods);
    if (stages.whole && !stages.why_not.empty()) std::abort();
    api::Gang gang;
    gang.owner = owner;
    if (gather::OwnerStateOf(gang, object).why.empty()) std::abort();
  }
}

// As a job that waits suspended: what it asks of the ledger is bounded, and refused with a text
// where it cannot be placed.
void CheckWaiting(const nlohmann::json& object) {
  for (const char* kind : {"Job", "JobSet"}) {
    const op::WaitingJob job = op::ReadWaitingJob(*op::ResourceOfWaitingKind(kind), object);
    const auto sets = op::PodSetsOf(job, object);
    if (!Read(sets)) continue;
    std::vector<std::shared_ptr<const api::Pod>> first;
    for (const op::PodSet& set : *sets) {
      auto pod = api::DecodePod(set.first_pod, api::Decoding::kLenient);
      if (!Read(pod)) break;
      first.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
    }
    if (first.size() != sets->size()) continue;
    const auto gang = op::WaitRequestOf(job, *sets, first);
    if (Read(gang) && gang->job.workers > api::kMaxListedRanks) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  JsonParser parser;
  const auto object = parser.Parse({reinterpret_cast<const char*>(data), size});
  if (!Read(object)) return 0;
  const nlohmann::json document = object->ToJson();
  CheckOurs(*object);
  CheckKubernetes(*object, document);
  CheckOwner(*object);
  CheckWaiting(document);
  // The other source of a view: what files and patches are read into.
  CheckOurs(JsonView(document));
  CheckKubernetes(JsonView(document), document);
  return 0;
}
