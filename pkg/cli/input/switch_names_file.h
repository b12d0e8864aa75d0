// Implements --names: the operators' names of the switches (config/switch_names.h), which replace
// those of the Fabric.
//
// Thread safety: reads files; otherwise pure functions.
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

// Sets the names of the file in the Fabric in use. Switches that the file does not name keep their
// names. Has no effect if `file` is empty. Errors: InvalidArgument if the file is wrong or there is
// no Fabric, NotFound if it cannot be opened.
absl::Status UseSwitchNames(const std::string& file, std::istream& in,
                            state::ClusterState& cluster);

}  // namespace yardmaster::cli
