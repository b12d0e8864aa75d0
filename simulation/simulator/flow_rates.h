// The flows of a simulation and the rates at which they move: strict and preemptive levels, max-min
// fairness inside a level (fair_share.h).
//
// When a flow starts or ends only what it can reach is divided again: flows of its own level or
// lower on its links, the flows of their levels or lower on theirs, and so on. Changes are
// collected until Divide, so the order in which they were made does not matter.
//
// Invariants, checked by CheckRates: no link carries more than its capacity; no flow could get more
// without taking from one of its own or a higher level. Rates are bytes per second, times seconds.
// Deterministic. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pkg/base/ids.h"
#include "pkg/base/status.h"
#include "simulation/simulator/fair_share.h"

namespace yardmaster::sim {

// Index into the flows of a FlowRates.
using FlowId = Id<struct FlowTag>;

struct MovingFlow {
  std::vector<std::int32_t> links;
  std::vector<double> uses;  // what of the rate each link carries; empty: all of it
  std::int32_t level = 0;
  bool active = false;
  double remaining = 0;  // bytes, at `updated`
  double delivered = 0;
  double rate = 0;
  double updated = 0;
  std::uint32_t version = 0;  // changes with the rate: what was said about its end before is void
};

class FlowRates {
 public:
  explicit FlowRates(const std::vector<double>& link_gbps);

  // An inactive flow. Ids count up.
  FlowId Add(MovingFlow flow);
  const MovingFlow& flow(FlowId id) const { return flows_[id.index()]; }
  std::size_t size() const { return flows_.size(); }
  // Bytes delivered until `now`.
  double Delivered(FlowId id, double now) const;

  void Start(FlowId id, double bytes, double now);
  // Its bytes are all delivered.
  void Finish(FlowId id, double now);
  // Divides bandwidth again among what changes since the last call can reach. Returns the flows
  // that have another rate than before, in no meaningful order, but for those that stand still.
  const std::vector<FlowId>& Divide(double now);

  // True while changes wait for Divide; rates are then those from before.
  bool changed() const { return !reached_.empty(); }
  // The invariants above, verified from scratch. REQUIRES: !changed().
  absl::Status CheckRates() const;

 private:
  // What Reach and OfferCapacity look at for each flow of each link, apart from the rest.
  struct Tag {
    std::uint64_t mark = 0;
    std::int32_t level = 0;
  };
  struct Active {
    FlowId id;
    double use = 1;  // what of its rate the link carries
  };
  // Reach has found all flows of a link up to a level.
  struct Reached {
    std::uint64_t mark = 0;
    std::int32_t level = 0;
  };

  MovingFlow& at(FlowId id) { return flows_[id.index()]; }
  static void UpdateRates(MovingFlow& flow, double now);
  void SetRate(FlowId id, double rate, double now);
  void Reach(std::span<const std::int32_t> links, std::int32_t level);
  // What is left on the links of dividing_ by flows that keep their rate.
  void OfferCapacity();
  absl::Status CheckBottleneck(FlowId id) const;

  std::vector<double> capacity_;                // bytes per second
  std::vector<std::vector<Active>> active_on_;  // per link
  std::vector<Reached> reached_on_;             // per link
  std::vector<MovingFlow> flows_;
  std::vector<Tag> tags_;  // by FlowId
  FairShare share_;
  std::vector<FlowId> reached_;  // to be divided again
  std::vector<FlowId> dividing_;
  std::vector<FlowId> other_rate_;
  std::vector<ShareFlow> shares_;
  std::vector<std::uint64_t> link_mark_;
  std::uint64_t mark_ = 1;
};

}  // namespace yardmaster::sim
