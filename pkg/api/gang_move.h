// The second promise of a gang: the hosts that it moves to. The ledger holds them beside those that
// the gang has, from before its first pod ends until it runs there or the move is given up.
//
// The extender writes it, in the Gang's status. It stays there, without hosts, as the answer to the
// request of that id until another one is answered. Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/outcome_json.h"

namespace yardmaster::api {

inline constexpr TextRule kMoveId{63};

enum class GangMoveState {
  kPromised,  // the hosts in `assignments` are the gang's, beside its present ones
  kDone,      // the gang has them, and no others
  kRefused,   // nothing was promised
  kGivenUp    // they were promised and are free again; the gang has its present ones
};
inline constexpr std::string_view kGangMoveStateNames[] = {"Promised", "Done", "Refused",
                                                           "GivenUp"};

struct GangMove {
  std::string id;  // of the TrainingJob's status.move that asked for it
  GangMoveState state = GangMoveState::kRefused;
  std::string message;  // for people
  std::int64_t promised_ms = 0;
  std::int64_t expires_ms = 0;  // then the promise is given up
  // While it is promised: the next place, every rank, and what it costs.
  std::vector<AssignmentEntry> assignments;
  placement::Objective objective;
  bool operator==(const GangMove&) const = default;

  bool promised() const { return state == GangMoveState::kPromised; }
  void Describe(FieldVisitor& fields);
};

}  // namespace yardmaster::api
