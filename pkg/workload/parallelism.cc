#include "pkg/workload/parallelism.h"

#include <algorithm>
#include <map>

#include "pkg/base/strings.h"

namespace yardmaster::workload {

namespace {

constexpr std::string_view kAxisNames[] = {"tp", "cp", "ep", "dp", "pp"};

std::size_t Index(Axis axis) { return static_cast<std::size_t>(axis); }

std::array<std::int64_t, 5> AxisSizes(const Parallelism& p) {
  return {p.tensor, p.context, p.expert, p.data / p.expert, p.pipeline};
}

// Groups ranks by `key`, maps them to workers and counts equal sets; groups inside one worker
// vanish.
template <typename KeyOf>
std::vector<WorkerGroup> Collect(std::int64_t world, const GpuNumbers& numbers,
                                 std::int64_t num_keys, KeyOf key_of) {
  std::vector<std::vector<int>> by_key(static_cast<std::size_t>(num_keys));
  for (std::int64_t rank = 0; rank < world; ++rank) {
    std::vector<int>& workers = by_key[static_cast<std::size_t>(key_of(rank))];
    const int worker = numbers.WorkerOf(rank);
    if (workers.empty() || workers.back() != worker) workers.push_back(worker);
  }
  std::map<std::vector<int>, std::int64_t> counts;
  for (std::vector<int>& workers : by_key) {
    std::sort(workers.begin(), workers.end());
    workers.erase(std::unique(workers.begin(), workers.end()), workers.end());
    if (workers.size() > 1) ++counts[std::move(workers)];
  }
  std::vector<WorkerGroup> groups;
  groups.reserve(counts.size());
  for (auto& [workers, count] : counts) groups.push_back({workers, count});
  return groups;
}

}  // namespace

absl::StatusOr<AxisOrder> ParseOrder(std::string_view text) {
  std::vector<Axis> axes;
  for (const std::string& part : Split(text, '-')) {
    const auto* name = std::find(std::begin(kAxisNames), std::end(kAxisNames), part);
    const Axis axis = static_cast<Axis>(name - std::begin(kAxisNames));
    if (name == std::end(kAxisNames) || std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return absl::InvalidArgumentError(StrCat(
          "\"", text, "\" is not an order of axes; use each of tp, cp, ep, dp, pp once, fastest ",
          "first, for example tp-cp-ep-dp-pp"));
    }
    axes.push_back(axis);
  }
  for (Axis axis : kMegatronOrder) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  AxisOrder order{};
  std::copy(axes.begin(), axes.end(), order.begin());
  return order;
}

std::string FormatOrder(const AxisOrder& order) {
  std::string text;
  for (Axis axis : order) {
    if (!text.empty()) text += '-';
    text += kAxisNames[Index(axis)];
  }
  return text;
}

absl::Status ValidateParallelism(const Parallelism& p, int workers, int gpus_per_worker,
                                 std::string_view field) {
  return ValidateParallelism(p, std::int64_t{1} * workers * gpus_per_worker,
                             StrCat("workers*gpusPerWorker = ", workers, "*", gpus_per_worker),
                             field);
}

absl::Status ValidateParallelism(const Parallelism& p, std::int64_t gpus, std::string_view what,
                                 std::string_view field) {
  const std::pair<int, const char*> sizes[] = {
      {p.tensor, "tensor"}, {p.context, "context"},   {p.expert, "expert"},
      {p.data, "data"},     {p.pipeline, "pipeline"}, {p.virtual_pipeline, "virtualPipeline"}};
  for (const auto& [size, name] : sizes) {
    if (size < 1 || size > kMaxDegree) {
      return FieldError(StrCat(field, ".", name), StrCat("is ", size),
                        StrCat("give a number from 1 to ", kMaxDegree));
    }
  }
  if (p.data % p.expert != 0) {
    return FieldError(StrCat(field, ".expert"),
                      StrCat(p.expert, " does not divide data (", p.data, ")"),
                      "expert parallelism lies inside data parallelism; use a divisor of data");
  }
  if (p.world() != gpus) {
    return FieldError(field,
                      StrCat("tensor*context*data*pipeline = ", p.tensor, "*", p.context, "*",
                             p.data, "*", p.pipeline, " is not ", what, " = ", gpus),
                      "make the product equal");
  }
  return absl::OkStatus();
}

RankLayout::RankLayout(const Parallelism& p) : p_(p) {
  const auto sizes = AxisSizes(p);
  std::int64_t stride = 1;
  for (Axis axis : p.order) {
    stride_[Index(axis)] = stride;
    stride *= sizes[Index(axis)];
  }
}

Coordinates RankLayout::At(std::int64_t rank) const {
  const auto sizes = AxisSizes(p_);
  auto along = [&](Axis axis) {
    return static_cast<int>(rank / stride_[Index(axis)] % sizes[Index(axis)]);
  };
  Coordinates c;
  c.tensor = along(Axis::kTensor);
  c.context = along(Axis::kContext);
  c.expert = along(Axis::kExpert);
  c.data = along(Axis::kData) * p_.expert + c.expert;
  c.pipeline = along(Axis::kPipeline);
  return c;
}

std::int64_t RankLayout::RankOf(const Coordinates& c) const {
  return c.tensor * stride_[Index(Axis::kTensor)] + c.context * stride_[Index(Axis::kContext)] +
         c.data % p_.expert * stride_[Index(Axis::kExpert)] +
         c.data / p_.expert * stride_[Index(Axis::kData)] +
         c.pipeline * stride_[Index(Axis::kPipeline)];
}

GpuNumbers::GpuNumbers(const std::vector<WorkerRun>& runs) {
  for (const WorkerRun& run : runs) {
    if (run.gpus > 0 && run.workers > 0) runs_.push_back({world_, workers_, run.gpus});
    workers_ += run.workers;
    world_ += std::int64_t{1} * run.workers * run.gpus;
  }
}

const GpuNumbers::Run& GpuNumbers::RunOf(std::int64_t gpu) const {
  if (runs_.size() == 1) return runs_.front();
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), gpu,
                       [](std::int64_t value, const Run& run) { return value < run.first_gpu; });
  return *(after - 1);
}

