// Decides when an elastic TrainingJob changes its size, and to which size.
//
//   smaller   at once, if it has more data groups than its spec allows; or once it has waited
//             shrinkAfterSeconds for a place or for the substitute of a lost rank: to the largest
//             size that fits now, with its own hosts counted as free
//   larger    once all workers have run for growAfterSeconds at its size: to the largest size that
//             fits, unless another gang waits for a place
//
// A change of size restarts the job, because ranks, stages and WORLD_SIZE depend on the size. Only
// a job whose workers form their group again by themselves grows in place, if new ranks fit beside
// the running ones. New ranks that have found no hosts after shrinkAfterSeconds are given up.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/elastic.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

struct ElasticView {
  api::ElasticPolicy policy;
  std::vector<int> sizes;  // api::SizesOf
  int data = 0;            // its present size, in data groups
  std::int64_t changed_ms = 0;
  // How long it has waited for a place or a substitute; nullopt: it does not wait.
  std::optional<std::int64_t> waiting_ms;
  std::int64_t running_ms = 0;  // how long all workers have run; 0: they do not
  bool joins = false;           // its workers form their group again by themselves
  int growing_from = 0;         // the size that runs while it grows in place; 0: it does not grow
  bool awaits_room = false;     // while it grows: new ranks have no hosts
  std::int64_t now_ms = 0;
};

// Returns the largest of `sizes` (ascending) that fits; 0 if none does.
using LargestFit = std::function<int(const std::vector<int>& sizes)>;

struct SizeDecision {
  int target = 0;  // 0: no change
  std::string why;
  std::optional<std::int64_t> look_again_ms;
  bool in_place = false;  // no running worker restarts
};

// Decides the size. Calls `shrink_fit`, `grow_fit`, and `join_fit` (what fits beside the running
// ranks) only if the result decides.
SizeDecision DecideSize(const ElasticView& view, const LargestFit& shrink_fit,
                        const LargestFit& grow_fit, const LargestFit& join_fit);

// Returns the largest of `sizes` at which the job fits if its own hosts are free; 0 if none does.
// Binary search: assumes that a size fits if a larger one does. A placement for the returned size
// was found.
int LargestSizeThatFits(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                        const std::vector<int>& sizes);
// Returns the largest of `sizes` to which the placed job can grow without moving a rank; 0 if none.
int LargestGrowthInPlace(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                         const std::vector<int>& sizes);
// True if another job of the snapshot waits for a place.
bool OthersWait(const plan::Snapshot& snapshot, plan::JobId id);

}  // namespace yardmaster::op
