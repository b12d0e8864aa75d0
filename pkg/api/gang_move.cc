#include "pkg/api/gang_move.h"

#include <algorithm>

namespace yardmaster::api {

void GangMove::Describe(FieldVisitor& fields) {
  fields.Text("id", id, kMoveId, Required("The request that it answers.").Always());
  fields.Word("state", state, kGangMoveStateNames, GangMoveState::kRefused,
              RequiredByServer("Promised: the hosts are kept for the gang beside its present ones. "
                               "Done: it has them instead. Refused: none were promised. GivenUp: "
                               "they were promised, and are free again.")
                  .Always());
  fields.Text("message", message, kMessage, "For people.");
  fields.Time("promisedTime", promised_ms, "When the hosts were promised.");
  fields.Time("expiryTime", expires_ms,
              "Promised hosts that the gang has not taken by then are free again.");
  fields.Objects("assignments", assignments, {16'384},
                 "While they are promised, the next host of every rank.", "One rank.");
  fields.Check([this](FieldReader&) {
    std::sort(assignments.begin(), assignments.end(),
              [](const AssignmentEntry& a, const AssignmentEntry& b) { return a.rank < b.rank; });
  });
  fields.Object("objective", objective, "What that placement costs.");
}

}  // namespace yardmaster::api
