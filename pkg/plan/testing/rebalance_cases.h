// Clusters with running and waiting gangs, and what moves of them have to keep to. TESTONLY. Thread
// safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {

struct MovingCase {
  Snapshot snapshot;
  std::vector<MoveTerms> terms;
};

// A gang of whole hosts that runs there and may be moved for `lost_seconds` of it. Returns its id.
JobId AddRunning(MovingCase& c, const std::string& name, const std::vector<fabric::HostId>& hosts,
                 double lost_seconds = 100);
// A gang of whole hosts that waits. It stays inside a segment unless `may_be_cut`.
JobId AddWaiting(MovingCase& c, const std::string& name, int hosts, bool may_be_cut = false);

struct MovingLimits {
  int segments = 4;
  int hosts = 6;  // of a segment, the backup host included
  int running = 8;
  bool whole_hosts = false;  // no gang of parts of hosts
  bool one_segment = false;  // waiting gangs stay inside a segment
};
// Gangs cut anywhere, some of which may not move, on two segments and more.
MovingCase RandomMoves(Random& random, const MovingLimits& limits);

// Everything wrong with the moves, found host by host and without the planner or the verifier: a
// gang that may not move, or moves twice; hosts that are not free at that time; an answer that adds
// up to something else. Empty: nothing.
std::string FaultsOf(const MovingCase& c, const Rebalancing& answer);

}  // namespace yardmaster::plan
