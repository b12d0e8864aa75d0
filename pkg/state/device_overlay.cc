#include "pkg/state/device_overlay.h"

#include <algorithm>
#include <utility>

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

using devices::ClaimSpec;
using devices::DeviceRequest;
using devices::PoolName;
using devices::ResourceClaim;
using devices::ResourceSlice;

namespace {

// As many names as a pod's requests may have without its claims.
constexpr std::size_t kMaxNames = 128;

bool IsClassName(std::string_view resource) {
  return resource.starts_with(api::kDeviceClassPrefix);
}

// Whether what the pod asks for depends on objects of resource.k8s.io. One that has finished holds
// nothing any more.
bool AsksForDevices(const api::Pod& pod) {
  if (pod.finished()) return false;
  return !pod.claims.empty() || !pod.extended_claim.empty() ||
         std::any_of(pod.requests.begin(), pod.requests.end(),
                     [](const workload::ResourceAmount& entry) { return IsClassName(entry.name); });
}

std::set<std::string> NodesOf(const ResourceSlice& slice) {
  std::set<std::string> out;
  if (!slice.node_name.empty()) out.insert(slice.node_name);
  for (const devices::SliceDevice& device : slice.devices) {
    if (!device.node_name.empty()) out.insert(device.node_name);
  }
  return out;
}

const DeviceRequest* FindRequest(const ClaimSpec& spec, const std::string& name) {
  for (const auto& alternatives : spec.requests) {
    for (const DeviceRequest& request : alternatives) {
      if (request.name == name) return &request;
    }
  }
  return nullptr;
}

void AddTo(workload::ResourceList& list, const std::string& name, std::int64_t amount) {
  workload::SetAmount(list, name, workload::AmountOf(list, name) + amount);
}

}  // namespace

ClusterState DeviceOverlay::Apply(ClusterState cluster) {
  if (!used_ && cluster.devices.empty()) return cluster;
  used_ = true;
  dirty_nodes_.clear();
  dirty_pods_.clear();
  bool other_kinds = std::exchange(selections_differ_, false);
  ObjectTable<devices::DeviceClass>::Differences(
      tables_.classes, cluster.devices.classes,
      [&](const auto&, const auto&) { other_kinds = true; });
  ReadTemplates(cluster.devices.templates);
  ReadClaims(cluster.devices.claims);
  ReadPods(cluster.pods);
  ReadNodes(cluster.nodes);
  ReadSlices(cluster.devices.slices);
  other_kinds |= std::exchange(selections_differ_, false);
  tables_ = cluster.devices;
  if (other_kinds) {
    kinds_ = DeviceKinds(tables_.classes, selections_);
    MarkAll();
  }
  if (other_kinds || std::exchange(spread_differs_, false)) FindSpread();
  CountHosts();
  DerivePods();
  DeriveNodes();
  cluster.pods = derived_pods_.Share();
  cluster.nodes = derived_nodes_.Share();
  AppendProblems(cluster.problems);
  return cluster;
}

std::shared_ptr<const api::Pod> DeviceOverlay::WithClaims(const PodPtr& pod) const {
  return used_ && AsksForDevices(*pod) ? Derived(pod) : pod;
}

void DeviceOverlay::MarkAll() {
  for (const auto& [node, host] : hosts_) dirty_nodes_.insert(node);
  dirty_pods_.insert(pods_with_claims_.begin(), pods_with_claims_.end());
}

void DeviceOverlay::MarkPool(const PoolName& pool) {
  const auto at = nodes_of_pool_.find(pool);
  if (at == nodes_of_pool_.end()) return;
  for (const auto& [node, slices] : at->second) dirty_nodes_.insert(node);
}

void DeviceOverlay::ReadSlices(const ObjectTable<ResourceSlice>& now) {
  ObjectTable<ResourceSlice>::Differences(tables_.slices, now,
                                          [&](const auto& before, const auto& after) {
                                            if (before != nullptr) IndexSlice(*before, false);
                                            if (after != nullptr) IndexSlice(*after, true);
                                          });
}

