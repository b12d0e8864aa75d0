#include "pkg/cli/input/cluster_reader.h"

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"
#include "pkg/state/device_feed.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

// A newer API server may know fields that this program does not.
constexpr auto kTolerant = api::UnknownFields::kIgnore;

// The type in words of RBAC: "nodes", "gangs.yardmaster.dev".
std::string MissingRight(const kube::Resource& resource) {
  return StrCat("the right to list ", resource.GroupResource(),
                resource.namespaced ? " in all namespaces" : "", " is missing");
}

absl::Status Explained(const absl::Status& status, const kube::Resource& resource) {
  if (absl::IsNotFound(status)) {
    return absl::NotFoundError(StrCat(MessageOf(status), "; install Yardmaster's CRDs"));
  }
  if (absl::IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(StrCat(MessageOf(status), "; ", MissingRight(resource),
                                              ": ask for a ClusterRole with the verb list on it"));
  }
  return status;
}

// Decodes each object as it arrives; a list that begins again replaces what it has read.
template <typename T, typename Decode>
absl::Status ReadKind(kube::Client& client, const kube::Resource& resource, Decode decode,
                      state::ObjectTable<T>& out, state::ClusterState& cluster) {
  std::vector<std::string> problems;
  const auto begin = [&] {
    out.clear();
    problems.clear();
  };
  const absl::Status listed = kube::ReadAll(client, {resource}, begin, [&](JsonView object) {
    absl::StatusOr<T> decoded = decode(object);
    if (decoded.ok()) {
      out.Put(std::make_shared<const T>(*std::move(decoded)));
    } else {
      problems.push_back(
          StrCat(resource.kind, " ", kube::KeyOf(object), ": ", MessageOf(decoded.status())));
    }
  });
  cluster.problems.insert(cluster.problems.end(), problems.begin(), problems.end());
  return Explained(listed, resource);
}

kube::Resource PriorityClasses() {
  return {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false};
}

// Calls `read` for every object of a kind that one can do without.
template <typename Read>
absl::Status ReadOptional(kube::Client& client, const kube::Resource& resource, const char* without,
                          std::vector<std::string>& problems, Read read) {
  const auto listed = kube::ListAll(client, {resource});
  if (absl::IsPermissionDenied(listed.status())) {
    problems.push_back(StrCat(MissingRight(resource), ", so ", without));
    return absl::OkStatus();
  }
  YM_RETURN_IF_ERROR(listed.status());
  for (const kube::ObjectPtr& object : *listed) read(*object);
  return absl::OkStatus();
}

// Of the newest version that the server has; nothing where it has none.
absl::Status ReadDevices(kube::Client& client, state::ClusterState& cluster) {
  state::DeviceTables& tables = cluster.devices;
  for (const char* version : state::kDeviceVersions) {
    const auto of = [version](kube::Resource resource) {
      resource.version = version;
      return resource;
    };
    const absl::Status read = ReadKind(client, of(kube::DeviceClasses()),
                                       devices::DecodeDeviceClass, tables.classes, cluster);
    if (absl::IsNotFound(read)) continue;
    YM_RETURN_IF_ERROR(read);
    YM_RETURN_IF_ERROR(ReadKind(client, of(kube::ResourceSlices()), devices::DecodeResourceSlice,
                                tables.slices, cluster));
    YM_RETURN_IF_ERROR(ReadKind(client, of(kube::ResourceClaims()), devices::DecodeResourceClaim,
                                tables.claims, cluster));
    return ReadKind(client, of(kube::ResourceClaimTemplates()),
                    devices::DecodeResourceClaimTemplate, tables.templates, cluster);
  }
  return absl::OkStatus();
}

absl::Status ReadOurKinds(kube::Client& client, state::ClusterState& cluster) {
  YM_RETURN_IF_ERROR(ReadKind(
      client, kube::Fabrics(), [](JsonView o) { return api::DecodeFabric(o, kTolerant); },
      cluster.fabrics, cluster));
  YM_RETURN_IF_ERROR(ReadKind(
      client, kube::TrainingJobs(), [](JsonView o) { return api::DecodeTrainingJob(o, kTolerant); },
      cluster.jobs, cluster));
  return ReadKind(
      client, kube::Gangs(), [](JsonView o) { return api::DecodeGang(o, api::Decoding::kLenient); },
      cluster.gangs, cluster);
}

}  // namespace

absl::StatusOr<state::ClusterState> ReadCluster(kube::Client& client, OurKinds ours) {
  state::ClusterState cluster;
  const absl::Status read = ReadOurKinds(client, cluster);
  const bool missing = ours == OurKinds::kMayBeMissing && absl::IsNotFound(read);
  if (!missing) YM_RETURN_IF_ERROR(read);
  YM_RETURN_IF_ERROR(ReadKind(
      client, kube::Nodes(), [](JsonView o) { return api::DecodeNode(o); }, cluster.nodes,
      cluster));
  YM_RETURN_IF_ERROR(ReadKind(
      client, kube::Pods(), [](JsonView o) { return api::DecodePod(o, api::Decoding::kLenient); },
      cluster.pods, cluster));
  // For costs alone: people without the right to read prices see the rest.
  const absl::Status pools = ReadPools(client, cluster);
  if (!pools.ok() && !absl::IsPermissionDenied(pools) && !absl::IsNotFound(pools)) return pools;
  const absl::Status of_devices = ReadDevices(client, cluster);
  if (absl::IsPermissionDenied(of_devices)) {
    cluster.devices = {};
    cluster.problems.push_back(
        StrCat(MessageOf(of_devices), "; devices by claims are not counted"));
    return cluster;
  }
  YM_RETURN_IF_ERROR(of_devices);
  return cluster;
}

absl::Status ReadPools(kube::Client& client, state::ClusterState& cluster) {
  return ReadKind(
      client, kube::CapacityPools(),
      [](JsonView o) { return api::DecodeCapacityPool(o, kTolerant); }, cluster.pools, cluster);
}

absl::StatusOr<ClusterPolicies> ReadPolicies(kube::Client& client,
                                             std::vector<std::string>& problems) {
  ClusterPolicies policies;
  YM_RETURN_IF_ERROR(
      ReadOptional(client, kube::PodDisruptionBudgets(), "disruption budgets are not looked at",
                   problems, [&](const json& object) {
                     auto budget = api::DecodeDisruptionBudget(object);
                     if (budget.ok()) {
                       policies.budgets.push_back(*std::move(budget));
                     } else {
                       problems.push_back(StrCat("PodDisruptionBudget ", kube::KeyOf(object), ": ",
                                                 MessageOf(budget.status())));
                     }
                   }));
  YM_RETURN_IF_ERROR(
      ReadOptional(client, PriorityClasses(), "jobs get no priority from their PriorityClass",
                   problems, [&](const json& object) {
                     const json* value = kube::FindAt(object, {"value"});
                     if (value == nullptr || !value->is_number_integer()) return;
                     policies.priority_classes[kube::NameOf(object)] = value->get<std::int32_t>();
                   }));
  return policies;
}

}  // namespace yardmaster::cli
