// Computes what a worker of one job takes of a host, and how many workers fit there by every
// resource.
//
// Resources count as in kube-scheduler: a worker fits if the free amount of GPUs, and of every
// resource that it requests and that has a column, is at least its request. So for a gang of equal
// workers a host is one number, which is all that the solver needs.
//
// Complexity: O(resources) for each host. Thread safety: values; functions that take a Cluster&
// modify it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/workload/job.h"

namespace yardmaster::placement {

class WorkerNeed {
 public:
  // Valid for clusters with the columns of `cluster`. If workers differ: the maximum of each
  // resource.
  WorkerNeed(const Cluster& cluster, const workload::Job& job)
      : WorkerNeed(cluster, job.host_gpus_per_worker(), job.requests) {}
  WorkerNeed(const Cluster& cluster, int gpus, const workload::ResourceList& requests);

  struct Amount {
    std::size_t column = 0;  // of HostResources
    std::int64_t amount = 0;
  };
  int gpus() const { return gpus_; }

  // Returns how many workers fit in addition to what is held or, if `empty`, on the empty host;
  // 1024 if a worker requests nothing that is counted. Inline, because every gang calls it for
  // every host.
  int RoomOn(const Cluster& cluster, fabric::HostId host, bool empty = false) const {
    const HostState& state = cluster.hosts[host.index()];
    const int gpus = empty ? state.gpus : state.free_gpus;
    if (gpus_ > 0 && gpus < gpus_) return 0;
    const int room = gpus_ > 0 ? gpus / gpus_ : kMaxRoom;
    return amounts_.empty() ? room : RoomByAmounts(cluster, host, empty, room);
  }
  // Returns the first resource other than GPUs of which the free amount or, if `empty`, the total
  // is less than one worker requests.
  std::optional<Amount> ShortOf(const Cluster& cluster, fabric::HostId host, bool empty) const;

  void Take(Cluster& cluster, fabric::HostId host) const;
  // Never raises the free amount above the total of the host.
  void Give(Cluster& cluster, fabric::HostId host) const;

 private:
  static constexpr int kMaxRoom = 1024;  // of workers that ask for nothing that is counted

  int RoomByAmounts(const Cluster& cluster, fabric::HostId host, bool empty, int at_most) const;

  int gpus_ = 0;
  std::vector<Amount> amounts_;  // above 0
};

// The needs of each worker of a job. Valid for clusters with the columns of the given one.
class NeedsByRank {
 public:
  NeedsByRank(const Cluster& cluster, const workload::Job& job);
  const WorkerNeed& of(int rank) const;

 private:
  std::vector<int> first_ranks_;   // of the roles
  std::vector<WorkerNeed> needs_;  // one for each role, at least one
};

// Frees everything on the host.
void EmptyHost(Cluster& cluster, fabric::HostId host);

// Moves a gang's occupation from `before` to `after`, each by rank. A rank that only `after` has is
// added, one that only `before` has is removed.
void MoveOccupation(Cluster& cluster, const workload::Job& job,
                    const std::vector<fabric::HostId>& before,
                    const std::vector<fabric::HostId>& after);
// Frees the hosts of a gang.
void ReleaseHosts(Cluster& cluster, const workload::Job& job,
                  const std::vector<fabric::HostId>& host_of_rank);

}  // namespace yardmaster::placement
