// Names the holders of the hosts that a gang does not get, in the message of the reason
// HostsOccupied.
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

// A job and its hosts.
struct HoldingJob {
  JobId job;
  const std::vector<fabric::HostId>* host_of_rank = nullptr;  // never null
};

// Returns the placed jobs of a snapshot. The result points into the snapshot.
std::vector<HoldingJob> HoldingJobs(const Snapshot& snapshot);

// The holders of all hosts, maintained while a queue is planned. Lifetimes: the snapshot outlives
// the object.
class HostHolders {
 public:
  // O(hosts).
  explicit HostHolders(const Snapshot& snapshot);
  // Adds a job with hosts. O(ranks log ranks).
  void Add(const HoldingJob& job);
  // Writes the holders of gang.occupied into the message of the reason HostsOccupied, and clears
  // the list: "8 hosts held by TrainingJob default/bert (running, priority 0) and 3 by 3 ordinary
  // pods (priority 0: default/a, default/b and 1 more), which no gang stops". A host with several
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

// Does the same for these jobs, for one gang.
void NameHolders(const Snapshot& snapshot, const std::vector<HoldingJob>& jobs,
                 placement::GangPlan& gang);

}  // namespace yardmaster::plan
