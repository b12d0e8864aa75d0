// When an elastic TrainingJob changes its size, and to which.
//   smaller  immediately when it has more data groups than allowed or wanted; and when it has
//            waited shrinkAfterSeconds for a place or for the substitute of a lost rank, to the
//            largest size that fits now, its own hosts counted as free
//   larger   when it has run in full for growAfterSeconds at its size, to the largest size that
//            fits, unless another gang waits for a place
// A change of size restarts the job: its ranks, their stages and WORLD_SIZE all follow from it.
// Only a job whose workers form their group again by themselves grows in place where new ranks fit
// beside those that run; new ranks that have found no room after shrinkAfterSeconds are given up.
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
  int data = 0;            // the size that it has
  std::int64_t changed_ms = 0;
  // How long it has waited for a place or a substitute; nothing: it does not wait.
  std::optional<std::int64_t> waiting_ms;
  std::int64_t running_ms = 0;  // in full; 0: it does not
  bool joins = false;           // its workers form their group again by themselves
  int growing_from = 0;         // the size that runs while it grows in place; 0: it does not
  bool awaits_room = false;     // of a job that grows: new ranks have no hosts
  std::int64_t now_ms = 0;
};

// The largest of `sizes` (ascending) that fits; 0: none does.
using LargestFit = std::function<int(const std::vector<int>& sizes)>;

struct SizeDecision {
  int target = 0;  // 0: it stays as it is
  std::string why;
  std::optional<std::int64_t> look_again_ms;
  bool in_place = false;  // no worker that runs restarts
};

// `shrink_fit`, `grow_fit`, and `join_fit` for what fits beside the ranks that run: asked only
// where the answer decides.
SizeDecision DecideSize(const ElasticView& view, const LargestFit& shrink_fit,
                        const LargestFit& grow_fit, const LargestFit& join_fit);

// The largest of `sizes` at which the job `id` of the snapshot fits with its own hosts free; 0:
// none. Assumes that a size fits where a larger one does. A placement of the returned size was
// found.
int LargestSizeThatFits(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                        const std::vector<int>& sizes);
// The largest of `sizes` to which the placed job can grow without moving a rank; 0: none.
int LargestGrowthInPlace(const plan::Snapshot& snapshot, plan::JobId id, const api::JobSpec& spec,
                         const std::vector<int>& sizes);
// Another job of the snapshot waits for a place.
bool OthersWait(const plan::Snapshot& snapshot, plan::JobId id);

}  // namespace yardmaster::op
