// A random history of TrainingJobs under one operator, with and without its being killed.
//
// What happens in step i is drawn from a generator of that step, and after each step all of them
// work until nothing changes any more. So the state after a step is a function of the seed alone if
// an operator that is killed at any write leaves nothing undone, does nothing twice, and records
// what the one before it saw. The fates of writes are drawn from another generator: a history with
// kills and one without have the same steps. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yardmaster::chaos {

struct JobHistoryOptions {
  std::uint64_t seed = 1;
  int steps = 60;
  // Kills in one step at most; after them the operator is left alone until the next step. 0: no
  // operator is killed and no answer is lost.
  int kills_per_step = 0;
  bool place_first = true;  // pods are made once their job has a place
};

struct JobHistoryResult {
  std::vector<std::string> told;      // what each step did
  std::vector<std::string> pictures;  // what there was after each, without times and uids; JSON
  std::string failure;  // it does not come to rest, or a job does not succeed; empty: neither
  int kills = 0;
  int lost_answers = 0;  // of writes that took effect, where the process lived on
  int jobs = 0;
};

JobHistoryResult RunJobHistory(const JobHistoryOptions& options);

// The first step after which the two differ, and how; empty: they never do.
std::string FirstDifference(const JobHistoryResult& undisturbed, const JobHistoryResult& killed);

}  // namespace yardmaster::chaos