void DeviceOverlay::IndexSlice(const ResourceSlice& slice, bool there) {
  const std::string& name = slice.metadata.name;
  if (there && slice.on_many_nodes) {
    spread_slices_.insert(name);
  } else {
    spread_slices_.erase(name);
  }
  spread_differs_ |= slice.on_many_nodes;
  const PoolName pool{slice.driver, slice.pool};
  for (const std::string& node : NodesOf(slice)) {
    dirty_nodes_.insert(node);
    int& slices = nodes_of_pool_[pool][node];
    slices += there ? 1 : -1;
    if (slices == 0) nodes_of_pool_[pool].erase(node);
    if (there) {
      hosts_[node].slices.insert(name);
    } else {
      hosts_[node].slices.erase(name);
    }
  }
  if (nodes_of_pool_[pool].empty()) nodes_of_pool_.erase(pool);
}

void DeviceOverlay::CountSelections(const ClaimSpec& spec, int sign) {
  for (const auto& alternatives : spec.requests) {
    for (const DeviceRequest& request : alternatives) {
      const std::string name = SelectionName(request);
      if (name.empty()) continue;
      const auto [at, fresh] = selections_.try_emplace(name, DeviceKinds::Selection{request});
      at->second.uses += sign;
      if (at->second.uses == 0) selections_.erase(at);
      selections_differ_ |= fresh || selections_.count(name) == 0;
    }
  }
}

void DeviceOverlay::ReadTemplates(const ObjectTable<devices::ResourceClaimTemplate>& now) {
  ObjectTable<devices::ResourceClaimTemplate>::Differences(
      tables_.templates, now, [&](const auto& before, const auto& after) {
        if (after != nullptr) CountSelections(after->spec, 1);
        if (before != nullptr) CountSelections(before->spec, -1);
        const auto pods = pods_of_template_.find(KeyOf((after ? after : before)->metadata));
        if (pods == pods_of_template_.end()) return;
        dirty_pods_.insert(pods->second.begin(), pods->second.end());
      });
}

void DeviceOverlay::ReadClaims(const ObjectTable<ResourceClaim>& now) {
  ObjectTable<ResourceClaim>::Differences(
      tables_.claims, now, [&](const auto& before, const auto& after) {
        if (after != nullptr) CountSelections(after->spec, 1);
        if (before != nullptr) {
          CountSelections(before->spec, -1);
          Hold(*before, false);
        }
        if (after != nullptr) Hold(*after, true);
        const auto pods = pods_of_claim_.find(KeyOf((after ? after : before)->metadata));
        if (pods == pods_of_claim_.end()) return;
        dirty_pods_.insert(pods->second.begin(), pods->second.end());
      });
}

void DeviceOverlay::Hold(const ResourceClaim& claim, bool holds) {
  const NamespacedName key = KeyOf(claim.metadata);
  for (const devices::HeldDevice& device : claim.held) {
    const PoolName pool{device.driver, device.pool};
    MarkPool(pool);
    if (holds) {
      held_[pool][device.device].insert({key, device.request});
      continue;
    }
    const auto of_pool = held_.find(pool);
    if (of_pool == held_.end()) continue;
    const auto at = of_pool->second.find(device.device);
    if (at != of_pool->second.end()) {
      at->second.erase({key, device.request});
      if (at->second.empty()) of_pool->second.erase(at);
    }
    if (of_pool->second.empty()) held_.erase(of_pool);
  }
}

void DeviceOverlay::ReadPods(const ObjectTable<api::Pod>& now) {
  if (pods_.empty()) derived_pods_ = now;
  const bool first = pods_.empty();
  ObjectTable<api::Pod>::Differences(pods_, now, [&](const auto& before, const auto& after) {
    if (before != nullptr && AsksForDevices(*before)) IndexPod(*before, false);
    if (after == nullptr) {
      derived_pods_.Erase(ObjectTable<api::Pod>::KeyOf(*before));
      return;
    }
    if (AsksForDevices(*after)) {
      IndexPod(*after, true);
      dirty_pods_.insert(KeyOf(after->metadata));
    } else if (!first) {
      derived_pods_.Put(after);
    }
  });
  pods_ = now;
}

void DeviceOverlay::IndexPod(const api::Pod& pod, bool there) {
  const NamespacedName key = KeyOf(pod.metadata);
  const auto change = [&](std::map<NamespacedName, Names>& index, const std::string& name) {
    const NamespacedName of{key.namespace_name, name};
    Names& pods = index[of];
    if (there) {
      pods.insert(key);
    } else {
      pods.erase(key);
    }
    if (&index == &pods_of_claim_) dirty_pods_.insert(pods.begin(), pods.end());
    if (pods.empty()) index.erase(of);
  };
  if (there) {
    pods_with_claims_.insert(key);
  } else {
    pods_with_claims_.erase(key);
  }
  const auto change_claim = [&](const std::string& name) {
    if (name.empty()) return;
    const auto claim = tables_.claims.Find({key.namespace_name, name});
    for (const devices::HeldDevice& device : claim ? claim->held : Devices{}) {
      MarkPool({device.driver, device.pool});
    }
    change(pods_of_claim_, name);
  };
  for (const api::ClaimOfPod& claim : pod.claims) {
    change_claim(claim.claim);
    if (!claim.claim_template.empty()) change(pods_of_template_, claim.claim_template);
  }
  change_claim(pod.extended_claim);
}

