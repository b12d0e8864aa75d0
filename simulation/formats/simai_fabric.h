// The Fabric that a SimAI topology describes.
//
// The file names every cable, so the whole Fabric follows from it: rails, planes, ports, speeds and
// tiers up to a core that every aggregation switch meets. What such a Fabric cannot express
// (switches of one tier with different cabling, GPUs with different NICs) is refused with the line
// of the file. SimAI's own hash is not one of a switch, so the imported hashes are "unpredictable"
// until they are described.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/fabric.h"
#include "simulation/formats/simai_file.h"

namespace yardmaster::sim {

struct SimAiFabric {
  api::Fabric fabric;
  std::vector<std::string> notes;  // what the reader should know
};

// Errors: InvalidArgument that begins with `name` and, where there is one, the line.
absl::StatusOr<SimAiFabric> ImportSimAi(const SimAiTopology& topology, const std::string& name);

}  // namespace yardmaster::sim
