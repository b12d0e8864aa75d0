// A training cluster as a cloud's API server holds it: pods of some 8 KiB and Nodes of some 10 KiB,
// managedFields, images and probes included, as JSON texts.
//
// The cluster is a rendered Fabric. A gang of as many workers as a segment has ordinary hosts runs
// in every segment but the last, whose hosts are free. All other pods ask for no GPU and are spread
// over all Nodes. Gangs are Placed and Released, promised hosts carry their taint: the extender has
// nothing to write.
//
// Texts are made on request, from templates; only names, places and addresses of the Nodes and
// names of the gangs are kept. Thread safety: const methods from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/api/fabric.h"

namespace yardmaster::bench {

// A JSON text with holes, "@0@" to "@9@".
class Template {
 public:
  explicit Template(const nlohmann::json& prototype);
  // Appends the text with the values in the holes; values go in as they are.
  void Fill(const std::vector<std::string>& values, std::string& out) const;

 private:
  struct Piece {
    std::string literal;
    int hole;  // after the literal; -1: none
  };
  std::vector<Piece> pieces_;
};

class CloudCluster {
 public:
  // `pods` counts the gangs' pods; fewer than those are raised to their number. Errors: a Fabric
  // that is not valid. REQUIRES: at least two segments.
  static absl::StatusOr<CloudCluster> Make(const api::Fabric& fabric, int pods);

  std::size_t pods() const { return pods_; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t gangs() const { return gang_segments_; }
  // Append the JSON text of one object. Its resourceVersion is its place in its list, from 1.
  void AppendPod(std::size_t index, std::string& out) const;
  void AppendNode(std::size_t index, std::string& out) const;
  void AppendGang(std::size_t index, std::string& out) const;
  const std::string& fabric() const { return fabric_; }
  std::string PodPath(std::size_t index) const;  // "team/j3-17"
  const std::string& NodeName(std::size_t index) const { return nodes_[index].name; }
  const std::string& GangNameOf(std::size_t index) const { return gang_names_[index]; }
  // Names of hosts for a request to filter. REQUIRES: the cluster has `count` of them; BackupHosts
  // takes at most one of a segment, the other two at most as many as a segment has ordinary hosts.
  std::vector<std::string> PromisedHosts(std::size_t count) const;
  std::vector<std::string> BackupHosts(std::size_t count) const;
  std::vector<std::string> FreeHosts(std::size_t count) const;

 private:
  struct NodeFacts {
    std::string name, fabric_pod, segment, addresses;
    bool backup = false;
  };
  CloudCluster();

  std::size_t workers() const { return per_segment_ - backup_; }
  const NodeFacts& Worker(std::size_t gang, std::size_t rank) const {
    return nodes_[gang * per_segment_ + rank];
  }

  std::vector<NodeFacts> nodes_;  // by segment, backup hosts last
  std::size_t per_segment_ = 0, backup_ = 0, gang_segments_ = 0, pods_ = 0;
  std::string fabric_;
  std::vector<std::string> gang_names_;
  Template gang_pod_, other_pod_, node_, backup_node_, promised_node_;
};

}  // namespace yardmaster::bench