void DeviceOverlay::ReadNodes(const ObjectTable<api::Node>& now) {
  const bool first = nodes_.empty();
  if (first) derived_nodes_ = now;
  ObjectTable<api::Node>::Differences(nodes_, now, [&](const auto& before, const auto& after) {
    if (after == nullptr) {
      derived_nodes_.Erase(ObjectTable<api::Node>::KeyOf(*before));
    } else {
      if (!first) derived_nodes_.Put(after);
      dirty_nodes_.insert(after->metadata.name);
    }
  });
  nodes_ = now;
}

// Classes with devices that may match and are of no one node.
void DeviceOverlay::FindSpread() {
  std::set<std::string> spread;
  for (const std::string& name : spread_slices_) {
    const auto slice = tables_.slices.Find({"", name});
    for (const auto& device_class : tables_.classes) {
      const devices::DeviceKind kind{device_class->selectors};
      const bool matches = std::any_of(
          slice->devices.begin(), slice->devices.end(), [&](const devices::SliceDevice& device) {
            return devices::MatchOf(kind, device.traits) != devices::DeviceMatch::kNo;
          });
      if (matches) spread.insert(device_class->metadata.name);
    }
  }
  if (spread != spread_) MarkAll();
  spread_ = std::move(spread);
}

void DeviceOverlay::CountHosts() {
  bool counted = false;
  for (const std::string& name : dirty_nodes_) {
    const auto at = hosts_.find(name);
    if (at == hosts_.end()) continue;
    Host& host = at->second;
    std::vector<devices::HostDevices::SlicePtr> slices;
    for (const std::string& slice : host.slices) slices.push_back(tables_.slices.Find({"", slice}));
    host.devices = devices::HostDevices(slices, name);
    host.all.clear();
    host.inexact.clear();
    for (const auto& [kind_name, kind] : kinds_.by_name()) {
      const devices::DeviceAmounts amounts = host.devices.Count(kind, {});
      host.all[kind_name] = amounts.all;
      if (!amounts.exact) host.inexact.insert(kind_name);
    }
    counted = true;
  }
  if (!counted) return;
  std::map<std::string, std::int64_t> largest;
  inexact_.clear();
  for (const auto& [node, host] : hosts_) {
    inexact_.insert(host.inexact.begin(), host.inexact.end());
    for (const auto& [name, amount] : host.all) {
      std::int64_t& most = largest[name];
      most = std::max(most, amount);
    }
  }
  if (largest != largest_) dirty_pods_.insert(pods_with_claims_.begin(), pods_with_claims_.end());
  largest_ = std::move(largest);
}

void DeviceOverlay::DerivePods() {
  for (const NamespacedName& key : dirty_pods_) {
    const PodPtr raw = pods_.Find(key);
    if (raw == nullptr) continue;
    const PodPtr known = derived_pods_.Find(key);
    PodPtr derived = AsksForDevices(*raw) ? Derived(raw) : raw;
    const bool same = known != nullptr && !raw->metadata.resource_version.empty() &&
                      known->metadata.resource_version == raw->metadata.resource_version &&
                      known->metadata.uid == raw->metadata.uid &&
                      known->requests == derived->requests &&
                      known->claims_problem == derived->claims_problem;
    if (!same) derived_pods_.Put(std::move(derived));
  }
}

void DeviceOverlay::DeriveNodes() {
  for (const std::string& name : dirty_nodes_) {
    const NodePtr raw = nodes_.Find({"", name});
    const auto at = hosts_.find(name);
    if (raw != nullptr) {
      NodePtr derived = at == hosts_.end() ? raw : Derived(raw, at->second);
      const NodePtr known = derived_nodes_.Find({"", name});
      if (known == nullptr || !(*known == *derived)) derived_nodes_.Put(std::move(derived));
    }
    if (at != hosts_.end() && at->second.slices.empty()) hosts_.erase(at);
  }
}

