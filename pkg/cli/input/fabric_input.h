// Reads the network that manifests describe, for the verbs about it.
//
// Thread safety: reads files; otherwise pure functions.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/fabric/network.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

struct FabricInput {
  std::shared_ptr<const fabric::Network> network;
  std::vector<fabric::CableId> down;  // by the reports on Nodes and the Fabric's annotation
  std::vector<std::string> warnings;  // input that could not be used
};

// Reads a Fabric and its Nodes. Without Nodes the Fabric is filled as by `fabric render`.
// `names_file`: see switch_names_file.h. Errors: InvalidArgument or NotFound, one line per error.
absl::StatusOr<FabricInput> ReadFabricInput(const std::vector<std::string>& files,
                                            const std::string& names_file, std::istream& in);

// Returns the network of a cluster's first Fabric and its Nodes. `name`: used in errors.
absl::StatusOr<FabricInput> FabricInputOf(const state::ClusterState& cluster,
                                          const std::string& name);

}  // namespace yardmaster::cli
