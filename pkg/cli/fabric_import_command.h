// `kubectl yardmaster fabric import --from simai|topograph FILE [--name NAME] [-o yaml|json]`: a
// Fabric out of what another tool wrote.
//
//   --from simai FILE      a topology file of the SimAI simulator; --nodes adds the Nodes, too
//   --from topograph FILE  Nodes with topograph's labels (kubectl get nodes -o yaml), FILE may be -
//     --preset NAME|FILE   the Fabric whose ports, speeds and hashes to take (required)
//     --leaf-label KEY, --spine-label KEY   where topograph's own labels have other names
//
// Returns the exit code: 0 answered, 1 the input is wrong, 2 usage. Thread safety: reads the file
// named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunFabricImportCommand(const std::vector<std::string>& args, std::istream& in,
                           std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
