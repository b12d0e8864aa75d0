// Proposes moves of running gangs: first those that let waiting gangs start (consolidation.h), in
// the order of the queue, then those that give gangs better places.
//
// No move but those on the way to a place for a waiting gang makes the objective worse, and none
// gives a gang a worse place by the objective of placement: each lets a waiting gang fit, alone or
// with those that follow it for the same gang; or gives its gang a better place; or an equal one at
// which all running gangs are predicted to lose so much less to the network that the price is
// earned within the horizon. A gang moves once at most. Where a waiting gang has reserved its place
// by its long wait and gets none, those behind it get none by moves either.
//
// A move's hosts are free when it is made, after the moves before it, its own hosts counted as
// free. VerifyPlacement checks each.
//
// Complexity: at most max_plans plans of one gang besides one plan of the queue, at most
// max_predictions predictions of contention for candidates, and one for each move. Deterministic
// unless it is stopped. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/plan/rebalance/move.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Why no move helps a gang that waits, or that stands in more fabric pods, segments or domains than
// its GPUs need.
enum class StayReason {
  kNotMovable,      // it runs, and its owner, its state or a disruption budget keeps it in place
  kNoBetterPlace,   // it runs, and no better place is free
  kGainsTooLittle,  // a move, or its start after moves, gains less than RebalanceOptions ask for
  kNoMoveHelps,     // it waits, and no moves of the gangs that may move make place for it
  kSearchCut        // the search ended before
};
inline constexpr std::string_view kStayReasonNames[] = {
    "NotMovable", "NoBetterPlace", "GainsTooLittle", "NoMoveHelps", "SearchCut"};

struct Stay {
  JobId job;
  StayReason reason = StayReason::kSearchCut;
  std::string why;  // one clause, for people
};

struct Rebalancing {
  std::vector<Move> moves;  // in the order in which they are made
  std::vector<Stay> stays;  // waiting gangs in the order of the queue, then running ones by id
  FleetObjective before, after;
  bool is_cut = false;  // max_plans, max_predictions or `stop` ended the search
};

// `terms` by JobId. Errors: InvalidArgument where they are not as many as the jobs; Internal where
// the verifier refuses a move.
absl::StatusOr<Rebalancing> ProposeMoves(const Snapshot& snapshot,
                                         const std::vector<MoveTerms>& terms,
                                         const RebalanceOptions& options = {});

}  // namespace yardmaster::plan