DeviceOverlay::NodePtr DeviceOverlay::Derived(const NodePtr& raw, const Host& host) const {
  if (host.devices.empty()) return raw;
  auto node = std::make_shared<api::Node>(*raw);
  devices::HostDevices::Held held;
  std::map<std::string, std::int64_t> charged;  // by name
  for (const std::string& slice_name : host.slices) {
    const auto slice = tables_.slices.Find({"", slice_name});
    const auto pool = held_.find({slice->driver, slice->pool});
    if (pool == held_.end() || held.count(pool->first) != 0) continue;
    std::set<std::string>& of_pool = held[pool->first];
    for (const auto& [device, holders] : pool->second) {
      of_pool.insert(device);
      if (!host.devices.Has(pool->first, device)) continue;
      for (const std::string& name : ChargedNames(*holders.begin())) ++charged[name];
    }
  }
  for (const auto& [name, kind] : kinds_.by_name()) {
    if (workload::AmountOf(raw->allocatable, name) > 0) continue;
    const devices::DeviceAmounts amounts = host.devices.Count(kind, held);
    workload::SetAmount(node->allocatable, name, amounts.all);
    const std::int64_t claimed = amounts.all - amounts.free - charged[name];
    if (claimed > 0) workload::SetAmount(node->claimed, name, claimed);
  }
  return node;
}

// By which names the pod that has the claim asks for the device.
std::vector<std::string> DeviceOverlay::ChargedNames(const Holder& holder) const {
  const auto claim = tables_.claims.Find(holder.claim);
  const auto pods = pods_of_claim_.find(holder.claim);
  if (claim == nullptr || pods == pods_of_claim_.end()) return {};
  const DeviceRequest* request = FindRequest(claim->spec, holder.request);
  if (request == nullptr || spread_.count(request->device_class) != 0) return {};
  std::vector<std::string> names = kinds_.NamesOf(*request);
  const PodPtr pod = pods_.Find(*pods->second.begin());
  if (pod == nullptr || names.empty() || pod->extended_claim != claim->metadata.name) return names;
  // A pod that asks for the class itself asks for its extended resource, too.
  const bool by_class = workload::AmountOf(pod->requests, names.front()) > 0;
  const std::string& extended = kinds_.ExtendedNameOf(request->device_class);
  std::erase_if(names, [&](const std::string& name) {
    return workload::AmountOf(pod->requests, name) == 0 && !(by_class && name == extended);
  });
  return names;
}

DeviceOverlay::PodPtr DeviceOverlay::Derived(const PodPtr& raw) const {
  auto pod = std::make_shared<api::Pod>(*raw);
  for (const workload::ResourceAmount& entry : raw->requests) {
    if (!IsClassName(entry.name)) continue;
    const std::string& extended =
        kinds_.ExtendedNameOf(entry.name.substr(std::string_view(api::kDeviceClassPrefix).size()));
    if (!extended.empty()) AddTo(pod->requests, extended, entry.amount);
  }
  // By its name alone until its template is there.
  workload::SetAmount(pod->requests, api::kChannelOfHost, 0);
  for (const api::ClaimOfPod& claim : raw->claims) AddClaim(claim, *pod);
  pod->gpu_resource = api::GpuResourceOf(pod->metadata, pod->requests);
  return pod;
}

void DeviceOverlay::AddClaim(const api::ClaimOfPod& claim, api::Pod& pod) const {
  const NamespacedName key{pod.metadata.namespace_name, claim.claim};
  const auto object = claim.claim.empty() ? nullptr : tables_.claims.Find(key);
  if (object != nullptr) {
    if (!IsHeldByAnother(key, pod)) AddRequests(object->spec, object.get(), pod);
    return;
  }
  const NamespacedName of{pod.metadata.namespace_name, claim.claim_template};
  const auto made_from = claim.claim_template.empty() ? nullptr : tables_.templates.Find(of);
  if (made_from != nullptr) {
    AddRequests(made_from->spec, nullptr, pod);
  } else if (claim.name == api::kComputeDomainClaim) {
    // NVIDIA's driver makes the template when it has seen the ComputeDomain.
    workload::SetAmount(pod.requests, api::kChannelOfHost, 1);
  } else if (!claim.claim_template.empty()) {
    pod.claims_problem = StrCat("ResourceClaimTemplate ", of.text(), " does not exist");
  } else if (!claim.claim.empty()) {
    pod.claims_problem = StrCat("ResourceClaim ", key.text(), " does not exist");
  } else {
    pod.claims_problem =
        StrCat("claim ", claim.name, " names no ResourceClaim and no ResourceClaimTemplate");
  }
}

