// `fabric show`: the fabric as text, a letter a host, as the page draws it. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

// One line a segment, hosts by name, wrapped at `columns` letters; then the legend of letters that occur.
// `job` ("namespace/name", or empty): its hosts are upper case.
std::string FabricMap(const state::ClusterState& cluster, const std::string& job, int columns);

int RunFabricShowCommand(const std::vector<std::string>& args, const Connector& connect,
                         std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
