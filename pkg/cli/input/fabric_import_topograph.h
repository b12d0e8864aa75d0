// A Fabric out of the labels that topograph, a cloud or others write on Nodes.
//
// The labels say where a host stands and nothing about ports; so the Fabric is that of a base (a
// preset, for example) whose size and label names are those of the Nodes. The base's hashes are
// left out: they are examples, and a hash that is not the switches' own predicts paths that packets
// do not take.
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
  std::vector<std::string> notes;  // what the reader should know
};

// Label keys; nothing: those that the Nodes have (state/guessed_places.h), those of topograph where
// they have none.
struct TopographKeys {
  std::optional<std::string> leaf;
  std::optional<std::string> spine;
};

// Nodes without GPUs are left out. Errors: InvalidArgument when GPU Nodes lack labels, when a leaf
// hangs under two spines, or when the base has fewer ports than the Nodes need.
absl::StatusOr<ImportedFabric> ImportTopograph(const std::vector<api::Node>& nodes,
                                               const api::Fabric& base, const TopographKeys& keys);

}  // namespace yardmaster::cli