// Of a claim with devices those that it holds count.
void DeviceOverlay::AddRequests(const ClaimSpec& spec, const ResourceClaim* allocated,
                                api::Pod& pod) const {
  if (allocated != nullptr && allocated->allocated) {
    for (const devices::HeldDevice& device : allocated->held) {
      const DeviceRequest* request = FindRequest(spec, device.request);
      if (request != nullptr) AddAmount(*request, 1, pod);
    }
    return;
  }
  for (const auto& alternatives : spec.requests) {
    const DeviceRequest& request = Chosen(alternatives);
    if (request.admin) continue;
    AddAmount(request, request.all ? std::max<std::int64_t>(1, MostOf(request)) : request.count,
              pod);
  }
}

void DeviceOverlay::AddAmount(const DeviceRequest& request, std::int64_t amount,
                              api::Pod& pod) const {
  if (request.device_class == api::kChannelClass) {
    return workload::SetAmount(pod.requests, api::kChannelOfHost, 1);
  }
  if (request.device_class == api::kChannelDaemonClass) return;
  if (!kinds_.HasClass(request.device_class)) {
    pod.claims_problem = StrCat("DeviceClass ", request.device_class, " does not exist");
    return;
  }
  if (spread_.count(request.device_class) != 0) return;
  for (const std::string& name : kinds_.NamesOf(request)) {
    if (pod.requests.size() >= kMaxNames && workload::AmountOf(pod.requests, name) == 0) {
      pod.claims_problem = "its claims ask for devices of too many kinds";
      return;
    }
    AddTo(pod.requests, name, amount);
  }
}

const DeviceRequest& DeviceOverlay::Chosen(const std::vector<DeviceRequest>& of) const {
  const auto at = std::find_if(of.begin(), of.end(), [&](const DeviceRequest& request) {
    const std::int64_t most = MostOf(request);
    return most > 0 && most >= request.count;
  });
  return at == of.end() ? of.front() : *at;
}

// Devices that match on the host with most of them.
std::int64_t DeviceOverlay::MostOf(const DeviceRequest& request) const {
  auto at = largest_.find(SelectionName(request));
  if (at == largest_.end()) {
    at = largest_.find(StrCat(api::kDeviceClassPrefix, request.device_class));
  }
  return at == largest_.end() ? 0 : at->second;
}

// Of pods that share a claim, the first that has a node, else the first, has its devices.
bool DeviceOverlay::IsHeldByAnother(const NamespacedName& claim, const api::Pod& pod) const {
  const auto sharing = pods_of_claim_.find(claim);
  if (sharing == pods_of_claim_.end()) return false;
  const auto has_node = [&](const NamespacedName& name) {
    const PodPtr other = pods_.Find(name);
    return other != nullptr && !other->node_name.empty();
  };
  const Names& names = sharing->second;
  const auto bound = std::find_if(names.begin(), names.end(), has_node);
  const NamespacedName& first = bound == names.end() ? *names.begin() : *bound;
  return first != KeyOf(pod.metadata) && names.count(KeyOf(pod.metadata)) != 0;
}

void DeviceOverlay::AppendProblems(std::vector<std::string>& problems) const {
  for (const std::string& name : inexact_) {
    if (IsClassName(name)) {
      problems.push_back(StrCat(
          "DeviceClass ", name.substr(std::string_view(api::kDeviceClassPrefix).size()),
          ": spec.selectors: cannot be evaluated here, so every device that may match counts "
          "and kube-scheduler refuses the others; compare the driver, attributes and "
          "capacities alone"));
    } else if (const auto at = selections_.find(name); at != selections_.end()) {
      problems.push_back(
          StrCat("DeviceClass ", at->second.request.device_class,
                 ": the selectors of a claim cannot be evaluated here, so every device that may "
                 "match counts and kube-scheduler refuses the others; compare the driver, "
                 "attributes and capacities alone"));
    }
  }
  for (const std::string& name : spread_) {
    problems.push_back(StrCat("DeviceClass ", name,
                              ": has devices that are of no one node; claims to them are not "
                              "counted, and kube-scheduler alone decides on them"));
  }
}

ClusterState WithDevices(const ClusterState& cluster) { return DeviceOverlay().Apply(cluster); }

}  // namespace yardmaster::state
