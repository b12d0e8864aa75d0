// Derives a Fabric from the labels that topograph, a cloud or others write on Nodes.
//
// The labels contain the place of a host and nothing about ports. Therefore the Fabric is a copy of
// a base (such as a preset) with the size and label names of the Nodes. The hashes of the base are
// left out: they are examples, and a hash other than the switches' own predicts wrong paths.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/fabric.h"
#include "pkg/api/node.h"

namespace yardmaster::cli {

struct ImportedFabric {
  api::Fabric fabric;
  std::vector<std::string> notes;  // notes for the user
};

// Label keys. nullopt: those that the Nodes have (state/guessed_places.h), or those of topograph if
// they have none.
struct TopographKeys {
  std::optional<std::string> leaf;
  std::optional<std::string> spine;
};

// Nodes without GPUs are left out. Errors: InvalidArgument if GPU Nodes lack labels, if a leaf is
// under two spines, or if the base has fewer ports than the Nodes need.
absl::StatusOr<ImportedFabric> ImportTopograph(const std::vector<api::Node>& nodes,
                                               const api::Fabric& base, const TopographKeys& keys);

}  // namespace yardmaster::cli
