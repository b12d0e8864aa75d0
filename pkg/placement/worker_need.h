// What a worker of one job takes of a host, and how many of them fit there by every resource.
//
// Resources are counted as kube-scheduler counts them: a worker fits when, for GPUs and for every
// resource that it asks for and that has a column, what is free is at least what it asks for. A
// gang whose workers are alike therefore sees one number per host, which is all that the solver
// needs.
//
// Complexity: O(resources) for each host. Thread safety: values; functions that take a Cluster&
// change it.
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
  // Only for clusters with the columns of this one. Of workers that differ: the most of each.
  WorkerNeed(const Cluster& cluster, const workload::Job& job)
      : WorkerNeed(cluster, job.host_gpus_per_worker(), job.requests) {}
  WorkerNeed(const Cluster& cluster, int gpus, const workload::ResourceList& requests);

  struct Amount {
    std::size_t column = 0;  // of HostResources
    std::int64_t amount = 0;
  };
  int gpus() const { return gpus_; }

  // Workers that fit beside what is held there or, if `empty`, on the host without it; 1024 where a
  // worker asks for nothing that is counted.
  // Inline, since every gang asks it of every host.
  int RoomOn(const Cluster& cluster, fabric::HostId host, bool empty = false) const {
    const HostState& state = cluster.hosts[host.index()];
    const int gpus = empty ? state.gpus : state.free_gpus;
    if (gpus_ > 0 && gpus < gpus_) return 0;
    const int room = gpus_ > 0 ? gpus / gpus_ : kMaxRoom;
    return amounts_.empty() ? room : RoomByAmounts(cluster, host, empty, room);
  }
  // The first resource besides GPUs of which less is free, or there in all, than one worker
  // requests.
  std::optional<Amount> ShortOf(const Cluster& cluster, fabric::HostId host, bool empty) const;

  void Take(Cluster& cluster, fabric::HostId host) const;
  // What is free is never raised above what the host has.
  void Give(Cluster& cluster, fabric::HostId host) const;

 private:
  static constexpr int kMaxRoom = 1024;  // of workers that ask for nothing that is counted

  int RoomByAmounts(const Cluster& cluster, fabric::HostId host, bool empty, int at_most) const;

  int gpus_ = 0;
  std::vector<Amount> amounts_;  // above 0
};

// What each worker of a job takes. Only for clusters with the columns of the one given.
class NeedsByRank {
 public:
  NeedsByRank(const Cluster& cluster, const workload::Job& job);
  const WorkerNeed& of(int rank) const;

 private:
  std::vector<int> first_ranks_;   // of the roles
  std::vector<WorkerNeed> needs_;  // one for each role, at least one
};

// Everything of the host becomes free.
void EmptyHost(Cluster& cluster, fabric::HostId host);

// Moves a gang's occupation from `before` to `after`, each by rank. A rank that only `after` has is
// added, one that only `before` has is removed.
void MoveOccupation(Cluster& cluster, const workload::Job& job,
                    const std::vector<fabric::HostId>& before,
                    const std::vector<fabric::HostId>& after);
// Takes a gang off its hosts.
void ReleaseHosts(Cluster& cluster, const workload::Job& job,
                  const std::vector<fabric::HostId>& host_of_rank);

}  // namespace yardmaster::placement
