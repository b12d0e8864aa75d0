// A move of a running TrainingJob to other hosts: how it is asked for, by an annotation, and how
// far it has come, in the job's status.
//
//   Asked   the operator has accepted the request, and waits for the ledger's promise (gang_move.h)
//   Moving  the hosts are promised, and the job restarts there: status.recovery has the incident
//   Done, Refused, Abandoned   it is over; `message` says how
//
// What limits later requests is kept beside it, in its record, since the next request, and so a
// refusal, replaces all the rest.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

// On a TrainingJob, by people (kubectl yardmaster rebalance --apply).
inline constexpr char kMoveAnnotation[] = "yardmaster.dev/move";

// {"version": 1, "id": "...", "hosts": ["node-a", ...]}: the next host of every rank. A new id is a
// new request.
struct MoveRequest {
  std::string id;
  std::vector<std::string> hosts;
  bool operator==(const MoveRequest&) const = default;

  void Describe(FieldVisitor& fields);
};
// Errors: InvalidArgument, with the field and the fix.
absl::StatusOr<MoveRequest> DecodeMoveRequest(std::string_view text);
std::string EncodeMoveRequest(const MoveRequest& request);

enum class JobMoveState { kNone, kAsked, kMoving, kDone, kRefused, kAbandoned };
inline constexpr std::string_view kJobMoveStateNames[] = {"None", "Asked",   "Moving",
                                                          "Done", "Refused", "Abandoned"};

// A move that the operator's policy has asked for.
struct MoveExpense {
  std::int64_t asked_ms = 0;
  double gpu_seconds = 0;  // that it was expected to cost
  bool operator==(const MoveExpense&) const = default;

  void Describe(FieldVisitor& fields);
};
inline constexpr std::size_t kKeptExpenses = 32;

// What earlier requests mean for later ones.
struct MoveRecord {
  std::string request_id;                 // of the last annotation that was answered
  std::int64_t last_ms = 0;               // when the last move was Done or Abandoned
  std::int64_t policy_refused_ms = 0;     // when one that the policy asked for was last Refused
  std::vector<MoveExpense> policy_moves;  // of a day, oldest first; those that were refused are not
  bool operator==(const MoveRecord&) const = default;

  void Describe(FieldVisitor& fields);
};

struct JobMove {
  std::string id;
  JobMoveState state = JobMoveState::kNone;
  std::string message;           // for people
  bool by_policy = false;        // the operator's policy asked for it (--moves=Auto)
  double price_gpu_seconds = 0;  // that it was expected to cost when it was asked for
  std::int64_t asked_ms = 0;
  std::int64_t ended_ms = 0;
  std::int64_t attempt = 0;        // while it moves: the incident's
  std::vector<std::string> hosts;  // by rank, until it moves or is over
  MoveRecord record;
  bool operator==(const JobMove&) const = default;

  // The ledger may hold, or come to hold, the next hosts.
  bool active() const { return state == JobMoveState::kAsked || state == JobMoveState::kMoving; }
  void Describe(FieldVisitor& fields);
};

}  // namespace yardmaster::api
