// A topology file of the SimAI simulator, as it is written:
//
//   nodes gpusPerServer nvSwitches otherSwitches links gpuType
//   id id ...                                   the switches, NVSwitches first
//   source target bandwidth latency errorRate   one line per cable
//
// Nodes are numbered GPUs first, then NVSwitches, then the others. Bandwidths are "200Gbps", also
// Mbps and Tbps. Latencies and error rates are checked for being there and not used.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yardmaster::sim {

struct SimAiLink {
  int source = 0;
  int target = 0;
  double gbps = 0;
  int line = 0;  // of the file, from 1
};

struct SimAiTopology {
  int gpus = 0;  // ids 0 .. gpus - 1
  int gpus_per_server = 0;
  int nv_switches = 0;           // the ids after them
  int switches = 0;              // and after those
  std::vector<SimAiLink> links;  // in the order of the file

  int nodes() const { return gpus + nv_switches + switches; }
  bool is_gpu(int id) const { return id < gpus; }
  bool is_nv_switch(int id) const { return id >= gpus && id < gpus + nv_switches; }
};

// Errors: InvalidArgument "<name>:<line>: what is wrong; how to mend it".
absl::StatusOr<SimAiTopology> ReadSimAiTopology(std::string_view text, const std::string& name);

}  // namespace yardmaster::sim
