// How a job splits its model over GPUs, and which workers therefore talk to each other.
//
// GPU rank g sits on worker g div gpus_per_worker. Its coordinates follow `order`, leftmost fastest
// (Megatron-Core's tp-cp-ep-dp-pp by default). Expert parallelism lies inside data parallelism: the
// data axis of size dp is split into ep (size expert) and the rest (dp / expert), each at its own
// place in the order; with ep right before dp that is Megatron's layout.
//
//   tensor group   GPUs that differ only in tp, or only in cp, or only in ep (three families)
//   data group     GPUs that differ only in dp (ep included) and cp
//   stage          GPUs with equal pp
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/status.h"

namespace yardmaster::workload {

enum class Axis { kTensor, kContext, kExpert, kData, kPipeline };
using AxisOrder = std::array<Axis, 5>;
inline constexpr AxisOrder kMegatronOrder = {Axis::kTensor, Axis::kContext, Axis::kExpert,
                                             Axis::kData, Axis::kPipeline};

struct Parallelism {
  int tensor = 1;
  int context = 1;
  int expert = 1;  // divides data
  int data = 1;
  int pipeline = 1;
  int virtual_pipeline = 1;  // model chunks per stage; ranks stay the same
  AxisOrder order = kMegatronOrder;
  bool operator==(const Parallelism&) const = default;

  std::int64_t world() const { return std::int64_t{1} * tensor * context * data * pipeline; }
};

// "tp-cp-ep-dp-pp" in any order; axes left out follow in Megatron's order. Errors: InvalidArgument.
absl::StatusOr<AxisOrder> ParseOrder(std::string_view text);
std::string FormatOrder(const AxisOrder& order);

// Errors name the field below `field` ("spec.parallelism"): sizes below 1, expert that does not
// divide data, and a product tensor * context * data * pipeline that is not workers *
// gpus_per_worker.
absl::Status ValidateParallelism(const Parallelism& p, int workers, int gpus_per_worker,
                                 std::string_view field);

// Coordinates of one GPU rank.
struct Coordinates {
  int tensor = 0;
  int context = 0;
  int expert = 0;  // data mod expert's share
  int data = 0;    // 0 .. dp-1, expert included
  int pipeline = 0;
};

// Rank <-> coordinates. REQUIRES: valid parallelism, rank < world.
class RankLayout {
 public:
  explicit RankLayout(const Parallelism& p);
  Coordinates At(std::int64_t rank) const;
  std::int64_t RankOf(const Coordinates& c) const;

 private:
  Parallelism p_;
  std::array<std::int64_t, 5> stride_{};  // by Axis
};

// Distinct sets of workers that `count` groups of one family cover. Workers ascend.
struct WorkerGroup {
  std::vector<int> workers;
  std::int64_t count = 1;
  bool operator==(const WorkerGroup&) const = default;
};

// A job as the planner sees it: workers and the groups between them. Groups inside one worker are
// left out, because placement cannot split them.
struct WorkerGroups {
  int workers = 0;
  std::vector<WorkerGroup> tensor;                 // tp groups
  std::vector<WorkerGroup> context;                // cp groups
  std::vector<WorkerGroup> expert;                 // ep groups
  std::vector<WorkerGroup> data;                   // dp x cp groups
  std::vector<std::vector<int>> stages_of_worker;  // per worker, ascending pp
  std::vector<std::vector<int>> workers_of_stage;  // per pp, ascending
};

// O(world). REQUIRES: valid parallelism for workers * gpus_per_worker GPUs.
WorkerGroups GroupsOf(const Parallelism& p, int workers, int gpus_per_worker);

}  // namespace yardmaster::workload
