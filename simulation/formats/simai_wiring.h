// What a SimAI topology says about hosts and cables, before any tier is recognised: the ToR of
// every NIC port, the segments that follow from it, and the cables between switches.
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "simulation/formats/simai_file.h"

namespace yardmaster::sim {

// All parallel cables of two switches.
struct Bundle {
  int cables = 0;
  double gbps = 0;
};

struct SimAiWiring {
  int nic_gbps = 0;
  int nic_ports = 0;                         // per GPU, each GPU has a NIC
  double nvlink_gbps = 0;                    // of a GPU, all its links together; 0: none
  std::map<int, std::map<int, Bundle>> ups;  // by switch: its neighbours, both ways
  // By segment, numbered by their first host; hosts with the same ToRs, port by port, are a
  // segment.
  std::vector<int> hosts_of;
  std::vector<std::vector<int>> tors_of;  // rail by rail, port by port
};

// Errors: InvalidArgument that begins with `name` and, where there is one, the line.
absl::StatusOr<SimAiWiring> ReadSimAiWiring(const SimAiTopology& topology, const std::string& name);

// A speed that a Fabric can hold. Errors: as above.
absl::StatusOr<int> WholeGbps(double gbps, const std::string& name);
// The error of line `line` of the file `name`; 0: of the whole file.
absl::Status WrongSimAi(const std::string& name, int line, const std::string& problem,
                        const std::string& fix);

}  // namespace yardmaster::sim
