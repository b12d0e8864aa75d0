// The network that manifests describe, for the commands that ask about it. Thread safety: reads
// files, else pure.
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
  std::vector<fabric::CableId> down;  // as the Nodes report and the Fabric's annotation says
  std::vector<std::string> warnings;  // what could not be used
};

// Reads a Fabric and its Nodes; without Nodes the Fabric is filled as `fabric render` does.
// `names_file`: switch_names_file.h. Errors: InvalidArgument or NotFound, one line per error.
absl::StatusOr<FabricInput> ReadFabricInput(const std::vector<std::string>& files,
                                            const std::string& names_file, std::istream& in);

// The network of a cluster's first Fabric and its Nodes. `name` stands in errors.
absl::StatusOr<FabricInput> FabricInputOf(const state::ClusterState& cluster,
                                          const std::string& name);

}  // namespace yardmaster::cli
