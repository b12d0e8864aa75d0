// A random history of moves of running TrainingJobs: two extenders of which one leads, an operator,
// and a cluster in which hosts are lost and workers fail. Processes are killed at any write, lose
// answers, are cut off, and send writes that arrive late; people ask for moves to any hosts.
//
// After every step what the API server holds is checked apart from the code that keeps it: no host
// is promised to two gangs, next hosts included; no gang has a part of a place; every pod that may
// run is where its gang has its rank, or is on its way out; no two pods run on one host. Between
// two moves all are left in peace, and every job has to run in full again. Thread safety: pure
// function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yardmaster::chaos {

struct MoveHistoryOptions {
  std::uint64_t seed = 1;
  int moves = 20;  // that are asked for
  int steps = 60;  // of each
};

struct MoveHistoryResult {
  std::vector<std::string> told;
  std::string failure;  // the first promise that did not hold; empty: all did
  int done = 0;         // moves, by how they ended
  int refused = 0;
  int abandoned = 0;
  int kills = 0;
  int lost_answers = 0;
};

MoveHistoryResult RunMoveHistory(const MoveHistoryOptions& options);

}  // namespace yardmaster::chaos
