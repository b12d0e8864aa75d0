// The hosts' half of a snapshot, kept from one ClusterState to the next: places, network, states,
// cables that are down. See snapshot_builder.h for the rules.
//
// Update looks only at Nodes and Gangs that differ from the previous ClusterState, and at the Gangs
// that were promised a Node that came or went. A Node that comes, goes or moves gives hosts new
// ids, because ids follow names; what is known of the other hosts moves with them. Another Fabric
// has all of them read again.
//
// Thread safety: one thread. Lifetimes: what its shared pointers point to never changes;
// references, and the pointer of `node`, are valid until the next Update.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/namespaced_name.h"
#include "pkg/fabric/network.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/node_facts.h"

namespace yardmaster::state {

struct HostChanges {
  bool renumbered = false;            // hosts have other ids
  bool all = false;                   // every host is to be looked at
  std::vector<fabric::HostId> hosts;  // else those whose Node is another one, ascending
  // If renumbered: the new id by former id; invalid: the host is gone. Empty in the first Update.
  std::vector<fabric::HostId> moved_to;
};

class HostIndex {
 public:
  HostChanges Update(const ClusterState& cluster);

  const std::shared_ptr<const fabric::Places>& places() const { return places_; }
  // Null without a Fabric that can be used.
  const std::shared_ptr<const fabric::Network>& network() const { return network_; }
  // Of the host with most GPUs; what the Fabric says if no host has any.
  int gpus_per_host() const { return gpus_per_host_; }
  // The extended resource that hosts are counted by.
  const std::string& gpu_resource() const { return spec_.gpu_resource; }
  // By HostId, everything free.
  const std::vector<placement::HostState>& states() const { return states_; }
  // The GPU models of hosts with a Node, ascending; index: placement::HostState::gpu_model. More
  // than 255 of them share the last one.
  const std::shared_ptr<const std::vector<std::string>>& gpu_models() const { return gpu_models_; }
  // Null where a gang was promised a host whose Node is gone. Places of such hosts come from the
  // gangs' own status, so that the ledger never points nowhere.
  const api::Node* node(fabric::HostId host) const { return node_of_host_[host.index()].get(); }
  // Whether a rank there is lost to a job that tolerates none of the Node's taints.
  bool may_lose_ranks(fabric::HostId host) const { return may_lose_ranks_[host.index()] != 0; }
  // As the status of the Fabric in use says, ascending.
  std::vector<fabric::SegmentId> LostSegments() const;
  std::vector<fabric::DomainId> LostDomains() const;
  // By CableId; empty: all up.
  const std::vector<std::uint8_t>& cable_down() const { return cable_down_; }
  void AppendWarnings(std::vector<std::string>& warnings) const;

 private:
  // A Node that differs from the previous ClusterState.
  struct ReadNode {
    std::shared_ptr<const api::Node> node;  // of one that is gone, the last state
    bool usable;                            // it is there and has a place
  };

  bool ChooseFabric(const ObjectTable<api::Fabric>& fabrics);
  void ReadNodes(const ObjectTable<api::Node>& nodes);
  void ReadPromises(const ObjectTable<api::Gang>& gangs);
  std::vector<fabric::HostPlace> Missing(const api::Gang& gang) const;
  std::vector<fabric::HostPlace> CollectPlaces();
  void DropRepeatedAddresses(std::vector<fabric::HostPlace>& hosts);
  bool Renumber(bool other_fabric);
  void MoveHosts(const std::vector<fabric::HostId>& to);
  void FillAll();
  void FillHost(fabric::HostId host, std::shared_ptr<const api::Node> node);
  void MarkCables();
  // Replaces the state of a host, and its share in the counts of GPU models.
  void SetState(fabric::HostId host, placement::HostState state);
  void ReadGpuModels();

  std::shared_ptr<const api::Fabric> fabric_;  // in use, or null
  fabric::FabricSpec spec_;
  ObjectTable<api::Node> nodes_;
  ObjectTable<api::Gang> gangs_;
  std::map<std::string, NodePlace, std::less<>> place_of_node_;
  std::set<std::string> warned_;  // Nodes with warnings of their place
  // Promised hosts without a usable Node.
  std::map<NamespacedName, std::vector<fabric::HostPlace>> missing_;
  bool moved_ = false;                               // places may differ since Renumber
  std::set<std::string, std::less<>> came_or_went_;  // usable Nodes, in this Update
  std::vector<ReadNode> read_nodes_;                 // of this Update

  std::vector<fabric::HostPlace> hosts_;  // by name, of places_
  std::shared_ptr<const fabric::Places> places_;
  std::shared_ptr<const fabric::Network> network_;
  int gpus_per_host_ = 8;
  std::vector<placement::HostState> states_;  // by HostId
  // Numbers of GPU models follow names, so that they do not depend on earlier ClusterStates.
  std::shared_ptr<const std::vector<std::string>> gpu_models_ =
      std::make_shared<const std::vector<std::string>>();
  std::vector<int> hosts_of_model_;  // with GPUs, by model
  bool gpu_models_differ_ = true;    // a model came or went: all hosts are to be read again
  std::vector<std::uint8_t> may_lose_ranks_;                    // by HostId
  std::vector<std::shared_ptr<const api::Node>> node_of_host_;  // by HostId
  std::map<fabric::HostId, HostFacts> noted_;                   // hosts with ports down or warnings
  std::vector<std::uint8_t> cable_down_;

  std::vector<std::string> fabric_warnings_;
  std::vector<std::string> address_warnings_;
  std::vector<std::string> network_warnings_;
};

}  // namespace yardmaster::state
