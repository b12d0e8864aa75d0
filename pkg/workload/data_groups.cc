#include "pkg/workload/data_groups.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace yardmaster::workload {

namespace {

// Disjoint sets of workers; the root of each is its lowest.
class WorkerSets {
 public:
  explicit WorkerSets(int workers) : parent_(static_cast<std::size_t>(workers)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int RootOf(int worker) {
    while (Parent(worker) != worker) {
      Parent(worker) = Parent(Parent(worker));
      worker = Parent(worker);
    }
    return worker;
  }
  void Join(int a, int b) {
    const auto [low, high] = std::minmax({RootOf(a), RootOf(b)});  // by value
    Parent(high) = low;
  }

 private:
  int& Parent(int worker) { return parent_[static_cast<std::size_t>(worker)]; }

  std::vector<int> parent_;
};

}  // namespace

std::vector<int> DataGroupOfWorker(const Parallelism& p, int workers, int gpus_per_worker) {
  const RankLayout layout(p);
  const int replicas = p.data / p.expert;
  WorkerSets sets(workers);
  std::vector<int> first_worker(static_cast<std::size_t>(replicas), -1);
  for (std::int64_t gpu = 0; gpu < p.world(); ++gpu) {
    const int worker = static_cast<int>(gpu / gpus_per_worker);
    int& first = first_worker[static_cast<std::size_t>(layout.At(gpu).data / p.expert)];
    if (first < 0) first = worker;
    sets.Join(first, worker);
  }
  std::vector<int> group_of_worker(static_cast<std::size_t>(workers), 0);
  int groups = 0;
  for (int worker = 0; worker < workers; ++worker) {
    const int root = sets.RootOf(worker);
    group_of_worker[static_cast<std::size_t>(worker)] =
        root == worker ? groups++ : group_of_worker[static_cast<std::size_t>(root)];
  }
  if (groups < 2) group_of_worker.clear();
  return group_of_worker;
}

std::vector<int> WithDataGroups(const std::vector<int>& ranks,
                                const std::vector<int>& group_of_rank) {
  const int grouped = static_cast<int>(group_of_rank.size());
  std::vector<bool> concerned(group_of_rank.size(), false);
  for (const int rank : ranks) {
    if (rank < grouped) {
      const int group = group_of_rank[static_cast<std::size_t>(rank)];
      concerned[static_cast<std::size_t>(group)] = true;
    }
  }
  std::vector<int> all;
  for (int rank = 0; rank < grouped; ++rank) {
    const int group = group_of_rank[static_cast<std::size_t>(rank)];
    if (concerned[static_cast<std::size_t>(group)]) all.push_back(rank);
  }
  for (const int rank : ranks) {
    if (rank >= grouped) all.push_back(rank);
  }
  return all;
}

}  // namespace yardmaster::workload
