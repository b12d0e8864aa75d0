// `kubectl yardmaster path --fabric FILE --from HOST/RAIL/PORT --to HOST/RAIL/PORT --source-port N
//  [--down LINK]... -o json`: the path that one RoCE packet takes.
//
//   --fabric FILE      a Fabric and its Nodes, YAML or JSON (repeatable); without Nodes those that
//                      `fabric render` would write. NIC ports that Nodes report as down are down.
//   --from, --to       a host's NIC port, for example p00s00h003/2/0 (rail 2, port 0); both of one
//                      plane
//   --source-port N    the packet's UDP source port
//   --down LINK        a link or cable that routing knows to be down, or a switch (repeatable)
//
// Answer: {"predictable": true, "plane": 0, "hops": [{"switch", "members", "hash", "index",
// "link"}]}, or
// {"predictable": false, "reason": "...", "hops": [...]} up to where it stops being so. `hash` is
// null where the ingress port decides, and at a switch with one next link whose hash is not known.
// `links` repeats the path as link names, the NIC's first.
//
// Returns the exit code: 0 answered, 1 the input is wrong, 2 usage. Thread safety: reads the files
// named, else pure.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace yardmaster::cli {

int RunPathCommand(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                   std::ostream& err);

}  // namespace yardmaster::cli
