// The path of one flow: the source port that takes it there, the links, and the home it returns to.
//
// One record on its whole way: in a plan of ports (path_plan.h), in the network plan of a cluster,
// and in what the next plan of the cluster starts from.
// *Home* is the path that the flow was first planned on. A flow that had to leave its home because
// of a failure returns when all links of the home are up again. Thread safety: a value.
#pragma once

#include <cstdint>

#include "pkg/fabric/link_path.h"

namespace yardmaster::repac {

struct FlowPath {
  std::uint16_t source_port = 0;     // 0: not planned, default behaviour
  std::uint16_t alternate_port = 0;  // avoids all of this path's links between switches; 0: none
  fabric::LinkPath links;            // the source NIC's first; empty: not known
  std::uint16_t home_port = 0;       // 0: source_port
  fabric::LinkPath home_links;       // empty: links

  bool planned() const { return source_port != 0; }
  std::uint16_t port_at_home() const { return home_port != 0 ? home_port : source_port; }
  const fabric::LinkPath& links_at_home() const { return home_links.empty() ? links : home_links; }
};

}  // namespace yardmaster::repac
