#include "pkg/cli/cluster_reader.h"

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/object.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

// The type in words of RBAC: "nodes", "gangs.yardmaster.dev".
std::string MissingRight(const kube::Resource& resource) {
  return StrCat("the right to list ", resource.GroupResource(),
                resource.namespaced ? " in all namespaces" : "", " is missing");
}

absl::StatusOr<kube::ListPage> ListKind(kube::Client& client, const kube::Resource& resource) {
  absl::StatusOr<kube::ListPage> page = kube::ListAll(client, {resource});
  if (page.ok()) return page;
  if (absl::IsNotFound(page.status())) {
    return absl::NotFoundError(StrCat(MessageOf(page.status()), "; install Yardmaster's CRDs"));
  }
  if (absl::IsPermissionDenied(page.status())) {
    return absl::PermissionDeniedError(StrCat(MessageOf(page.status()), "; ",
                                              MissingRight(resource),
                                              ": ask for a ClusterRole with the verb list on it"));
  }
  return page;
}

template <typename T>
absl::Status ReadKind(kube::Client& client, const kube::Resource& resource,
                      absl::StatusOr<T> (*decode)(const json&), state::ObjectTable<T>& out,
                      state::ClusterState& world) {
  YM_ASSIGN_OR_RETURN(const kube::ListPage page, ListKind(client, resource));
  for (const kube::ObjectPtr& object : page.items) {
    absl::StatusOr<T> decoded = decode(*object);
    if (decoded.ok()) {
      out.Put(std::make_shared<const T>(*std::move(decoded)));
    } else {
      world.problems.push_back(
          StrCat(resource.kind, " ", kube::KeyOf(*object), ": ", MessageOf(decoded.status())));
    }
  }
  return absl::OkStatus();
}

// A newer API server may know fields that this program does not.
template <typename T, absl::StatusOr<T> (*kDecode)(const json&, api::UnknownFields)>
absl::StatusOr<T> Tolerant(const json& object) {
  return kDecode(object, api::UnknownFields::kIgnore);
}

kube::Resource PriorityClasses() {
  return {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false};
}

// Calls `read` for every object of a kind that one can do without.
template <typename Read>
absl::Status ReadOptional(kube::Client& client, const kube::Resource& resource, const char* without,
                          std::vector<std::string>& problems, Read read) {
  const absl::StatusOr<kube::ListPage> page = kube::ListAll(client, {resource});
  if (absl::IsPermissionDenied(page.status())) {
    problems.push_back(StrCat(MissingRight(resource), ", so ", without));
    return absl::OkStatus();
  }
  if (!page.ok()) return page.status();
  for (const kube::ObjectPtr& object : page->items) read(*object);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<state::ClusterState> ReadCluster(kube::Client& client) {
  state::ClusterState world;
  YM_RETURN_IF_ERROR(ReadKind<api::Fabric>(
      client, kube::Fabrics(), Tolerant<api::Fabric, api::DecodeFabric>, world.fabrics, world));
  YM_RETURN_IF_ERROR(ReadKind<api::TrainingJob>(client, kube::TrainingJobs(),
                                                Tolerant<api::TrainingJob, api::DecodeTrainingJob>,
                                                world.jobs, world));
  YM_RETURN_IF_ERROR(ReadKind<api::Gang>(client, kube::Gangs(),
                                         Tolerant<api::Gang, api::DecodeGang>, world.gangs, world));
  YM_RETURN_IF_ERROR(
      ReadKind<api::Node>(client, kube::Nodes(), api::DecodeNode, world.nodes, world));
  YM_RETURN_IF_ERROR(ReadKind<api::Pod>(client, kube::Pods(), api::DecodePod, world.pods, world));
  return world;
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
