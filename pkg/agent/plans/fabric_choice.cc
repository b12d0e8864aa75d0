#include "pkg/agent/plans/fabric_choice.h"

#include <algorithm>
#include <utility>

#include "pkg/api/fabric.h"
#include "pkg/api/fabric_order.h"
#include "pkg/api/names.h"

namespace yardmaster::agent {

absl::Status FabricChoice::Put(JsonView object) {
  // A field of a later version does not make the ones we know unreadable.
  YM_ASSIGN_OR_RETURN(const api::Fabric fabric,
                      api::DecodeFabric(object, api::UnknownFields::kIgnore));
  FabricView view;
  view.name = fabric.metadata.name;
  view.uid = fabric.metadata.uid;
  // Edits that the operator has not looked at yet may leave all paths as they are.
  view.generation = fabric.status.network_generation > 0 ? fabric.status.network_generation
                                                         : fabric.metadata.generation;
  view.levels = fabric.spec.levels;
  view.rails = fabric.spec.rails;
  view.nic_ports = fabric.spec.nic_ports;
  api::ObjectMeta order;
  order.name = view.name;
  order.created_ms = fabric.metadata.created_ms;
  if (const auto in_use = api::Find(fabric.metadata.annotations, api::kInUseAnnotation)) {
    order.annotations[api::kInUseAnnotation] = std::string(*in_use);
  }
  const std::string name = view.name;
  fabrics_.insert_or_assign(name, Known{std::move(view), std::move(order)});
  return absl::OkStatus();
}

void FabricChoice::Remove(const std::string& name) { fabrics_.erase(name); }

std::optional<FabricView> FabricChoice::Chosen(const std::string& name) const {
  const auto at = name.empty()
                      ? std::min_element(fabrics_.begin(), fabrics_.end(),
                                         [](const auto& a, const auto& b) {
                                           return api::IsUsedBefore(a.second.order, b.second.order);
                                         })
                      : fabrics_.find(name);
  if (at == fabrics_.end()) return std::nullopt;
  return at->second.view;
}

}  // namespace yardmaster::agent
