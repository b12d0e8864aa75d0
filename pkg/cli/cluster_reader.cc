#include "pkg/cli/cluster_reader.h"

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/kube/object.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

template <typename T>
absl::Status ReadKind(kube::Client& client, const kube::Resource& resource,
                      absl::StatusOr<T> (*decode)(const json&),
                      state::ObjectTable<T>& out, state::World& world) {
  absl::StatusOr<kube::ListPage> page = kube::ListAll(client, {resource});
  if (!page.ok()) {
    if (page.status().code() != absl::StatusCode::kNotFound) return page.status();
    return absl::NotFoundError(StrCat(MessageOf(page.status()), "; install Yardmaster's CRDs"));
  }
  for (const kube::ObjectPtr& object : page->items) {
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

}  // namespace

absl::StatusOr<state::World> ReadCluster(kube::Client& client) {
  state::World world;
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

}  // namespace yardmaster::cli
