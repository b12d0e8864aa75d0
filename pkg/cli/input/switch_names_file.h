// --names: what the operators of the network call its switches (config/switch_names.h), in place of
// what the Fabric says. Thread safety: reads files, else pure.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"

#include "pkg/state/cluster_state.h"

namespace CLI {
class App;
}

namespace yardmaster::cli {

void DeclareNames(std::string& file, CLI::App& app);

// Gives the Fabric in use the names of the file; those of switches that the file does not name
// stay. Nothing where `file` is empty. Errors: InvalidArgument where the file is wrong or there is
// no Fabric, NotFound where it cannot be opened.
absl::Status UseSwitchNames(const std::string& file, std::istream& in,
                            state::ClusterState& cluster);

}  // namespace yardmaster::cli
