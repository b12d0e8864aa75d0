// Plans one flow: its NIC port, its path and its source port, given what the other flows have taken.
//
// Choice, in this order: the NIC port (plane) that carries least; the least loaded first link;
// among equals the one whose forced continuation is least loaded; then a walk over source ports
// until one takes that link. Where later switches choose, too, the best of a bounded number of such
// ports is taken. Complexity: O(group + ports walked) a flow, about two microseconds in an HPN pod.
//
// Lifetimes: model and ledger must outlive the planner. The planner reads the ledger and never
// writes to it. Thread safety: none (it caches). Determinism: complete.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"
#include "pkg/repac/plan_ledger.h"

namespace yardmaster::repac {

class FlowPlanner {
 public:
  // `candidates`: ports tried for the links behind the first where those are hashed as well.
  FlowPlanner(const ForwardingModel& world, const PlanLedger& ledger, int candidates)
      : world_(world), network_(world.network()), ledger_(ledger), candidates_(candidates) {}

  // Gives the flow the best port, or the reason why none is suitable. This and the next
  // two calls leave it to the caller to add the flow to the ledger.
  void PlanFresh(PlannedFlow& flow);
  // Gives the flow exact links (those after the source NIC's) with any free port. Where only the
  // first is given, the others are the least loaded of those tried (any, if the source ToR's group
  // has LAGs or presets).
  bool PlanAlong(PlannedFlow& flow, const NicPort& src, std::span<const LinkId> links);
  // Gives the flow this port if it is free and its path is whole and allowed. This call and PlanAlong
  // return false, with flow.reason set, if they fail.
  bool PlanBy(PlannedFlow& flow, const NicPort& src, std::uint16_t port);
  // Finds a port that avoids all links between switches of the flow's path.
  void FindAlternate(PlannedFlow& flow);
  bool AlternateWorks(const PlannedFlow& flow) const;

 private:
  using Siblings = std::vector<LinkId>;
  // What a path costs behind its first link: the fullest link, then all together.
  struct TailCost {
    double fullest = 0;
    double sum = 0;
    bool operator<(const TailCost& other) const {
      return fullest != other.fullest ? fullest < other.fullest : sum < other.sum;
    }
  };
  // The links that must follow each slot of a group until something is chosen again or the
  // destination's ToR is reached.
  struct Tails {
    std::vector<LinkId> links;
    std::vector<int> begin;  // per slot, one more at the end
  };
  struct Slot {
    int index = 0;
    double load = 0;
    TailCost tail;
  };

  bool Forbidden(LinkId link, const Siblings& siblings) const;
  std::vector<std::pair<double, NicPort>> SourcePorts(const PlannedFlow& flow) const;
  const Tails& TailsOf(const Group& group, const NicPort& dst);
  LinkId FirstLink(const Group& group, std::size_t slot) const;
  std::optional<TailCost> TailOf(const Tails& tails, std::size_t slot,
                                 const Siblings& siblings) const;
  std::optional<Slot> BestSlot(const Group& group, const NicPort& dst, const Siblings& siblings,
                               const std::vector<char>& tried);
  // All slots as good as `best`.
  std::vector<char> EqualSlots(const Group& group, const NicPort& dst, const Siblings& siblings,
                               const Slot& best);
  bool PlanFrom(PlannedFlow& flow, const NicPort& src, const Siblings& siblings);
  // Takes the best port that leads into one of the flagged slots.
  bool TakeSlots(PlannedFlow& flow, const NicPort& src, const Group& group,
                 const std::vector<char>& slots, const Siblings& siblings);
  std::optional<TailCost> CostOf(std::span<const LinkId> links, const Siblings& siblings) const;
  NicPort PlaneTwin(const NicPort& src, const PlannedFlow& flow) const;

  const ForwardingModel& world_;
  const fabric::Network& network_;
  const PlanLedger& ledger_;
  int candidates_;
  absl::flat_hash_map<const Group*, Tails> tails_;
};

}  // namespace yardmaster::repac
