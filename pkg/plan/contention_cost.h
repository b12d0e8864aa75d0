// What a place costs in contention: the FLOP/s that a new job and the jobs it would share uplinks
// with are predicted to reach, by Crux on a coarse model of the network.
//
// The coarse model has two links per segment, all its uplinks together in either direction, since
// Crux spreads flows evenly over them; where they are sprayed, without those that are down. A job
// is one ring over the segments that its hosts stand in: in each stage the hosts pass data on in
// rank order, and pairs of ranks of neighbouring stages exchange activations. Jobs inside one
// segment are not in it. Priorities and levels are those of production (crux/decide.h, without a
// search), rates those of crux::PredictedShares.
//
// Complexity: the model O(ranks of all placed jobs), a question O(jobs near by * links they use).
// Deterministic. Thread safety: const methods from any thread, Add by one thread.
// Lifetimes: the snapshot outlives it. REQUIRES: snapshot.network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct PlaceCost {
  double gained_flop_rate = 0;  // of all jobs concerned, with the new one against without it
  double lone_flop_rate = 0;    // of the new job on an empty network
  // The job that loses most to the new one; if none loses, one that the new job loses to. Else
  // invalid.
  JobId worst_job;
};

class ContentionCost {
 public:
  explicit ContentionCost(const Snapshot& snapshot);

  // A job was placed, by this plan or before.
  void Add(JobId job, const std::vector<fabric::HostId>& host_of_rank);

  // Share of time that the fuller direction of each segment's uplinks is busy, by SegmentId.
  std::vector<double> BusyUplinks() const;
  // The same, each job's part weighted with its FLOP/s: what is at stake on a segment's uplinks.
  std::vector<double> FlopAtStake() const;

  // GPUs whose work the placed jobs are predicted to lose to each other: of each job its GPUs times
  // the share of its pace alone that it does not reach.
  double LostGpus() const;

  // nullopt: the job would send nothing between segments, or its FLOP or compute time is unknown.
  std::optional<PlaceCost> Of(JobId job, const std::vector<fabric::HostId>& host_of_rank) const;

 private:
  struct Placed {
    JobId job;
    crux::ContendingJob traffic;  // one flow per pair of segments
  };
  std::optional<crux::ContendingJob> TrafficOf(
      JobId job, const std::vector<fabric::HostId>& host_of_rank) const;
  // Predicted FLOP/s of each job.
  std::vector<double> Rates(const std::vector<const crux::ContendingJob*>& jobs) const;
  std::vector<double> Weighted(bool by_flop) const;

  const Snapshot& snapshot_;
  std::vector<crux::Link> links_;  // 2 s: out of segment s; 2 s + 1: into it
  std::vector<Placed> placed_;
  std::vector<std::vector<int>> of_segment_;  // into placed_
};

// Places equally good by everything but contention; the answer to "why here".
struct PlaceChoice {
  std::size_t chosen = 0;
  std::string note;  // "segment p0s3 rather than p0s1: 4.0 % less lost to contention with a/bert"
};

// The candidate with the highest predicted FLOP/s; the first unless another one gains more than
// `min_gain` of the job's own FLOP/s. REQUIRES: at least one candidate.
PlaceChoice ChoosePlace(const Snapshot& snapshot, const ContentionCost& cost, JobId job,
                        const std::vector<std::vector<fabric::HostId>>& candidates,
                        double min_gain = 0.005);

}  // namespace yardmaster::plan
