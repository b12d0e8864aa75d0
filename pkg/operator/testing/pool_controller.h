// Plays Cluster Autoscaler, Karpenter and the provider behind them on any API server: grants
// ProvisioningRequests (all hosts of a request or none) and NodeClaims (one by one) by creating
// Nodes, removes the Nodes of what is deleted, and takes hosts back with a notice. TESTONLY.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/kube/client.h"

namespace yardmaster::op {

class PoolController {
 public:
  explicit PoolController(kube::Client& client) : client_(client) {}

  // Hosts with this label value that can be made besides those there are; others without bound.
  void SetRoom(const std::string& label, const std::string& value, int hosts) {
    room_[{label, value}] = hosts;
  }
  // One pass over what was asked for and what was deleted.
  void Step();
  // The provider's notice, as aws-node-termination-handler marks it, on every Node with the label.
  void Reclaim(const std::string& label, const std::string& value);
  // Drops the record of the Nodes that were made. The Nodes stay, and Step does not delete them.
  void Forget() { nodes_.clear(); }
  // Nodes that this controller has made and that exist.
  const std::map<std::string, std::string>& nodes() const { return nodes_; }

 private:
  bool HasRoom(const nlohmann::json& labels, int hosts);
  void MakeNode(const std::string& name, const std::string& for_what, const nlohmann::json& labels,
                const nlohmann::json& taints, const nlohmann::json& resources, int pods);
  void Grant(const nlohmann::json& request);
  void Launch(const nlohmann::json& claim);
  void SetConditions(const kube::Target& target, nlohmann::json conditions,
                     const std::string& node = "");

  kube::Client& client_;
  std::map<std::pair<std::string, std::string>, int> room_;
  std::map<std::string, std::string> nodes_;  // by name: what it was made for, "Kind/name"
  int next_ = 0;
};

}  // namespace yardmaster::op
