// The verb `top`: what uses most, by jobs, segments or links.
//
//   top jobs|segments|links [--limit N] [-w] [-o json|yaml]
//
// Loads of links are predicted by the network planner from the ledger: means over an iteration, with the
// source ports that pods carry now. Thread safety: as the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pkg/cli/connect.h"
#include "pkg/cli/output/overview.h"
#include "pkg/page/network_picture.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::cli {

// Gangs by what they send, largest first. Loads are in Gb/s.
Table TopJobs(const plan::Snapshot& snapshot, const page::NetworkPicture& picture);
// Segments by the load of their busiest uplink.
Table TopSegments(const plan::Snapshot& snapshot, const page::NetworkPicture& picture);
// At most page::kMaxBusiest links between switches, by load over capacity, with their jobs and, in
// parentheses, levels.
Table TopLinks(const page::NetworkPicture& picture);

int RunTopCommand(const std::vector<std::string>& args, const Connector& connect, std::ostream& out,
                  std::ostream& err);

}  // namespace yardmaster::cli
