// FlowPlanner plans one flow, given the flows planned before: its NIC port, its path and its source
// port.
//
// Choice, in this order:
//
//   1. the NIC port (plane) with the least load;
//   2. the least loaded first link; of equal ones, the one whose forced continuation is least
//      loaded;
//   3. the first source port, in the order of a walk, that leads to that link. If later switches
//      choose, too, the best of a bounded number of such ports is used. If they do not, the path
//      follows from the first link, which flows between the same two ToRs share, and no other
//      switch is evaluated.
//
// Complexity: O(group + ports walked) per flow. Lifetimes: model and ledger outlive the planner,
// which reads the ledger and never writes to it. Thread safety: one thread (it caches).
// Deterministic.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_plan.h"
#include "pkg/repac/plan_ledger.h"

namespace yardmaster::repac {

class FlowPlanner {
 public:
  // `candidates`: maximum number of ports tried for later links, if those are hashed, too.
  FlowPlanner(const ForwardingModel& forwarding, const PlanLedger& ledger, int candidates)
      : forwarding_(forwarding),
        network_(forwarding.network()),
        ledger_(ledger),
        candidates_(candidates) {}

  // Gives the flow the best port, or a reason if none is suitable. PlanFresh, PlanAlong and PlanBy
  // do not add the flow to the ledger.
  void PlanFresh(PlannedFlow& flow);
  // Gives the flow these links (those after the source NIC's), with any free port. If only the
  // first is given, the others are the least loaded of those tried (any, if the group of the source
  // ToR has LAGs or presets).
  bool PlanAlong(PlannedFlow& flow, const NicPort& src, std::span<const LinkId> links);
  // Gives the flow this port if it is free and its path is complete and allowed. PlanBy and
  // PlanAlong return false and set flow.reason if they fail.
  bool PlanBy(PlannedFlow& flow, const NicPort& src, std::uint16_t port);
  // Finds a port that avoids all links between switches of the flow's path.
  void FindAlternate(PlannedFlow& flow);
  bool AlternateWorks(const PlannedFlow& flow);
  // Returns the links of a packet, the source NIC's first; empty if it does not arrive or cannot be
  // predicted. REQUIRES: ports of one plane.
  LinkPath PathOf(const NicPort& src, const NicPort& dst, std::uint16_t port);

 private:
  // Links that a path may not use.
  using ForbiddenLinks = std::span<const LinkId>;
  // The cost of a path after its first link: the fullest link, then the sum.
  struct TailCost {
    double fullest = 0;
    double sum = 0;
    bool operator<(const TailCost& other) const {
      return fullest != other.fullest ? fullest < other.fullest : sum < other.sum;
    }
  };
  // The links that follow each slot of a group until a switch chooses again or the destination's
  // ToR is reached.
  struct Tail {
    std::size_t begin = 0;  // in Tails::links
    std::size_t end = 0;
    bool chosen = false;  // a later switch has a choice
    SwitchId tor;         // if not: the destination's ToR; invalid: the slot's link ends at the NIC
  };
  struct Tails {
    std::vector<LinkId> links;
    std::vector<Tail> slots;
    std::span<const LinkId> Of(const Tail& tail) const {
      return std::span(links).subspan(tail.begin, tail.end - tail.begin);
    }
  };
  using Ranked = absl::InlinedVector<std::pair<double, NicPort>, 4>;

  bool Forbidden(LinkId link, ForbiddenLinks forbidden) const;
  Ranked SourcePorts(const PlannedFlow& flow) const;
  const Tails& TailsOf(const Group& group, const NicPort& dst);
  LinkId FirstLink(const Group& group, std::size_t slot) const;
  std::optional<TailCost> CostOfTail(const Tails& tails, const Tail& tail,
                                     ForbiddenLinks forbidden) const;
  // Sets wanted_ and tried_ for the best of the slots that are not set in tried_. Returns false if
  // there is none.
  bool NextSlots(const Group& group, const Tails& tails, ForbiddenLinks forbidden);
  bool PlanFrom(PlannedFlow& flow, const NicPort& src, ForbiddenLinks forbidden);
  // Gives the flow the best port that leads to a slot set in wanted_. REQUIRES:
  // group.predictable(), and the addresses of both NICs are known.
  bool ChooseSlots(PlannedFlow& flow, const NicPort& src, const Group& group, const Tails& tails,
                   ForbiddenLinks forbidden);
  // Returns the links of a path from `src` over the slot; empty if a later switch has a choice.
  LinkPath PathOver(const Group& group, const Tails& tails, std::size_t slot, const NicPort& src,
                    const NicPort& dst) const;
  std::optional<TailCost> CostOf(std::span<const LinkId> links, ForbiddenLinks forbidden) const;
  NicPort DestinationPortInPlane(const NicPort& src, const PlannedFlow& flow) const;
  // Whether the path of a port follows from `group`, the one at the ToR of `src`, and only its hash
  // chooses there.
  bool FirstHopDeterminesPath(const Group& group, const NicPort& src, const NicPort& dst) const;

  const ForwardingModel& forwarding_;
  const fabric::Network& network_;
  const PlanLedger& ledger_;
  int candidates_;
  absl::flat_hash_map<const Group*, Tails> tails_;
  // By slot of the group in which a path is searched.
  std::vector<char> tried_;
  std::vector<char> wanted_;
  std::vector<std::size_t> best_;
};

}  // namespace yardmaster::repac
