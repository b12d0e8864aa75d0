// Devices by claims as amounts of resources, so that everything that plans, filters, taints and
// shows counts them as it counts what kubelets report. Names: device_kinds.h.
//
// Nodes. `allocatable` has the devices of the Node's ResourceSlices by each name that they go by. A
// resource of which the kubelet itself reports some is left as it is, as kube-scheduler has it.
// `claimed` is what of it is not free and in no pod's requests here: held by a claim that no
// unfinished pod names, held under another name, or shut out by a partition that is held.
//
// Pods. `requests` has what the pod's claims ask for: of a claim with devices those that it holds,
// else the count of each request. `allocationMode: All` counts as the most that one host has; of
// alternatives the first counts that some host has at all. Claims of one pod are those made from
// templates, which count before they are made, too. A claim that pods share is the first pod's, one
// with a node before others. Admin access counts nothing. What kube-scheduler claims for an
// extended resource is in the requests already. A channel of a ComputeDomain (api/compute_domain.h)
// is a host of its own among such pods; a claim of ours to one needs no template to be counted.
// `claims_problem` says why a claim is not counted.
//
// Devices on no one node, and classes whose selectors cannot be evaluated
// (pkg/devices/device_selector.h), are named in `problems`, which begin with "DeviceClass": claims
// to the former are left to kube-scheduler, and of the latter a host has all devices that may
// match.
//
// Determinism: the result depends on the objects given last alone. Cost: of what differs from the
// Apply before; another class, all Nodes and all pods with claims. Where no such object was ever
// there, nothing. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/devices/host_devices.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/device_kinds.h"

namespace yardmaster::state {

class DeviceOverlay {
 public:
  ClusterState Apply(ClusterState cluster);
  // A pod that is not among the objects, as Apply would have it.
  std::shared_ptr<const api::Pod> WithClaims(const std::shared_ptr<const api::Pod>& pod) const;

 private:
  using PodPtr = std::shared_ptr<const api::Pod>;
  using NodePtr = std::shared_ptr<const api::Node>;
  using Names = std::set<NamespacedName>;

  struct Host {
    std::set<std::string> slices;
    devices::HostDevices devices;
    std::map<std::string, std::int64_t> all;  // by name of the kind
    std::set<std::string> inexact;            // names of kinds
  };
  struct Holder {
    NamespacedName claim;
    std::string request;
    auto operator<=>(const Holder&) const = default;
  };
  // Nothing keeps two claims from saying that they hold one device: the first does.
  using Holders = std::set<Holder>;
  using Pool = std::map<std::string, Holders>;  // by device
  using Devices = std::vector<devices::HeldDevice>;

  void ReadSlices(const ObjectTable<devices::ResourceSlice>& now);
  void IndexSlice(const devices::ResourceSlice& slice, bool there);
  void ReadTemplates(const ObjectTable<devices::ResourceClaimTemplate>& now);
  void ReadClaims(const ObjectTable<devices::ResourceClaim>& now);
  void CountSelections(const devices::ClaimSpec& spec, int sign);
  void Hold(const devices::ResourceClaim& claim, bool holds);
  void ReadPods(const ObjectTable<api::Pod>& now);
  void IndexPod(const api::Pod& pod, bool there);
  void ReadNodes(const ObjectTable<api::Node>& now);
  void MarkPool(const devices::PoolName& pool);
  void MarkAll();
  void CountHosts();
  void FindSpread();
  void DerivePods();
  void DeriveNodes();
  NodePtr Derived(const NodePtr& raw, const Host& host) const;
  PodPtr Derived(const PodPtr& raw) const;
  std::vector<std::string> ChargedNames(const Holder& holder) const;
  void AddClaim(const api::ClaimOfPod& claim, api::Pod& pod) const;
  void AddRequests(const devices::ClaimSpec& spec, const devices::ResourceClaim* allocated,
                   api::Pod& pod) const;
  void AddAmount(const devices::DeviceRequest& request, std::int64_t amount, api::Pod& pod) const;
  const devices::DeviceRequest& Chosen(const std::vector<devices::DeviceRequest>& of) const;
  std::int64_t MostOf(const devices::DeviceRequest& request) const;
  bool IsHeldByAnother(const NamespacedName& claim, const api::Pod& pod) const;
  void AppendProblems(std::vector<std::string>& problems) const;

  bool used_ = false;
  DeviceTables tables_;
  ObjectTable<api::Pod> pods_;
  ObjectTable<api::Node> nodes_;
  ObjectTable<api::Pod> derived_pods_;
  ObjectTable<api::Node> derived_nodes_;

  DeviceKinds kinds_;
  DeviceKinds::Selections selections_;
  bool selections_differ_ = false;
  std::map<std::string, Host> hosts_;  // by Node, with slices
  // How many slices of a pool a Node has.
  std::map<devices::PoolName, std::map<std::string, int>> nodes_of_pool_;
  std::map<devices::PoolName, Pool> held_;
  std::map<NamespacedName, Names> pods_of_claim_;  // unfinished ones
  std::map<NamespacedName, Names> pods_of_template_;
  Names pods_with_claims_;
  std::map<std::string, std::int64_t> largest_;  // devices of the host with most, by name of a kind
  std::set<std::string> inexact_;                // names of kinds that some host has inexactly
  std::set<std::string> spread_;                 // classes with devices on no one node
  std::set<std::string> spread_slices_;
  bool spread_differs_ = false;

  std::set<std::string> dirty_nodes_;
  Names dirty_pods_;
};

// One state, made from nothing.
ClusterState WithDevices(const ClusterState& cluster);

}  // namespace yardmaster::state
