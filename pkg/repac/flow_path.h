// FlowPath is the path of one flow: its source port, the links, and the home to which it returns.
//
// The same record is used in a plan of ports (path_plan.h), in the network plan of a cluster, and
// as the input of the next plan. *Home* is the path on which the flow was first planned. A flow
// that left its home because of a failure returns when all links of the home are up again.
//
// Thread safety: a value.
#pragma once

#include <cstdint>

#include "pkg/fabric/link_path.h"

namespace yardmaster::repac {

struct FlowPath {
  std::uint16_t source_port = 0;     // 0: not planned, the default port is used
  std::uint16_t alternate_port = 0;  // avoids all links of the path between switches; 0: none
  fabric::LinkPath links;            // the source NIC's first; empty: not known
  std::uint16_t home_port = 0;       // 0: source_port
  fabric::LinkPath home_links;       // empty: links

  bool planned() const { return source_port != 0; }
  std::uint16_t port_at_home() const { return home_port != 0 ? home_port : source_port; }
  const fabric::LinkPath& links_at_home() const { return home_links.empty() ? links : home_links; }
};

}  // namespace yardmaster::repac
