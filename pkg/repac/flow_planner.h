// Plans one flow: its NIC port, its path and its source port, given what the other flows have
// taken.
//
// Choice, in this order: the NIC port (plane) that carries least; the least loaded first link;
// among equals the one whose forced continuation is least loaded; then a walk over source ports
// until one takes that link. Where later switches choose, too, the best of a bounded number of such
// ports is taken. Where none does, the path of a port follows from its first link, which flows
// between the same two ToRs share, and no other switch is asked.
// Complexity: O(group + ports walked) a flow.
//
// Lifetimes: model and ledger must outlive the planner. The planner reads the ledger and never
// writes to it. Thread safety: none (it caches). Determinism: complete.
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
  // `candidates`: ports tried for the links behind the first where those are hashed as well.
  FlowPlanner(const ForwardingModel& forwarding, const PlanLedger& ledger, int candidates)
      : forwarding_(forwarding),
        network_(forwarding.network()),
        ledger_(ledger),
        candidates_(candidates) {}

  // Gives the flow the best port, or the reason why none is suitable. This and the next
  // two calls leave it to the caller to add the flow to the ledger.
  void PlanFresh(PlannedFlow& flow);
  // Gives the flow exact links (those after the source NIC's) with any free port. Where only the
  // first is given, the others are the least loaded of those tried (any, if the source ToR's group
  // has LAGs or presets).
  bool PlanAlong(PlannedFlow& flow, const NicPort& src, std::span<const LinkId> links);
  // Gives the flow this port if it is free and its path is whole and allowed. This call and
  // PlanAlong return false, with flow.reason set, if they fail.
  bool PlanBy(PlannedFlow& flow, const NicPort& src, std::uint16_t port);
  // Finds a port that avoids all links between switches of the flow's path.
  void FindAlternate(PlannedFlow& flow);
  bool AlternateWorks(const PlannedFlow& flow);
  // The links of a packet, the source NIC's first; none if it does not arrive or cannot be
  // predicted. REQUIRES: ports of one plane.
  LinkPath PathOf(const NicPort& src, const NicPort& dst, std::uint16_t port);

 private:
  // Links that a path may not have.
  using ForbiddenLinks = std::span<const LinkId>;
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
  struct Tail {
    std::size_t begin = 0;  // in Tails::links
    std::size_t end = 0;
    bool chosen = false;  // a switch behind has a choice
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
  // Flags in wanted_ the best of the slots that are not flagged in tried_, and flags them there.
  // False if there is none.
  bool NextSlots(const Group& group, const Tails& tails, ForbiddenLinks forbidden);
  bool PlanFrom(PlannedFlow& flow, const NicPort& src, ForbiddenLinks forbidden);
  // Takes the best port that leads into one of the slots that wanted_ flags. REQUIRES:
  // group.predictable(), and the addresses of the two NICs are known.
  bool ChooseSlots(PlannedFlow& flow, const NicPort& src, const Group& group, const Tails& tails,
                   ForbiddenLinks forbidden);
  // The links of a path from `src` over the slot, if no switch behind has a choice; else none.
  LinkPath PathOver(const Group& group, const Tails& tails, std::size_t slot, const NicPort& src,
                    const NicPort& dst) const;
  std::optional<TailCost> CostOf(std::span<const LinkId> links, ForbiddenLinks forbidden) const;
  NicPort DestinationPortInPlane(const NicPort& src, const PlannedFlow& flow) const;
  // Whether the path of a port is known from `group` on, the one at the ToR of `src`, which the
  // hash alone chooses in.
  bool FirstHopDeterminesPath(const Group& group, const NicPort& src, const NicPort& dst) const;

  const ForwardingModel& forwarding_;
  const fabric::Network& network_;
  const PlanLedger& ledger_;
  int candidates_;
  absl::flat_hash_map<const Group*, Tails> tails_;
  // By slot of the group that a path is looked for in.
  std::vector<char> tried_;
  std::vector<char> wanted_;
  std::vector<std::size_t> best_;
};

}  // namespace yardmaster::repac
