// Predicts what a place costs in contention: the FLOP/s that a new job and the jobs with which it
// would share uplinks reach, by Crux on a coarse model of the network.
//
// Model: two links per segment, one per direction, each standing for all its uplinks together,
// because Crux spreads flows evenly over them. If uplinks are sprayed, those that are down are left
// out. A job is one ring over the segments of its hosts: in each stage the hosts pass data on in
// rank order, and pairs of ranks of neighbouring stages exchange activations. Jobs inside one
// segment are not in the model. Priorities and levels are those of production (crux/decide.h,
// without a search); rates are those of crux::PredictedShares.
//
// A job loses by being cut even without other jobs (LostGpus): inside one segment its transfers
// take as long as its NIC ports need, between segments as long as the uplinks need. Where switches
// hash, the flow of a port stands on one uplink, which may be narrower than the port. The model
// leaves out that flows of one job collide on an uplink.
//
// Complexity: the model is O(ranks of all placed jobs); a question is O(jobs nearby * links they
// use). Deterministic. Thread safety: const methods from any thread, Add from one. Lifetimes: the
// snapshot outlives the object. REQUIRES: snapshot.network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct PlaceCost {
  double gained_flop_rate =
      0;  // FLOP/s of all affected jobs with the new one, minus those without it
  double lone_flop_rate = 0;  // FLOP/s of the new job on an empty network
  // The job that loses most to the new one; if none loses, one to which the new job loses; else
  // invalid.
  JobId worst_job;
};

class ContentionCost {
 public:
  explicit ContentionCost(const Snapshot& snapshot);

  // Adds a job that was placed, by this plan or earlier.
  void Add(JobId job, const std::vector<fabric::HostId>& host_of_rank);

  // Returns the share of time for which the fuller direction of each segment's uplinks is busy, by
  // SegmentId.
  std::vector<double> BusyUplinks() const;
  // The same, with each job's part weighted by its FLOP/s.
  std::vector<double> FlopAtStake() const;

  // Returns the GPUs whose work the placed jobs lose by being cut and to each other: for each job
  // its GPUs times the share of its pace inside one segment that it does not reach.
  double LostGpus() const;

  // Returns the cost of a place. nullopt: the job would send nothing between segments, or its FLOP
  // or compute time is unknown.
  std::optional<PlaceCost> Of(JobId job, const std::vector<fabric::HostId>& host_of_rank) const;

 private:
  struct Placed {
    JobId job;
    crux::ContendingJob traffic;  // one flow per pair of segments
    double nic_seconds = 0;       // of an iteration's transfers inside one segment
    double uplink_seconds = 0;    // of one port's flow on one uplink; 0 where uplinks are sprayed
  };
  std::optional<Placed> TrafficOf(JobId job, const std::vector<fabric::HostId>& host_of_rank) const;
  // Predicted FLOP/s of each job.
  std::vector<double> Rates(const std::vector<const crux::ContendingJob*>& jobs) const;
  std::vector<double> Weighted(bool by_flop) const;

  const Snapshot& snapshot_;
  std::vector<crux::Link> links_;  // 2 s: out of segment s; 2 s + 1: into it
  std::vector<Placed> placed_;
  std::vector<std::vector<int>> of_segment_;  // into placed_
};

// The choice among places that are equal except for contention, and its explanation.
struct PlaceChoice {
  std::size_t chosen = 0;
  std::string note;  // "segment p0s3 rather than p0s1: 4.0 % less lost to contention with a/bert"
};

// Returns the candidate with the highest predicted FLOP/s; but the first candidate, unless another
// one gains more than `min_gain` of the job's own FLOP/s. REQUIRES: at least one candidate.
PlaceChoice ChoosePlace(const Snapshot& snapshot, const ContentionCost& cost, JobId job,
                        const std::vector<std::vector<fabric::HostId>>& candidates,
                        double min_gain = 0.005);

}  // namespace yardmaster::plan