WorkerGroups GroupsOf(const Parallelism& p, int workers, int gpus_per_worker) {
  return GroupsOf(p, GpuNumbers(workers, gpus_per_worker));
}

WorkerGroups GroupsOf(const Parallelism& p, const GpuNumbers& numbers) {
  WorkerGroups groups;
  groups.workers = numbers.workers();
  const RankLayout layout(p);
  const std::int64_t world = p.world();
  // The key of a group is the rank of its member whose varying coordinates are all zero.
  auto keyed = [&](auto zero) {
    return Collect(world, numbers, world, [&layout, zero](std::int64_t rank) {
      Coordinates c = layout.At(rank);
      zero(c);
      return layout.RankOf(c);
    });
  };
  if (p.tensor > 1) groups.tensor = keyed([](Coordinates& c) { c.tensor = 0; });
  if (p.context > 1) groups.context = keyed([](Coordinates& c) { c.context = 0; });
  if (p.expert > 1) {
    groups.expert = keyed([ep = p.expert](Coordinates& c) { c.data -= c.data % ep; });
  }
  if (p.data * p.context > 1) groups.data = keyed([](Coordinates& c) { c.data = c.context = 0; });

  groups.stages_of_worker.resize(static_cast<std::size_t>(groups.workers));
  groups.workers_of_stage.resize(static_cast<std::size_t>(p.pipeline));
  for (std::int64_t rank = 0; rank < world; ++rank) {
    const int worker = numbers.WorkerOf(rank);
    const int stage = layout.At(rank).pipeline;
    std::vector<int>& stages = groups.stages_of_worker[static_cast<std::size_t>(worker)];
    if (std::find(stages.begin(), stages.end(), stage) != stages.end()) continue;
    stages.push_back(stage);
    groups.workers_of_stage[static_cast<std::size_t>(stage)].push_back(worker);
  }
  for (auto& stages : groups.stages_of_worker) std::sort(stages.begin(), stages.end());
  return groups;
}

}  // namespace yardmaster::workload
