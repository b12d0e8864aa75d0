// Proposes moves of running gangs: first those that admit waiting gangs (consolidation.h), in the
// order of the queue, then those that give gangs better places.
//
//   - No move gives a gang a worse place by the objective of placement.
//   - A move admits a waiting gang, alone or with the following moves for that gang; or it gives
//     its gang a better place; or an equal place at which all running gangs are predicted to lose
//     so much less to the network that the gain exceeds the price within the horizon. Only moves on
//     the way to a place for a waiting gang may make the objective worse meanwhile.
//   - A gang moves at most once.
//   - If a gang that has reserved its place by its long wait gets no place, moves give none to the
//     gangs behind it either.
//   - When a move is made, its hosts are free after the moves before it; the gang's own hosts count
//     as free. VerifyPlacement checks each move.
//
// Complexity: one plan of the queue, at most max_plans plans of one gang, at most max_predictions
// predictions of contention for candidates, and one prediction for each move. Deterministic unless
// stopped. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/plan/rebalance/move.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Why no move helps a gang that waits, or that uses more fabric pods, segments or domains than its
// GPUs need.
enum class StayReason {
  kNotMovable,      // running: its owner, state or a disruption budget forbids moves
  kNoBetterPlace,   // running: no better place is free
  kGainsTooLittle,  // the gain is less than RebalanceOptions::min_gain demands
  kNoMoveHelps,     // waiting: no moves of movable gangs make a place
  kSearchCut        // the search was cut before
};
inline constexpr std::string_view kStayReasonNames[] = {
    "NotMovable", "NoBetterPlace", "GainsTooLittle", "NoMoveHelps", "SearchCut"};

struct Stay {
  JobId job;
  StayReason reason = StayReason::kSearchCut;
  std::string why;  // one clause
};

struct Rebalancing {
  std::vector<Move> moves;  // in the order of execution
  std::vector<Stay> stays;  // waiting gangs in the order of the queue, then running ones by id
  FleetObjective before, after;
  bool is_cut = false;  // max_plans, max_predictions or `stop` ended the search
};

// "1.5": with one decimal place, as in Stay::why.
std::string Tenths(double number);

// `terms`: by JobId. Errors: InvalidArgument unless there is one for each job; Internal if the
// verifier rejects a move.
absl::StatusOr<Rebalancing> ProposeMoves(const Snapshot& snapshot,
                                         const std::vector<MoveTerms>& terms,
                                         const RebalanceOptions& options = {});

}  // namespace yardmaster::plan
