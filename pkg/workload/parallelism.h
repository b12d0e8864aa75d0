// How a job splits its model over GPUs, and which workers therefore talk to each other.
//
// GPUs are numbered worker by worker (GpuNumbers). The coordinates of a GPU rank follow `order`,
// leftmost fastest (Megatron-Core's tp-cp-ep-dp-pp by default). Expert parallelism lies inside data
// parallelism: the data axis of size dp is split into ep (size expert) and the rest (dp / expert),
// each at its own place in the order; with ep right before dp that is Megatron's layout.
//
//   tensor group   GPUs that differ only in tp, or only in cp, or only in ep (three families)
//   data group     GPUs that differ only in dp (ep included) and cp
//   stage          GPUs with equal pp
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/status.h"

namespace yardmaster::workload {

enum class Axis { kTensor, kContext, kExpert, kData, kPipeline };
using AxisOrder = std::array<Axis, 5>;
inline constexpr AxisOrder kMegatronOrder = {Axis::kTensor, Axis::kContext, Axis::kExpert,
                                             Axis::kData, Axis::kPipeline};

// The largest size of an axis.
inline constexpr int kMaxDegree = 1'000'000;

struct Parallelism {
  int tensor = 1;
  int context = 1;
  int expert = 1;  // divides data
  int data = 1;
  int pipeline = 1;
  int virtual_pipeline = 1;  // model chunks per stage; ranks stay the same
  AxisOrder order = kMegatronOrder;
  bool operator==(const Parallelism&) const = default;

  // GPUs; INT64_MAX where there are more.
  std::int64_t world() const {
    std::int64_t product = 1;
    for (const int size : {tensor, context, data, pipeline}) {
      if (__builtin_mul_overflow(product, size, &product)) {
        return std::numeric_limits<std::int64_t>::max();
      }
    }
    return product;
  }
};

// "tp-cp-ep-dp-pp" in any order; axes left out follow in Megatron's order. Errors: InvalidArgument.
absl::StatusOr<AxisOrder> ParseOrder(std::string_view text);
std::string FormatOrder(const AxisOrder& order);

// Errors name the field below `field` ("spec.parallelism"): a size that is not from 1 to
// kMaxDegree, expert that does not divide data, and a product tensor * context * data * pipeline
// that is not workers * gpus_per_worker.
absl::Status ValidateParallelism(const Parallelism& p, int workers, int gpus_per_worker,
                                 std::string_view field);
// The same against `gpus`, which the message calls `what`.
absl::Status ValidateParallelism(const Parallelism& p, std::int64_t gpus, std::string_view what,
                                 std::string_view field);

// Coordinates of one GPU rank.
struct Coordinates {
  int tensor = 0;
  int context = 0;
  int expert = 0;  // data mod Parallelism::expert
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

// Consecutive workers with the same number of GPUs, which may be 0.
struct WorkerRun {
  int workers = 0;
  int gpus = 0;  // of each
};

// On which worker each GPU of a job sits: worker 0 has the first GPU ranks, worker 1 the next ones.
// O(log runs) each.
class GpuNumbers {
 public:
  explicit GpuNumbers(const std::vector<WorkerRun>& runs);
  GpuNumbers(int workers, int gpus_per_worker)
      : GpuNumbers(std::vector<WorkerRun>{{workers, gpus_per_worker}}) {}

  int workers() const { return workers_; }
  std::int64_t world() const { return world_; }
  // REQUIRES: gpu < world.
  int WorkerOf(std::int64_t gpu) const {
    const Run& run = RunOf(gpu);
    return run.first_worker + static_cast<int>((gpu - run.first_gpu) / run.gpus);
  }
  // The GPU's place among those of its worker. REQUIRES: gpu < world.
  int PlaceOnWorker(std::int64_t gpu) const {
    const Run& run = RunOf(gpu);
    return static_cast<int>((gpu - run.first_gpu) % run.gpus);
  }

 private:
  struct Run {
    std::int64_t first_gpu = 0;
    int first_worker = 0;
    int gpus = 1;
  };
  const Run& RunOf(std::int64_t gpu) const;

  std::vector<Run> runs_;  // with GPUs
  int workers_ = 0;
  std::int64_t world_ = 0;
};

// A set of workers that exactly `count` groups of one family cover. Workers ascend.
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

// O(world * log world). REQUIRES: valid parallelism for as many GPUs. A worker without GPUs is in
// no group and no stage.
WorkerGroups GroupsOf(const Parallelism& p, const GpuNumbers& numbers);
WorkerGroups GroupsOf(const Parallelism& p, int workers, int gpus_per_worker);

}  // namespace yardmaster::workload
