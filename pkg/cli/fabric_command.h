// `kubectl yardmaster fabric render --preset NAME [--fabric-pods P] [--segments S] [--hosts H]
// [--backup-hosts B] [-o yaml|json]`: a Fabric and its Nodes as manifests.
//
//   --preset NAME|FILE    a preset that ships (fabric render --help lists them) or a Fabric
//                         manifest
//   --fabric-pods P       fabric pods
//   --segments S          segments of one fabric pod
//   --hosts H             hosts of one segment, with its backup hosts
//   --backup-hosts B      how many of them are kept as backup
//
// Returns the exit code: 0 answered, 1 the input is wrong, 2 usage. Thread safety: reads the file
// named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunFabricRenderCommand(const std::vector<std::string>& args, std::istream& in,
                           std::ostream& out, std::ostream& err);

}  // namespace yardmaster::cli
