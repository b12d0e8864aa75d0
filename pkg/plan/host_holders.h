// Who has the hosts that a gang does not get: the reason HostsOccupied, by name.
//
// Deterministic: holders of more hosts first, then by name. Thread safety: values and pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// A job and the hosts that it has now.
struct HoldingJob {
  JobId job;
  const std::vector<fabric::HostId>* host_of_rank = nullptr;  // never null
};

// The placed jobs of a snapshot. They point into it.
std::vector<HoldingJob> HoldingJobs(const Snapshot& snapshot);

// The jobs that have the hosts, kept while a queue is planned. The snapshot outlives it.
class HostHolders {
 public:
  // O(hosts).
  explicit HostHolders(const Snapshot& snapshot);
  // Another job with hosts. O(ranks log ranks).
  void Add(const HoldingJob& job);
  // Writes who has gang.occupied into the message of the reason HostsOccupied, and empties the
  // list: "8 hosts held by TrainingJob default/bert (running, priority 0) and 3 by 3 ordinary pods
  // (priority 0: default/a, default/b and 1 more), which no gang stops". A host with several
  // holders counts for the one with the most GPUs there. O(occupied hosts).
  void Name(placement::GangPlan& gang) const;

 private:
  struct Share {
    JobId job;
    std::int64_t gpus = 0;
  };

  std::string TextOf(const std::vector<fabric::HostId>& hosts) const;

  const Snapshot* snapshot_;
  std::vector<Share> main_;  // by HostId: the job with the most GPUs there
};

// HostHolders of these jobs, once.
void NameHolders(const Snapshot& snapshot, const std::vector<HoldingJob>& jobs,
                 placement::GangPlan& gang);

}  // namespace yardmaster::plan
